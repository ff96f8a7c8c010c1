"""Bounds on gains that hold for every point of a range of costs, from two certificates.

Let costs be c_i(x) = fixed_i + t_i k_i(x), where the rate t_i is only known to lie between low_i and high_i.  At a
fixed profile s owner i gains by its best other contribution

    g_i(t) = max_x [B_i(x; t) - t_i k_i(x)] - [B_i(s_i; t) - t_i k_i(s_i)],        B = received + payment.

If for every x the difference B_i(x; t) - B_i(s_i; t) is affine in the own rate t_i and free of all others', then g_i is
a maximum of functions that are affine in t_i alone, hence convex in it, and a convex function on an interval is largest
at one of its ends.  So whatever holds at both ends holds for every point of the box, for all owners at once: two
certificates suffice, however many owners there are.

The condition holds

- under every rule that does not ask for costs: B does not know them;
- under rules that declare `affine_in_cost` (`RuleTraits`), which the contract of mechanisms checks: cost sharing at a
  fixed rate, p_i = rate (c_i(x) - mean_{j != i} c_j), where the others' part is the same at x and at s_i; and Clarke,
  whose payment has the others' reported costs and the pivot W_-i, which the own contribution does not move.

It fails where an offer bends with the own cost (shaped values, the optimal rate of cost sharing, auctions), and for
unknown exponents, in which a cost is not affine.  There nothing is proven, and `why_not` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_kind
from fedabm.games.costs import Cost, PowerCost, costs_of
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism
from fedabm.solving.game import Game

__all__ = ["CostRanges", "gains_in_ranges", "why_not"]


@dataclass(frozen=True, eq=False)
class CostRanges:
    """Costs of which only the ends of a range are known, owner by owner: rates between those of `low` and of `high`.

    >>> CostRanges([0.01, 0.02], [0.03, 0.02]).width.round(3).tolist()
    [0.02, 0.0]

    Parameters
    ----------
    low : Any
        The lowest costs: one `Cost` per owner, one stacked `Cost`, or numbers (rates of linear costs).
    high : Any
        The highest ones; exponents and fixed parts are those of `low`.
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        low, high = map(_stacked, (self.low, self.high))
        if not (low.power and high.power):
            raise InputError("ranges are of costs fixed + rate * s^exponent, got others; give Linear, Affine or Power")
        low, high = low.as_power().each(low.owners or 1), high.as_power().each(high.owners or 1)
        if low.owners != high.owners:
            raise InputError(f"{low.owners} lowest costs but {high.owners} highest; give one of each per owner")
        if not (np.array_equal(low.exponent, high.exponent) and np.array_equal(low.fixed, high.fixed)):
            raise InputError("exponents and fixed costs must be known exactly; give the same in low and in high")
        above = np.flatnonzero(low.rate > high.rate)
        if len(above):
            at = int(above[0])
            raise InputError(f"low of owner {at} is {low.rate[at]:g}, above {high.rate[at]:g}; exchange the two")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def owners(self) -> int:
        """How many there are."""
        return len(self.low.rate)

    @property
    def width(self) -> Array:
        """How far apart the ends are, per owner."""
        return np.asarray(self.high.rate - self.low.rate)

    def at(self, part: Any) -> PowerCost:
        """The costs at these parts of the ranges, from 0 (low) to 1 (high), one number or one per owner."""
        rates = self.low.rate + self.width * np.asarray(part, dtype=float)
        return replace(self.low, rate=np.clip(rates, self.low.rate, self.high.rate))


def _stacked(given: Any) -> Cost:
    return given if isinstance(given, Cost) else costs_of(given, np.size(given))


def why_not(rule: Mechanism) -> str:
    """Why two certificates say nothing about what lies between them under a rule; empty where they suffice.

    Parameters
    ----------
    rule : Mechanism
        The rule.

    Returns
    -------
    str
        The reason in words.
    """
    check_kind("mechanism", rule, Mechanism)
    if not rule.promises:
        return "the rule promises nothing for a contribution"
    if rule.asks_cost and not rule.traits.affine_in_cost:
        return "offers of the rule may bend with the reported cost"
    return ""


def gains_in_ranges(game: Game, ranges: CostRanges, profile: Any, tolerance: float = 1e-10) -> Array:
    """A proven bound on what each owner could gain by another contribution, wherever in their ranges the costs lie.

    Costs are reported as they are.  Infinite where nothing is proven (`why_not`, and rules without a promised shape).

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> game = Game(PowerLaw(), [0.1, 0.2], 100.0, NoPayments())
    >>> gains_in_ranges(game, CostRanges([0.05, 0.2], [0.2, 0.2]), [2.0, 0.0]).round(4).tolist()
    [0.0389, 0.0]

    Parameters
    ----------
    game : Game
        Owners, accuracies and the rule; its own costs do not matter.
    ranges : CostRanges
        Between which ends the costs lie.
    profile : Any
        Contributions, one per owner.
    tolerance : float, optional
        How tight the proofs must be, in units of utility.

    Returns
    -------
    Array
        One bound per owner.
    """
    if ranges.owners != game.owners:
        raise InputError(f"ranges of {ranges.owners} costs but {game.owners} owners; give one per owner")
    if game.reported is not None or why_not(game.mechanism):
        return np.full(game.owners, np.inf)
    ends = (replace(game, costs=end) for end in (ranges.low, ranges.high))
    return np.maximum(*(one.gains(profile, tolerance) for one in ends))
