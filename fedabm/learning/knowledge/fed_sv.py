"""The Shapley value of every round, by all coalitions of the owners that took part in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError
from fedabm.knowledge.base import Context
from fedabm.learning.knowledge.round_shapley import RoundGame, RoundShapley, RoundValues
from fedabm.shapley.of_values import coalitions_of, shapley_of_values

__all__ = ["MOST_OWNERS", "FedSV", "by_enumeration"]

#: all coalitions of this many owners are a matter of seconds on small networks
MOST_OWNERS = 14


@dataclass(frozen=True)
class FedSV(RoundShapley):
    """Federated Shapley value: s_i^t is the Shapley value of i in the game of the updates of round t.

        v_t(X) = u(w^t + mean of the updates of X) - u(w^t),      u: minus the loss, or the accuracy

    Who did not take part in a round gets 0 in it, and values of rounds add up.  Wang et al. 2020, Definition 1.  All
    2^m coalitions of the m owners that took part are judged in one batch, so that values are exact; for more than 14
    take `GTGShapley`.

    `utility` is loss (the better choice: smooth, so that single rounds tell owners apart) or accuracy; `server` an
    engine with data of the server's own to judge by (None: the mean over the owners' test parts).

    It ranks and does not price, see `RoundShapley`.  Its best lie is a longer update: while the model is far from its
    best, one that is tripled is paid about six honest shares in five rounds on digits (one that is ten times as long
    overshoots and is fined).  A copy of somebody's update is paid as that one is, and sending on what the last round
    brought ("delta weights") about 0.4 of an honest share (`python -m tests.learning.knowledge.test_what_it_stops`).
    `NormBound` stops length, `NoDuplicates` copies.

    Parameters
    ----------
    utility : Literal['loss', 'accuracy'], optional
        What models are judged by: "loss" or "accuracy".
    server : Engine | None, optional
        An engine with data of the server's own to judge by; None: the owners' test parts.
    """

    def valued(self, game: RoundGame, context: Context) -> RoundValues:
        """Exact values of this round."""
        return by_enumeration(game)


def by_enumeration(game: RoundGame) -> RoundValues:
    """Exact values of a round, and what they cost."""
    owners, who = len(game.updates.claimed), game.who
    if len(who) > MOST_OWNERS:
        most = f"FedSV looks at all coalitions of at most {MOST_OWNERS} owners that take part in a round"
        raise InputError(f"{most}, got {len(who)}; use GTGShapley()")
    scores = np.zeros(owners)
    values = game.values(coalitions_of(owners, who))
    scores[who] = shapley_of_values(values)
    return RoundValues(scores, len(values))
