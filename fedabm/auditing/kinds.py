"""The best deviation of every kind, one after the other, and why some kinds mean nothing under a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from fedabm.auditing.deviations import KINDS, Deviation, LieLimits, Lies, in_words, with_deviations
from fedabm.auditing.evaluate import on_curves, one_by_one, reads, statement_offers, utilities
from fedabm.auditing.names import best_merger, best_split, can_merge, can_split
from fedabm.auditing.search import NOTHING, SearchEffort, best_claim_alone, looked_at
from fedabm.auditing.stage import Stage
from fedabm.games.best import best_response
from fedabm.games.certificate import certified_gains

__all__ = ["Tried", "best_statement", "skipped", "try_kinds"]

#: with how many others a merger is tried
_PARTNERS = 8
_FACTORS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class Tried:
    """The best deviation of one kind: gain of the deviator, loss of all others, bound on the gain (infinite: none).

    After `try_kinds` the bound is on what anybody gains.
    """

    kind: str
    owner: int
    gain: float
    loss: float
    bound: float
    words: str


def skipped(stage: Stage) -> dict[str, str]:
    """The kinds that mean nothing on this stage, and why."""
    rule, seen = stage.mechanism, reads(stage) if stage.plays_a_game else frozenset(_asked(stage))
    reasons: dict[str, str] = {}
    if not stage.plays_a_game:
        reasons |= dict.fromkeys(("contribution", "claim"), "the rule exchanges models and promises nothing for data")
    if "size" not in seen:
        reasons["size"] = "the rule does not look at sizes"
    for name, asks in (("cost", rule.asks_cost), ("eagerness", rule.asks_eagerness)):
        if name not in seen:
            reasons[name] = f"the rule does not look at it: {name}" if asks else f"the rule does not ask for it: {name}"
    if "fixed" not in seen:
        reasons["fixed"] = "there are no fixed costs" if "cost" in seen else "the rule does not ask for costs"
    for name in ("tampering", "quality"):
        reasons[name] = "closed forms know no model updates; see the league with trained models"
    if not can_split(stage):
        reasons["names"] = "the accuracies do not say what two owners with the same data are worth"
    if not can_merge(stage):
        reasons["merging"] = "it matters who brings the data, or costs are not linear"
    reasons["side payments"] = "see the groups"
    return reasons


def _asked(stage: Stage) -> set[str]:
    rule = stage.mechanism
    return {"size"} | ({"cost"} if rule.asks_cost else set()) | ({"eagerness"} if rule.asks_eagerness else set())


def try_kinds(stage: Stage, limits: LieLimits | None = None, effort: SearchEffort | None = None) -> list[Tried]:
    """The best deviation of each kind that means something, over all owners that are looked at."""
    limits, effort = limits or LieLimits(), effort or SearchEffort()
    without = skipped(stage)
    found = []
    for kind in KINDS:
        if kind not in without:
            tried = [_TRY[kind](stage, owner, limits, effort) for owner in looked_at(stage, effort)]
            best = max(tried, key=lambda one: one.gain)
            # Nothing is proven of owners that nobody looked at.
            bound = max(one.bound for one in tried) if len(tried) == stage.owners else np.inf
            found.append(replace(best, bound=bound))
    return found


def loss_of_others(stage: Stage, owner: int, deviation: Deviation) -> float:
    """What all others lose by a deviation while they stand still."""
    settled = stage.settle(with_deviations(stage, [owner], [deviation])).utility
    change = stage.settled.utility - settled
    return float(np.delete(change, owner).sum())


def _tried(stage: Stage, kind: str, owner: int, gain: float, bound: float, deviation: Deviation) -> Tried:
    if gain <= NOTHING:
        return Tried(kind, owner, 0.0, 0.0, max(bound, 0.0), f"{stage.who(owner)} tells the truth")
    loss = loss_of_others(stage, owner, deviation)
    return Tried(kind, owner, gain, loss, max(bound, gain), in_words(stage, owner, deviation))


def _contribution(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """Another contribution, truthfully reported: what an owner regrets at the profile."""
    best = float(stage.honest.contribution[owner])
    gain = float(stage.honest.utility[owner] - stage.settled.utility[owner])
    row = [owner]
    bound = certified_gains(stage.offers.take(row), stage.costs.take(row), stage.capacities[row], stage.profile[row])
    return _tried(stage, "contribution", owner, gain, float(bound[0]), replace(_truth(stage, owner, best), claim=best))


def _truth(stage: Stage, owner: int, contribution: float) -> Deviation:
    return replace(Lies.of(stage, owner).one(0), contribution=contribution)


def _claim(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """Another claim, with whatever true contribution is best beside it."""
    found = best_claim_alone(stage, owner, limits, effort)
    return _tried(stage, "claim", owner, found.gain, found.bound, found.deviation)


def _statement(name: str) -> Callable[[Stage, int, LieLimits, SearchEffort], Tried]:
    """Another size, cost or eagerness, while contributions are what they are said to be."""

    def attempt(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
        value, deviation = best_statement(stage, owner, name, limits)
        honest = stage.honest.utility[owner] if stage.plays_a_game else stage.settled.utility[owner]
        return _tried(stage, name, owner, value - float(honest), np.inf, deviation)

    return attempt


def best_statement(stage: Stage, owner: int, name: str, limits: LieLimits) -> tuple[float, Deviation]:
    """The best statement of one thing, by a grid of factors that SciPy closes in on, and what it brings.

    Where no misstatement gains more than rounding, that is the truth.
    """
    low, high = getattr(limits, name)
    unit = float(stage.capacities[owner]) if name == "size" else 1.0
    truth = Lies.of(stage, owner).one(0)

    def lie(factor: float) -> tuple[float, Deviation]:
        return _stating(stage, owner, replace(truth, **{name: factor * unit}))

    trials = [factor for factor in _FACTORS if low <= factor <= high and (name != "size" or factor > 0)]
    best = max(trials, key=lambda factor: lie(factor)[0])
    steps = sorted({low, *trials, high})
    place = steps.index(best)
    around = steps[max(place - 1, 0)], steps[min(place + 1, len(steps) - 1)]
    finer = minimize_scalar(lambda f: -lie(f)[0], bounds=around, method="bounded", options={"maxiter": 20})
    false, true = max((lie(best), lie(float(finer.x))), key=lambda one: one[0]), lie(1.0)
    return false if false[0] > true[0] + NOTHING else true


def _stating(stage: Stage, owner: int, said: Deviation) -> tuple[float, Deviation]:
    """What a statement brings with the best contribution, which is truthfully claimed."""
    if not on_curves(stage):
        lie = replace(said, claim=min(said.claim, said.size) if stage.plays_a_game else said.size)
        return float(one_by_one(stage, owner, lie.as_lies())[0]), lie
    offers = statement_offers(stage, owner, said)
    best = best_response(offers, stage.costs.take([owner]), stage.capacities[[owner]])
    given = float(best.contribution[0])
    lie = replace(said, contribution=given, claim=given)
    return float(utilities(stage, owner, lie.as_lies())[0]), lie


def _away(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """Work alone."""
    inside = stage.honest.utility[owner] if stage.plays_a_game else stage.settled.utility[owner]
    gain = float(stage.outside[owner] - inside)
    # What an owner has alone is exact where a concave function is climbed; elsewhere it is what a grid found.
    sure = stage.accuracy.concave and bool(np.all(stage.costs.take([owner]).convex))
    if gain <= NOTHING:
        return Tried("away", owner, 0.0, 0.0, 0.0 if sure else np.inf, f"{stage.who(owner)} stays")
    rest = stage.settle(stage.without(owner)).utility if stage.owners > 1 else np.zeros(0)
    loss = float(np.delete(stage.settled.utility, owner).sum() - rest.sum())
    return Tried("away", owner, gain, loss, gain if sure else np.inf, f"{stage.who(owner)} works alone")


def _leaving(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """Leave after half of the rounds: rules that settle every round keep nothing back, so half of staying away."""
    whole = _away(stage, owner, limits, effort)
    words = f"{stage.who(owner)} leaves after half of the rounds" if whole.gain > NOTHING else whole.words
    return Tried("leaving", owner, 0.5 * whole.gain, 0.5 * whole.loss, 0.5 * whole.bound, words)


def _names(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """Two or three names."""
    gain, loss, words = max((best_split(stage, owner, count, effort) for count in (2, 3)), key=lambda one: one[0])
    return Tried("names", owner, gain, loss, np.inf, words)


def _merging(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> Tried:
    """One name with another owner."""
    if stage.owners < 2:
        return Tried("merging", owner, 0.0, 0.0, 0.0, "nobody is there to merge with")
    others = [other for other in range(stage.owners) if other != owner][:_PARTNERS]
    pairs = [(min(owner, other), max(owner, other)) for other in others]
    gain, loss, words = max((best_merger(stage, *pair) for pair in pairs), key=lambda one: one[0])
    return Tried("merging", owner, gain, loss, np.inf, words)


_TRY: dict[str, Callable[[Stage, int, LieLimits, SearchEffort], Tried]] = {
    "contribution": _contribution,
    "claim": _claim,
    **{name: _statement(name) for name in ("size", "cost", "fixed", "eagerness")},
    "away": _away,
    "leaving": _leaving,
    "names": _names,
    "merging": _merging,
}
