"""Knowledge of the worth of data that takes training or judging models; `fedabm.knowledge` has the rest.

`Measured`     a curve measured on the data at hand, before the run or every k steps
`FromUpdates`  what this round's updates show: coalitions of them, or a score for each
"""

from fedabm.learning.knowledge.from_updates import FromUpdates
from fedabm.learning.knowledge.measured import Measured

__all__ = ["FromUpdates", "Measured"]
