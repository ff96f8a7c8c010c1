"""What a card says where costs are ranges: what holds at every point of them, or else in how many draws.

At the profile of the card, with the others standing still, the best lie of owner i brings it

    h_i(t) = sup_lies [access a_i(x) + payment(claim) - t_i k_i(x)] - [benefit(s_i) - t_i k_i(s_i)]

over standing where it is, x being what it really uses.  Every lie is a straight line in its rate t_i, so that h_i is
convex, as the gain by another contribution is (`fedabm.solving.ranges`): the bounds that are proven at both ends of the
ranges hold at every point of them.  The profile is the same everywhere; where it is no equilibrium for some costs, what
an honest owner would gain by moving is part of h_i.

Where a rule is not covered, or nothing is proven at an end, or data, values or curves are not known either, each draw
has an equilibrium of its own, and the card says in how many of them no lie was found to pay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fedabm.auditing.claims import Claim, stake
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.search import SearchEffort, best_lie, best_lies
from fedabm.auditing.stage import Stage
from fedabm.auditing.truthfulness import SMALL
from fedabm.common.arrays import Array
from fedabm.common.errors import FedabmError, InputError
from fedabm.common.texts import readable
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.solving.ranges import CostRanges, gains_in_ranges, why_not

__all__ = ["UncertainOwners", "about_ranges", "lies_in_ranges"]

#: questions to the rule for the best lie of an owner in one draw
_QUESTIONS = 60


@dataclass(frozen=True, eq=False)
class UncertainOwners:
    """What is not known of the owners: ranges of their costs, or why these are not all, and draws of everything.

    Parameters
    ----------
    words : str
        What is not known.
    draw : Callable
        A scenario or game with everything drawn, by the number of the draw.
    ranges : CostRanges | None, optional
        Between which ends costs lie, if nothing else is unknown.
    reason : str, optional
        Why there are no such ranges.
    """

    words: str
    draw: Callable[[int], Scenario | Game]
    ranges: CostRanges | None = None
    reason: str = ""


def lies_in_ranges(stage: Stage, ranges: CostRanges, limits: LieLimits | None = None) -> Array:
    """What any lie brings each owner over standing at the profile, at most, wherever in their ranges the costs lie.

    Infinite where nothing is proven: under rules that read more than claims, or ration and pay.

    Parameters
    ----------
    stage : Stage
        Owners, accuracies, rule and the truthful profile; its own costs do not matter.
    ranges : CostRanges
        Between which ends the costs lie.
    limits : LieLimits | None, optional
        How far lies may go.

    Returns
    -------
    Array
        One bound per owner.
    """
    if ranges.owners != stage.owners:
        raise InputError(f"ranges of {ranges.owners} costs but {stage.owners} owners; give one per owner")
    if why_not(stage.mechanism) or not stage.plays_a_game:
        return np.full(stage.owners, np.inf)
    ends = (_lies_at(replace(stage, costs=end), limits or LieLimits()) for end in (ranges.low, ranges.high))
    return np.maximum(*ends)


def _lies_at(stage: Stage, limits: LieLimits) -> Array:
    """The most that lies bring over standing at the profile, at the costs of the stage; infinite where not proven."""
    effort, standing = SearchEffort(questions=1), stage.settled.utility
    bounds = np.full(stage.owners, np.inf)
    for owner in range(stage.owners):
        best = best_lie(stage, owner, limits, effort)
        bounds[owner] = best.bound + best.honest - standing[owner]
        if not np.isfinite(bounds[owner]):
            return np.full(stage.owners, np.inf)  # the card needs all of them
    return np.maximum(bounds, 0.0)


def about_ranges(stage: Stage, unknown: UncertainOwners, limits: LieLimits, draws: int, seed: int = 0) -> list[Claim]:
    """Claims about contributions and lies wherever the costs lie, or in a number of draws."""
    reason = unknown.reason or why_not(stage.mechanism)
    gap = lie = np.inf
    if unknown.ranges is not None and not reason:
        gap = float(np.max(gains_in_ranges(stage.game, unknown.ranges, stage.profile)))
        lie = float(np.max(lies_in_ranges(stage, unknown.ranges, limits)))
    unproven = reason or "nothing is proven of its offers"
    claims = [_certified(stage, "gap in ranges", "another contribution", gap)] if np.isfinite(gap) else []
    claims += [_certified(stage, "lies in ranges", "any lie", lie)] if np.isfinite(lie) else []
    if np.isfinite(gap) and np.isfinite(lie):
        return claims
    drawn = [_drawn(stage, unknown.draw(one), limits, seed) for one in range(draws)]
    if not np.isfinite(gap):
        claims.append(_in_draws("gap in ranges", "there is a certified equilibrium", drawn, 0, unproven))
    if not np.isfinite(lie):
        claims.append(_in_draws("lies in ranges", "no lie was found to pay", drawn, 1, unproven))
    return claims


def _certified(stage: Stage, name: str, what: str, bound: float) -> Claim:
    most = f"nobody gains more than {readable(bound, 3)} by {what} at this profile"
    words = f"{most}, wherever in their ranges the costs lie"
    return Claim(name, bool(bound <= SMALL * stake(stage)), "certified", bound, words, bound)


def _drawn(stage: Stage, what: Scenario | Game, limits: LieLimits, seed: int) -> tuple[bool, bool, float]:
    """Of one draw: whether its equilibrium is certified, whether no lie pays there, and what the best one gains."""
    try:
        here = Stage.of(what, stage.mechanism)
        found = best_lies(here, limits, SearchEffort(_QUESTIONS, seed=seed))[0]
    except FedabmError:  # an oracle or rule that cannot be asked in this draw holds nothing there
        return False, False, np.nan
    certified = here.solved is not None and here.solved.converged
    return certified, bool(found.gain <= SMALL * stake(here)), float(found.gain)


def _in_draws(name: str, what: str, drawn: list[tuple[bool, bool, float]], place: int, why: str) -> Claim:
    held = sum(one[place] for one in drawn)
    largest = float(np.nanmax([one[2] for one in drawn])) if any(np.isfinite(one[2]) for one in drawn) else np.nan
    more = f", the largest gain is {readable(largest, 3)}" if place == 1 and np.isfinite(largest) else ""
    words = f"holds in {held} of {len(drawn)} draws: {what}{more}; between them nothing is known ({why})"
    return Claim(name, held == len(drawn), "found", largest if place == 1 else float(held), words)
