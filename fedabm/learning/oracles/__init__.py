"""Accuracies from real training, exchangeable with the closed forms of `fedabm.games.accuracy`.

`Trained`       a federation trained afresh for every profile that is asked for, remembered
`Coalition`     models mixed from the updates of some owners, for Shapley values
`MeasuredCurve`         the server's public accuracy curve of the total
`fit_groups`    the group-weighted closed form fitted to trained points
`Learning`      the one model that is trained while owners decide
`Rounds`        the same, with what every coalition's model would be worth

None of them trains before it is asked for a value.  `answers` keeps everybody's data out of owners' reach, `averaged`
judges coalitions' models, `memory` remembers, `scores` says what a model is worth to an owner.
"""

from fedabm.learning.oracles.coalition import Coalition
from fedabm.learning.oracles.curve import MeasuredCurve
from fedabm.learning.oracles.fitted import Fit, Points, corners, fit_groups, measure_corners, measure_groups
from fedabm.learning.oracles.learning import Learning
from fedabm.learning.oracles.rounds import Rounds
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.oracles.trained import Trained

__all__ = [
    "Coalition",
    "Fit",
    "Learning",
    "Measure",
    "MeasuredCurve",
    "Points",
    "Rounds",
    "Trained",
    "corners",
    "fit_groups",
    "measure_corners",
    "measure_groups",
]
