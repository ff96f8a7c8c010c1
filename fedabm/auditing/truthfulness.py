"""Claims about lies: alone, of one kind, in groups, under several names, and after the others have answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedabm.auditing.answers import after_answers, after_learning
from fedabm.auditing.claims import Claim, Status, stake, theorem
from fedabm.auditing.deviations import KINDS, LieLimits
from fedabm.auditing.evaluate import reads
from fedabm.auditing.groups import Joint, best_joint_lie, groups_of
from fedabm.auditing.kinds import Tried
from fedabm.auditing.search import NOTHING, BestDeviation, SearchEffort
from fedabm.auditing.stage import Stage
from fedabm.common.texts import others, readable

__all__ = ["about_answers", "about_groups", "about_kinds", "about_lies"]

#: gains below this share of what an owner has count as nothing
SMALL = 1e-6

#: kinds of lies that are told in reports
_SAID = ("claim", "size", "cost", "fixed", "eagerness")
_FLAWS = {"names": "rewards splitting", "merging": "rewards merging"}


def about_lies(stage: Stage, found: Sequence[BestDeviation], limits: LieLimits, tried: Sequence[Tried] = ()) -> Claim:
    """Truthfulness: the best lie of any owner, in everything that it can say, also if only one kind was `tried`."""
    best, unit = _best(found, tried), stake(stage)
    proven = all(one.certified for one in found)
    bound = max(best.bound, *(one.bound for one in found))
    status: Status = "certified" if proven and len(found) == stage.owners else "found"
    holds = best.gain <= SMALL * unit
    asked = sum(one.questions for one in found)
    most = f"at most {readable(bound, 3)}" if status == "certified" else f"searched with {asked} questions"
    if holds:
        words = f"no lie gains more than {bound:.2g}" if status == "certified" else f"no lie was found to gain; {most}"
    else:
        share = f" ({best.percent:.0f}%)" if np.isfinite(best.percent) else ""
        words = f"{best.words}: gains {readable(best.gain)}{share}, {most}"
    words += f" (claims up to {limits.claim:g} times the data)"
    flaw = "" if holds else "rewards lying"
    return Claim("truthfulness", holds, status, best.gain, words, bound, "", flaw, best.gain / unit)


def _best(found: Sequence[BestDeviation], tried: Sequence[Tried]) -> BestDeviation:
    """The best lie of all searches."""
    best = found[0]
    single = max((one for one in tried if one.kind in _SAID), key=lambda one: one.gain, default=None)
    if single is None or single.gain <= best.gain:
        return best
    honest = next((one.honest for one in found if one.owner == single.owner), np.nan)
    bound = max(best.bound, single.gain)
    return replace(best, owner=single.owner, gain=single.gain, words=single.words, honest=honest, bound=bound)


def about_kinds(stage: Stage, tried: Sequence[Tried]) -> list[Claim]:
    """One claim for each kind of deviation that means something."""
    return [_about_kind(stage, one) for one in tried if one.kind != "contribution"]


def _about_kind(stage: Stage, one: Tried) -> Claim:
    unit = stake(stage)
    holds = one.gain <= SMALL * unit
    reference = theorem(stage, one.kind)
    status: Status = "certified" if np.isfinite(one.bound) else "theorem" if holds and reference else "found"
    most = "" if one.bound > SMALL * unit else f" (at most {one.bound:.2g})"
    words = f"nobody gains who {KINDS[one.kind]}{most}"
    if not holds:
        words = f"{one.words}: gains {readable(one.gain)}, {others(one.loss)}"
    if one.kind == "claim" and stage.plays_a_game and "size" in reads(stage):
        words += " (sizes verified: claims up to the owner's data)"
    flaw = "" if holds else _FLAWS.get(one.kind, "")
    severity = one.gain / unit / (2.0 if one.kind == "merging" else 1.0)
    return Claim(f"lies: {one.kind}", holds, status, one.gain, words, one.bound, reference, flaw, severity)


def about_groups(
    stage: Stage,
    sizes: Sequence[int],
    limits: LieLimits,
    effort: SearchEffort,
    alone: Sequence[BestDeviation],
    most: int,
) -> tuple[list[Claim], list[Joint]]:
    """Joint lies of two, three, ... owners with payments inside the group."""
    claims, found = [], []
    for size in sizes:
        if size > stage.owners:
            continue
        groups, everyone = groups_of(stage, size, most, effort.seed)
        joint = [best_joint_lie(stage, members, limits, effort, alone) for members in groups]
        best = max(joint, key=lambda one: one.gain)
        found.append(best)
        claims.append(_about_group(stage, size, best, joint, everyone=everyone))
    return claims, found


def _about_group(stage: Stage, size: int, best: Joint, tried: Sequence[Joint], *, everyone: bool) -> Claim:
    unit = stake(stage)
    holds = best.gain <= SMALL * unit * size
    asked = sum(one.questions for one in tried)
    looked = f"{'all ' if everyone else ''}{len(tried)} groups, {asked:,} questions"
    words = f"no joint lie of {size} was found to gain ({looked})"
    if not holds:
        words = f"{best.words}: together they gain {readable(best.gain)}, {others(best.loss)} ({looked})"
    if best.honest_gain > SMALL * unit:
        words += f"; by contributing more together, honestly, they gain {readable(best.honest_gain, 3)}"
    flaw = "" if holds else "rewards joint lies"
    severity = best.gain / size / unit
    return Claim(f"groups of {size}", holds, "found", best.gain, words, np.inf, "", flaw, severity)


def about_answers(stage: Stage, best: BestDeviation, effort: SearchEffort) -> list[Claim]:
    """What the best lie still gains once the others have answered it, and while they learn."""
    if not stage.plays_a_game or best.gain <= NOTHING:
        return []
    rest, settled = after_answers(stage, best.owner, best.deviation)
    how = "best-respond until they rest" if settled else "best-respond without coming to rest"
    learned = after_learning(stage, best.owner, best.deviation, effort.seed)
    return [
        _still(stage, "lies, answered", rest, f"the others {how}"),
        _still(stage, "lies, learned", learned, "the others learn by regret matching, mean of the second half"),
    ]


def _still(stage: Stage, name: str, gain: float, how: str) -> Claim:
    holds = bool(gain <= SMALL * stake(stage))
    pays = "no longer pays" if holds else "still pays"
    words = f"the best lie {pays}: {readable(gain, sign=True)} against the truth, while {how}"
    return Claim(name, holds, "found", gain, words)
