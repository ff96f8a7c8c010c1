"""The best lie of one owner: proven where the rule reads claims only, else searched with a stated budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import differential_evolution, minimize

from fedabm.auditing.bounds import BestClaim, Worth, best_claim, worth_of_access
from fedabm.auditing.deviations import Deviation, LieLimits, Lies, in_words
from fedabm.auditing.evaluate import (
    at_claims,
    on_curves,
    one_by_one,
    own_row,
    reads,
    statement_offers,
    utilities,
    without_fines,
)
from fedabm.auditing.stage import Stage
from fedabm.games.curves import Array
from fedabm.games.offers import Offers

__all__ = [
    "NOTHING",
    "BestDeviation",
    "SearchEffort",
    "best_claim_alone",
    "best_lie",
    "best_lies",
    "climbed",
    "evolved",
    "looked_at",
    "powell",
    "searched",
]

#: factors by which sizes, costs and eagerness are misstated at first, as far as the limits allow
_FACTORS = {
    "size": (0.25, 0.5, 1.0, 2.0),
    "cost": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0),
    "fixed": (0.0, 1.0, 4.0),
    "eagerness": (0.0, 0.5, 1.0, 2.0, 4.0),
}
#: claims that are tried at first, as shares of the largest
_CLAIMS = np.linspace(0.0, 1.0, 65)
#: smaller gains are what rounding leaves
NOTHING = 1e-9


@dataclass(frozen=True)
class SearchEffort:
    """How hard is looked: questions to the rule for each owner beyond the first grid, and owners that are looked at.

    Parameters
    ----------
    questions : int, optional
        Questions to the rule for each owner beyond the first grid.
    owners : int, optional
        How many owners are looked at.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    questions: int = 300
    owners: int = 12
    seed: int = 0


@dataclass(frozen=True)
class BestDeviation:
    """The best deviation of an owner, its gain over the best that it can do honestly, and the most that any could gain.

    `bound` is infinite where nothing is proven; `questions` is how often the rule was asked.

    Parameters
    ----------
    owner : int
        Who deviates.
    deviation : Deviation
        What it contributes and says.
    gain : float
        What it gains over the best that it can do honestly.
    bound : float
        The most that any deviation could gain; infinite if nothing is proven.
    honest : float
        The best gain without a lie.
    questions : int
        How often the rule was asked.
    words : str
        The deviation in words.
    """

    owner: int
    deviation: Deviation
    gain: float
    bound: float
    honest: float
    questions: int
    words: str

    @property
    def percent(self) -> float:
        """The gain as a share of what honesty brings; nan where that is nothing."""
        return 100.0 * self.gain / abs(self.honest) if abs(self.honest) > 1e-12 else float("nan")

    @property
    def certified(self) -> bool:
        """Whether the bound is proven."""
        return bool(np.isfinite(self.bound))


def best_lies(stage: Stage, limits: LieLimits | None = None, effort: SearchEffort | None = None) -> list[BestDeviation]:
    """The best lie of every owner that is looked at, the largest gain first.

    Parameters
    ----------
    stage : Stage
        Owners, accuracies, rule and the truthful profile.
    limits : LieLimits | None, optional
        How far lies may go.
    effort : SearchEffort | None, optional
        How hard to search.

    Returns
    -------
    list[BestDeviation]
        One per owner that was looked at, the largest gain first.
    """
    limits, effort = limits or LieLimits(), effort or SearchEffort()
    found = [best_lie(stage, owner, limits, effort) for owner in looked_at(stage, effort)]
    return sorted(found, key=lambda one: -one.gain)


def looked_at(stage: Stage, effort: SearchEffort) -> list[int]:
    """All owners, or of many those that lie evenly in the order of their contributions, first and last among them."""
    order = np.argsort(stage.profile, kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(effort.owners, len(order))).round().astype(int))
    return sorted(order[places].tolist())


def best_lie(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> BestDeviation:
    """The best lie of one owner while the others tell the truth and stand still.

    Parameters
    ----------
    stage : Stage
        Owners, accuracies, rule and the truthful profile.
    owner : int
        Who lies.
    limits : LieLimits
        How far lies may go.
    effort : SearchEffort
        How hard to search.

    Returns
    -------
    BestDeviation
        The best lie that was found.
    """
    if not on_curves(stage) or not faithful(stage, owner, limits, effort):
        found = searched(stage, owner, limits, effort)
        alone = stage.plays_a_game and not reads(stage)
        return _bounded(stage, found, limits, effort) if alone else found
    worth, seen = worth_of_access(stage, owner), reads(stage)
    top = limits.claim * float(stage.capacities[owner])
    honest = float(stage.honest.utility[owner])
    offers = own_row(stage.offers, owner)
    if not seen:
        claim = best_claim(stage, offers, worth, top)
        deviation = _with_claim(worth, offers, Lies.of(stage, owner).one(0), claim)
        return _finding(stage, owner, deviation, honest, bound=claim.bound - honest, questions=1)
    deviation, questions = _best_statement(stage, owner, limits, worth, seen)
    deviation, more = _refined(stage, owner, limits, worth, seen, deviation, effort)
    return _finding(stage, owner, deviation, honest, bound=np.inf, questions=questions + more)


def best_claim_alone(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort | None = None) -> BestDeviation:
    """The best lie about the contribution, if size, cost and eagerness are verified."""
    effort = effort or SearchEffort()
    if not on_curves(stage) or not faithful(stage, owner, limits, effort):
        found = searched(stage, owner, limits, effort, only=("contribution", "claim"))
        return _bounded(stage, found, limits, effort)
    worth, offers = worth_of_access(stage, owner), own_row(stage.offers, owner)
    truth = Lies.of(stage, owner).one(0)
    claim = best_claim(stage, offers, worth, _top(stage, owner, limits, truth, reads(stage)))
    deviation = _with_claim(worth, offers, truth, claim)
    honest = float(stage.honest.utility[owner])
    return _finding(stage, owner, deviation, honest, bound=claim.bound - honest, questions=1)


def _bounded(stage: Stage, found: BestDeviation, limits: LieLimits, effort: SearchEffort) -> BestDeviation:
    """What was found, with the bound of the rule beneath fines if there is one: fines only take."""
    beneath, owner = without_fines(stage), found.owner
    if beneath is None or not faithful(beneath, owner, limits, effort):
        return found
    lies = _some_lies(stage, owner, limits, effort)
    if np.any(one_by_one(stage, owner, lies) > one_by_one(beneath, owner, lies) + NOTHING):
        return found  # what is called a fine pays
    top = _top(stage, owner, limits, Lies.of(stage, owner).one(0), reads(stage))
    best = best_claim(beneath, own_row(beneath.offers, owner), worth_of_access(beneath, owner), top)
    return replace(found, bound=max(best.bound - found.honest, found.gain))


def by_offers(stage: Stage, owner: int, limits: LieLimits) -> Deviation:
    """The claim that would be best if the rule settled on its offers alone."""
    worth = worth_of_access(stage, owner)
    offers = own_row(stage.offers, owner)
    truth = Lies.of(stage, owner).one(0)
    claim = best_claim(stage, offers, worth, limits.claim * float(stage.capacities[owner]), budget=0)
    return _with_claim(worth, offers, truth, claim)


def faithful(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort) -> bool:
    """Whether settling some lies brings what the offers say: a rule could make offers depend on one's own claim."""
    lies = _some_lies(stage, owner, limits, effort)
    curve, settled = utilities(stage, owner, lies), one_by_one(stage, owner, lies)
    return bool(np.allclose(curve, settled, rtol=1e-7, atol=1e-9))


def _some_lies(stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort, count: int = 6) -> Lies:
    rng = np.random.default_rng([effort.seed, owner])
    capacity = float(stage.capacities[owner])
    columns: dict[str, Array | float] = {
        "claim": capacity * np.append(rng.uniform(0.0, limits.claim, count - 1), 0.0),
        "contribution": capacity * rng.uniform(0.0, 1.0, count),
    }
    if "cost" in reads(stage):
        columns["cost"] = rng.uniform(*limits.cost, count)
    return Lies.of(stage, owner, count, **columns)


def _finding(
    stage: Stage, owner: int, deviation: Deviation, honest: float, bound: float, questions: int
) -> BestDeviation:
    gain = max(float(utilities(stage, owner, deviation.as_lies())[0]) - honest, 0.0)
    if gain <= NOTHING:
        deviation = Lies.of(stage, owner).one(0)
    words = in_words(stage, owner, deviation)
    return BestDeviation(owner, deviation, gain, max(bound, gain), honest, questions, words)


def _with_claim(worth: Worth, offers: Offers, said: Deviation, claim: BestClaim) -> Deviation:
    """A statement together with a claim and the true contribution that is best with it."""
    deal = at_claims(offers, np.array([claim.claim]))
    contribution = float(worth.best(deal.access)[0][0])
    return replace(said, contribution=contribution, claim=claim.claim, size=max(said.size, claim.claim))


def _statements(stage: Stage, owner: int, limits: LieLimits, seen: frozenset[str]) -> list[Deviation]:
    """The truth and the first grid of statements."""
    truth = Lies.of(stage, owner).one(0)
    axes = []
    for name in ("size", "cost", "fixed", "eagerness"):
        low, high = getattr(limits, name)
        axes.append([f for f in _FACTORS[name] if low <= f <= high] if name in seen else [1.0])
    capacity = float(stage.capacities[owner])
    return [
        replace(truth, size=size * capacity, cost=cost, fixed=fixed, eagerness=eagerness)
        for size, cost, fixed, eagerness in product(*axes)
    ]


def _top(stage: Stage, owner: int, limits: LieLimits, said: Deviation, seen: frozenset[str]) -> float:
    """The largest claim that goes with a statement."""
    most = limits.claim * float(stage.capacities[owner])
    return min(most, said.size) if "size" in seen else most


def _best_statement(
    stage: Stage, owner: int, limits: LieLimits, worth: Worth, seen: frozenset[str]
) -> tuple[Deviation, int]:
    """The best of the first grid of statements, each with its best claim."""
    trials = _statements(stage, owner, limits, seen)
    hopes = [_hope(stage, owner, limits, worth, seen, said) for said in trials]
    return _claiming(stage, owner, limits, worth, seen, trials[int(np.argmax(hopes))]), len(trials)


def _hope(stage: Stage, owner: int, limits: LieLimits, worth: Worth, seen: frozenset[str], said: Deviation) -> float:
    """What a statement is worth with the best claim of a grid."""
    offers = statement_offers(stage, owner, said)
    deal = at_claims(offers, _top(stage, owner, limits, said, seen) * _CLAIMS)
    return float(np.max(worth.likely(deal.access) + deal.payment))


def _claiming(
    stage: Stage, owner: int, limits: LieLimits, worth: Worth, seen: frozenset[str], said: Deviation
) -> Deviation:
    """A statement together with its best claim."""
    offers = statement_offers(stage, owner, said)
    claim = best_claim(stage, offers, worth, _top(stage, owner, limits, said, seen), budget=0)
    return _with_claim(worth, offers, said, claim)


def _refined(
    stage: Stage,
    owner: int,
    limits: LieLimits,
    worth: Worth,
    seen: frozenset[str],
    start: Deviation,
    effort: SearchEffort,
) -> tuple[Deviation, int]:
    """What SciPy's differential evolution makes of the best statement; each trial is given its best claim on a grid."""
    names = [name for name in ("size", "cost", "fixed", "eagerness") if name in seen]
    capacity = float(stage.capacities[owner])
    scale = {"size": capacity, "cost": 1.0, "fixed": 1.0, "eagerness": 1.0}
    bounds = [tuple(scale[name] * end for end in getattr(limits, name)) for name in names]
    asked = 0

    def statement(point: Array) -> Deviation:
        return replace(start, **dict(zip(names, point.tolist(), strict=True)))

    def loss(point: Array) -> float:
        nonlocal asked
        asked += 1
        return -_hope(stage, owner, limits, worth, seen, statement(point))

    best, _ = evolved(loss, bounds, [getattr(start, name) for name in names], effort, owner)
    lies = [start, _claiming(stage, owner, limits, worth, seen, statement(best))]
    value = [float(utilities(stage, owner, one.as_lies())[0]) for one in lies]
    return lies[int(np.argmax(value))], asked


def evolved(
    loss: Callable[[Array], float],
    bounds: Sequence[tuple[float, ...]],
    start: Sequence[float],
    effort: SearchEffort,
    *stream: int,
) -> tuple[Array, float]:
    """The least loss that SciPy's differential evolution finds with about `effort.questions` questions, and where."""
    each = 4
    low, high = np.transpose(bounds)
    margin = 1e-9 * (high - low)  # SciPy refuses a start that rounding puts outside
    found = differential_evolution(
        loss,
        bounds,
        x0=np.clip(start, low + margin, high - margin),
        popsize=each,
        maxiter=max(effort.questions // (each * len(bounds)) - 1, 1),
        init="sobol",
        polish=False,
        tol=1e-6,
        rng=np.random.default_rng([effort.seed, *stream]),
    )
    return found.x, float(found.fun)


def searched(
    stage: Stage, owner: int, limits: LieLimits, effort: SearchEffort, only: tuple[str, ...] | None = None
) -> BestDeviation:
    """The best lie where only settling tells what it brings: differential evolution over all that can be said.

    `only` names what may be lied about.  Where the rule makes offers, the best claim by these is where it starts.
    """
    capacity, truth = float(stage.capacities[owner]), Lies.of(stage, owner).one(0)
    rule = stage.mechanism
    bounds = {"size": (limits.size[0] * capacity, limits.size[1] * capacity)}
    if stage.plays_a_game:
        bounds |= {"contribution": (0.0, capacity), "claim": (0.0, limits.claim * capacity)}
    if rule.asks_cost:
        bounds["cost"] = limits.cost
    if rule.asks_eagerness and stage.eagerness[owner] > 0:
        bounds["eagerness"] = limits.eagerness
    if only is not None:
        bounds = {name: room for name, room in bounds.items() if name in only}
    names, asked = list(bounds), 0

    def lie(point: Array) -> Deviation:
        said = replace(truth, **dict(zip(names, point.tolist(), strict=True)))
        claim = said.claim if stage.plays_a_game else said.size
        return replace(said, claim=claim, size=max(said.size, claim))

    def loss(point: Array) -> float:
        nonlocal asked
        asked += 1
        return -float(one_by_one(stage, owner, lie(point).as_lies())[0])

    starts = np.array([[getattr(start, name) for name in names] for start in _starts(stage, owner, limits, truth)])
    best, least = climbed(loss, list(bounds.values()), starts, effort, owner)
    honest = float(stage.honest.utility[owner]) if stage.plays_a_game else float(stage.settled.utility[owner])
    gain = max(-least - honest, 0.0)
    deviation = lie(best) if gain > NOTHING else truth
    return BestDeviation(owner, deviation, gain, np.inf, honest, asked, in_words(stage, owner, deviation))


def _starts(stage: Stage, owner: int, limits: LieLimits, truth: Deviation) -> list[Deviation]:
    """Where searches start: the truth, what is best by the offers alone, and a grid of contributions and claims."""
    if not stage.plays_a_game:
        return [truth]
    capacity, here = float(stage.capacities[owner]), float(stage.profile[owner])
    given = {
        0.0,
        here,
        float(stage.honest.contribution[owner]),
        *(capacity * np.array([0.25, 0.5, 0.75, 1.0])).tolist(),
    }
    claims = {0.0, here, *(capacity * limits.claim * np.linspace(0.125, 1.0, 8)).tolist()}
    grid = [replace(truth, contribution=x, claim=z, size=max(truth.size, z)) for x in given for z in (*claims, x)]
    return [truth, by_offers(stage, owner, limits), *grid]


def climbed(
    loss: Callable[[Array], float],
    bounds: Sequence[tuple[float, ...]],
    starts: Array,
    effort: SearchEffort,
    *stream: int,
    near: Sequence[tuple[float, ...]] | None = None,
) -> tuple[Array, float]:
    """The least loss, and where: best of some starts, what evolves `near` them, and where Powell climbs from these."""
    values = np.array([loss(start) for start in starts])
    order = np.argsort(values, kind="stable")
    found = [(starts[place], float(values[place])) for place in order[:2]]
    found.append(evolved(loss, bounds if near is None else near, found[0][0].tolist(), effort, *stream))
    for start, _ in sorted(found, key=lambda one: one[1])[:2]:
        found.append(powell(loss, bounds, start, effort))
    return min(found, key=lambda one: one[1])


def powell(
    loss: Callable[[Array], float], bounds: Sequence[tuple[float, ...]], start: Array, effort: SearchEffort
) -> tuple[Array, float]:
    """The least loss that SciPy's Powell finds from a start, and where; it is never asked beyond the bounds.

    SciPy keeps bounds up to rounding only, and a contribution of -1e-20 is refused.
    """
    low, high = np.transpose(bounds)

    def within(point: Array) -> float:
        return loss(np.clip(point, low, high))

    options = {"maxfev": effort.questions}
    found = minimize(within, np.clip(start, low, high), method="Powell", bounds=bounds, options=options)
    return np.clip(found.x, low, high), float(found.fun)
