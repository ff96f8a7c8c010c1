"""What a server believes that is wrong by a factor of 2: the owners' costs, the curve, or its prior over costs.

It tunes its rule to what it believes and settles by it; owners pay their true costs and have the true models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fedabm.auditing.efficiency import Misheard
from fedabm.common.bounds import bounds_of
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import Mechanism, Screening
from fedabm.solving.game import Game

__all__ = ["MISLED", "NO_PROMISE", "Belief", "beliefs", "too_steep"]

#: what a server may believe that is wrong, in the order of the table
MISLED = ("costs", "curve", "prior")
#: why nothing that a server believes matters under a rule that exchanges models
NO_PROMISE = "the rule promises nothing for data: no belief of the server changes what is given"
_FACTOR = 2.0


class Belief(NamedTuple):
    """The rule as a server tunes it that is wrong about something, and the curve that it announces."""

    rule: Mechanism
    curve: PowerLaw


def too_steep(curve: PowerLaw) -> PowerLaw:
    """A curve from the same start to the same ceiling with twice the exponent.

    >>> too_steep(PowerLaw(0.5, 1.0, 2.0, 0.9))
    PowerLaw(scale=1.0, exponent=2.0, offset=2.0, ceiling=0.9)
    """
    started = curve.scale * curve.offset ** ((_FACTOR - 1.0) * curve.exponent)
    return replace(curve, scale=started, exponent=_FACTOR * curve.exponent)


def beliefs(
    rule: Mechanism,
    curve: PowerLaw,
    tuned: Callable[[Mechanism, Sequence[Game]], Mechanism],
    games: Callable[[PowerLaw, float], Sequence[Game]],
) -> dict[str, Belief | str]:
    """By what is wrong: the rule and the curve of a server that believes it, or why that changes nothing.

    Parameters
    ----------
    rule : Mechanism
        The rule as it is with the truth.
    curve : PowerLaw
        The true curve.
    tuned : Callable
        Tunes a rule to games.
    games : Callable
        The games that a server believes in, by curve and by a factor of all costs.

    Returns
    -------
    dict
        One entry for each of `MISLED`.
    """
    if not rule.promises:
        return dict.fromkeys(MISLED, NO_PROMISE)
    costs: Belief | str = "the rule goes by no costs and has no parameter to tune"
    if rule.asks_cost or bounds_of(rule):
        believed = tuned(rule, games(curve, _FACTOR))
        costs = Belief(Misheard(believed, np.array(_FACTOR)) if rule.asks_cost else believed, curve)
    steep = too_steep(curve)
    prior: Belief | str = "the rule has no prior"
    if isinstance(rule, Screening):
        prior = Belief(replace(rule, low=_FACTOR * rule.low, high=_FACTOR * rule.high), curve)
    return {"costs": costs, "curve": Belief(tuned(rule, games(steep, 1.0)), steep), "prior": prior}
