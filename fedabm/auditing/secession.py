"""Can a group do better by leaving together, under the same rule among themselves?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from fedabm.auditing.claims import Claim, Status, stake
from fedabm.auditing.stage import Stage, StagePlay
from fedabm.common.texts import readable
from fedabm.games.curves import Array
from fedabm.games.valuation import Deal
from fedabm.kernel import Receipt, utility
from fedabm.solving.uniqueness import uniqueness

__all__ = ["about_secession", "best_secession", "group_count", "leaving_groups", "seceding_groups"]

#: gains below this share of what an owner has count as nothing
_SMALL = 1e-6


def seceding_groups(stage: Stage, most: int, seed: int) -> tuple[list[tuple[int, ...]], bool]:
    """Groups to look at on a stage, and whether these are all."""
    return leaving_groups(stage.profile, most, seed)


def leaving_groups(
    profile: Sequence[float] | Array, most: int, seed: int, least: int = 1
) -> tuple[list[tuple[int, ...]], bool]:
    """Groups of `least` owners or more, and whether these are all: else who give most, least, and random ones."""
    owners = len(profile)
    if owners <= least:
        return [], True
    if group_count(owners, least) <= most:
        sizes = range(least, owners)
        return [group for size in sizes for group in combinations(range(owners), size)], True
    order, rng = np.argsort(-np.asarray(profile), kind="stable"), np.random.default_rng([seed, 5])
    few = np.unique(np.linspace(least, owners - 1, max(most // 3, 1)).round().astype(int))
    found = [tuple(sorted(rows[:size].tolist())) for rows in (order, order[::-1]) for size in few]
    while len(found) < most:
        found.append(tuple(sorted(rng.permutation(owners)[: rng.integers(least, owners)].tolist())))
    return list(dict.fromkeys(found))[:most], False


def group_count(owners: int, least: int = 1) -> int:
    """How many groups of `least` owners or more could leave others behind."""
    return sum(comb(owners, size) for size in range(least, owners))


def best_secession(stage: Stage, groups: list[tuple[int, ...]]) -> tuple[float, tuple[int, ...], Array]:
    """The group whose least gaining member gains most by leaving, that gain, and the gains of all its members."""
    best: tuple[float, tuple[int, ...], Array] = (-np.inf, (), np.zeros(0))
    for members in groups:
        gains = _alone(stage, members) - stage.settled.utility[list(members)]
        if gains.min() > best[0]:
            best = float(gains.min()), members, gains
    return best


def about_secession(stage: Stage, most: int, seed: int) -> Claim:
    """Whether a group does better by leaving together: the core of Donahue and Kleinberg 2021, for any rule.

    Who has left plays among themselves under the same rule, at an equilibrium of their own; where a rule promises
    nothing for a contribution they contribute what they did.  That nobody leaves is certified if all groups were looked
    at and each has one equilibrium only; else a group may do better at another one.
    """
    name = "secession"
    groups, every = seceding_groups(stage, most, seed)
    if not groups:
        return Claim(name, None, "unknown", np.nan, "there is only one owner")
    gain, members, gains = best_secession(stage, groups)
    unit = stake(stage)
    holds = gain <= _SMALL * unit
    looked = f"all {len(groups)} groups" if every else f"{len(groups)} of {group_count(stage.owners):,} groups"
    proven = every and holds and _known_for_sure(stage, groups)
    words = f"no group was found whose members all gain by leaving together ({looked})"
    if not holds:
        sizes = readable(gains.min()) if len(gains) == 1 else f"{readable(gains.min())} to {readable(gains.max())} each"
        words = f"{stage.who(*members)} had better leave: gain{'s' if len(members) == 1 else ''} {sizes} ({looked})"
    words += "; groups that leave play an equilibrium of their own" if stage.plays_a_game else ""
    words += ", the only one that each has" if proven and stage.plays_a_game else ""
    status: Status = "certified" if proven else "found"
    flaw = "" if holds else "loses groups"
    bound = max(gain, 0.0) if proven else np.inf
    return Claim(name, holds, status, gain, words, bound, "", flaw, max(gain, 0.0) / unit)


def _known_for_sure(stage: Stage, groups: list[tuple[int, ...]]) -> bool:
    """Whether nobody can have anything else: contributions stand, or all groups have one equilibrium, provenly."""
    if not stage.plays_a_game:
        return True
    here = stage.solved is None or stage.solved.converged
    return here and all(_has_one_equilibrium(stage.among(members)) for members in groups)


def _has_one_equilibrium(stage: Stage) -> bool:
    solved = stage.solved
    return solved is not None and solved.converged and uniqueness(stage.game, solved.profile).unique is True


def _alone(stage: Stage, members: tuple[int, ...]) -> Array:
    """What the members have by themselves; rivals who are left behind have what they reach without them."""
    left = _settled(stage, members)
    if not stage.valuation.compares:
        return left.utility
    rest = tuple(one for one in range(stage.owners) if one not in members)
    accuracy = np.zeros(stage.owners)
    accuracy[list(members)] = left.accuracy
    accuracy[list(rest)] = _settled(stage, rest).accuracy
    facts = stage.profile, stage.capacities, stage.costs, stage.eagerness, np.arange(stage.owners)
    gain = stage.valuation.gain(Deal(accuracy, *facts))[list(members)]
    return utility(gain, left.payment, left.cost)


def _settled(stage: Stage, members: tuple[int, ...]) -> Receipt:
    """What some owners have among themselves."""
    if stage.plays_a_game:
        return stage.among(members).settled
    rows = np.array(members)
    return stage.settle(StagePlay(rows, stage.profile[rows], stage.truth.reports.take(rows)))
