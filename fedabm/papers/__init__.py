"""What belongs to one paper, a folder each: its protocols, the settings of its experiments, the rows of its claims.

`protocols` and `presets` hold what several papers share, `ledger` how rows are stated, run and judged.  Nothing below
imports this room; scenarios and the command `fedabm reproduce` do.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
