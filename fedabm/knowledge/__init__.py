"""What the server knows of the worth of data: a part of a scenario, exchangeable like activation and stopping.

`Public`      what the accuracy itself announces (the default)
`Announced`   a curve that the server announces, whatever is true
`Nothing`     nothing: rules that need more run, pay nothing, and are declared empty
`SumsOnly`    no single update (secure aggregation), beside other knowledge

`Measured` (a curve measured on the data at hand) and `FromUpdates` (the worth of coalitions of this round's updates)
train and judge models: `fedabm.learning`.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
