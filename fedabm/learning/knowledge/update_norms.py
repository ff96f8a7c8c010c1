"""Scores by the length of updates: whoever sends much more than the others pays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy.base import Oracle
from fedabm.games.curves import Array
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.nothing import standing
from fedabm.knowledge.public import same
from fedabm.learning.knowledge.checks import check_shows_updates
from fedabm.views.known import Kind, Known

__all__ = ["UpdateNorms", "norm_scores"]


@dataclass(frozen=True)
class UpdateNorms(Knowledge):
    """score_i = -C (|u_i|^2 - mean_{j != i} |u_j|^2) - penalty |u_i - mean_{j != i} u_j|^2.

    The first term is the payment of Chakarov et al. 2024, with C = `rate`: it makes owners whose optimum is elsewhere
    stop amplifying their updates, and sums to zero.  The second is the penalty on the distance to the others' mean of
    Dorner et al. 2023.  `ScorePayments` pays them.

    Alone (penalty=0) the first term pays those who send nothing: a free-rider gets C times the mean squared length of
    the others.  The penalty takes that back where honest updates are nearer to each other than to nothing; where they
    are not, as with few samples and large steps, sending nothing still is the best lie.  An update that was dropped
    counts for nobody: its owner's score is 0, and the others are compared with each other.

    Parameters
    ----------
    rate : float, optional
        C, what a squared length above the others' mean costs.
    penalty : float, optional
        What a squared distance to the others' mean costs.
    """

    rate: float = field(default=1.0, metadata=within(0.01, 10.0, log=True))
    penalty: float = field(default=4.0, metadata=within(0.0, 10.0))
    keeps_updates: ClassVar[bool] = True
    reads_measured: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("rate of payments by length", self.rate, zero=True)
        check_number("penalty on the distance to the others", self.penalty, zero=True)

    def kind(self, accuracy: Oracle) -> Kind:
        """Scores."""
        return "scores"

    def echoes(self, accuracy: Oracle) -> bool:
        """Updates are as long as they are, whatever is claimed."""
        return True

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise unless updates are shown."""
        check_shows_updates(self, accuracy, None, coalitions=False)

    def before(self, context: Context) -> Known:
        """What the last round has shown."""
        return context.last or same(None, "none", standing(context))

    def after(self, context: Context) -> Known:
        """The scores of this round; nothing if nobody has sent any."""
        updates = context.updates
        if updates is None:
            return same(context.last, "none", standing(context))
        lengths, apart = updates.lengths()
        there = updates.there
        scores = norm_scores(np.where(there, lengths, np.nan), np.where(there, apart, np.nan), self.rate, self.penalty)
        return Known("scores", standing(context), since=context.step, scores=scores)


def norm_scores(lengths: Array, apart: Array, rate: float, penalty: float) -> Array:
    """The scores by squared lengths and squared distances to the others' mean, not a number for who was dropped.

    >>> norm_scores(np.array([1.0, 3.0, np.nan]), np.array([2.0, 2.0, np.nan]), rate=1.0, penalty=0.5)
    array([ 1., -3.,  0.])
    """
    there = np.isfinite(lengths)
    if np.sum(there) < 2:
        return np.zeros(len(lengths))
    some = lengths[there]
    scores = np.zeros(len(lengths))
    scores[there] = -rate * (some - sum_of_others(some) / (len(some) - 1)) - penalty * apart[there]
    return scores
