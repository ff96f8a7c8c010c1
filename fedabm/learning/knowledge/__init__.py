"""Knowledge of the worth of data that takes training or judging models; `fedabm.knowledge` has the rest.

`Measured`     a curve measured on the data at hand, before the run or every k steps
`FromUpdates`  what this round's updates show: coalitions of them, or a score for each
`FedSV`        the Shapley value of each round, by all coalitions of those who took part
`GTGShapley`   the same by orders that are broken off early
`ComFedSV`     the same also for who was not selected, by completing the table of values
`UpdateNorms`  a score by the length of updates, and by how far they are from the others'
"""

from fedabm.learning.knowledge.com_fed_sv import ComFedSV
from fedabm.learning.knowledge.fed_sv import FedSV
from fedabm.learning.knowledge.from_updates import FromUpdates
from fedabm.learning.knowledge.gtg_shapley import GTGShapley
from fedabm.learning.knowledge.measured import Measured
from fedabm.learning.knowledge.update_norms import UpdateNorms

__all__ = ["ComFedSV", "FedSV", "FromUpdates", "GTGShapley", "Measured", "UpdateNorms"]
