"""Joint lies: several owners deviate together and share what they gain by payments inside the group.

With side payments only the sum matters.  Owners that decide together also contribute more than each would alone, which
is no lie: what a lie gains is counted over the best that the same group can do together honestly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from fedabm.auditing.deviations import Deviation, LieLimits, Lies, in_words, with_deviations
from fedabm.auditing.evaluate import on_curves, reads
from fedabm.auditing.search import NOTHING, BestDeviation, SearchEffort, climbed, evolved, powell
from fedabm.auditing.stage import Stage
from fedabm.games.curves import Array

__all__ = ["Joint", "best_joint_lie", "groups_of"]

#: gains below this share of what a group has are what a search leaves
_PRECISION = 1e-4
#: how many combinations of roles are tried first, at most
_COMBINED = 100
#: true contributions of a group that are looked at behind every statement, and how often they are made finer
_GIVEN, _FINER = 1000, 14
#: points along every axis where no concave shape is promised, and along misstatements of sizes and costs
_ALONG, _FEW = 33, 9


@dataclass(frozen=True)
class Joint:
    """The best joint lie of a group: gain over its best joint honesty, what that gains over standing still, the loss of
    all others, and the lie in words.
    """

    members: tuple[int, ...]
    gain: float
    honest_gain: float
    loss: float
    questions: int
    words: str


def groups_of(stage: Stage, size: int, most: int, seed: int) -> tuple[list[tuple[int, ...]], bool]:
    """All groups of that size, or `most` drawn ones; and whether these are all."""
    if comb(stage.owners, size) <= most:
        return list(combinations(range(stage.owners), size)), True
    rng = np.random.default_rng([seed, size])
    drawn = {tuple(sorted(rng.choice(stage.owners, size, replace=False).tolist())) for _ in range(most)}
    return sorted(drawn), False


def best_joint_lie(
    stage: Stage, members: Sequence[int], limits: LieLimits, effort: SearchEffort, alone: Sequence[BestDeviation]
) -> Joint:
    """The best joint lie that is found; the search starts from what each member would do `alone`."""
    truth = [Lies.of(stage, owner).one(0) for owner in members]
    known = {one.owner: one.deviation for one in alone}
    start = [known.get(owner, said) for owner, said in zip(members, truth, strict=True)]
    stand = float(stage.settled.utility[list(members)].sum())
    names, bounds = _axes(stage, members, limits)

    def lies(point: Array) -> list[Deviation]:
        table = point.reshape(len(members), len(names))
        said = [replace(t, **dict(zip(names, row.tolist(), strict=True))) for t, row in zip(truth, table, strict=True)]
        return [replace(one, size=max(one.size, one.claim)) for one in said]

    tried = 0

    def loss(point: Array) -> float:
        nonlocal tried
        tried += 1
        return -_sum(stage, members, lies(point))

    trials = [start, *_first(stage, truth, names, limits, effort.seed)]
    points = np.array([[float(getattr(one, name)) for one in trial for name in names] for trial in trials])
    points = np.unique(points, axis=0)
    near = _near(stage, members, names, bounds)
    everywhere = stage.plays_a_game and stage.offers.shape != "concave"
    if on_curves(stage):
        behind = BehindStatements(stage, members, lies, names)
        best = behind.searched(points, bounds, near, effort, everywhere=everywhere)
        least, tried = loss(best), tried + behind.asked
    else:
        points = (
            np.vstack([points, *_all_along(loss, bounds, points, [_ALONG] * len(bounds))]) if everywhere else points
        )
        best, least = climbed(loss, bounds, points, effort, *members, near=near)
    found = lies(best)
    most = -least
    honest, asked = _honest(stage, members, effort, truth, [one.contribution for one in found])
    gain, better = most - max(honest, stand), max(honest - stand, 0.0)
    if gain <= max(NOTHING, _PRECISION * abs(most)):
        return Joint(tuple(members), 0.0, better, 0.0, tried + asked, "they tell the truth")
    others = np.setdiff1d(np.arange(stage.owners), members)
    settled = stage.settle(with_deviations(stage, members, found)).utility
    harm = float((stage.settled.utility[others] - settled[others]).sum())
    words = "; ".join(in_words(stage, owner, one) for owner, one in zip(members, found, strict=True))
    return Joint(tuple(members), gain, better, harm, tried + asked, words)


@dataclass
class BehindStatements:
    """What members say is searched; what they best contribute behind it follows without another question to the rule.

    Where a rule settles by its offers, neither access nor money depends on what is really contributed, so that the sum

        sum_m access_m a_m(s) + payment_m - c_m(s_m)

    is the largest of a grid of true contributions, for every statement, and then of ever finer ones.
    """

    stage: Stage
    members: Sequence[int]
    lies: Callable[[Array], list[Deviation]]
    names: Sequence[str]
    asked: int = 0

    def searched(
        self,
        points: Array,
        bounds: Sequence[tuple[float, ...]],
        near: Sequence[tuple[float, ...]],
        effort: SearchEffort,
        *,
        everywhere: bool,
    ) -> Array:
        """The best lie from some starts; `everywhere` along all that can be said, too."""
        grid, said = self._grid(), self._said
        room, close = ([ends for ends, one in zip(some, said, strict=True) if one] for some in (bounds, near))

        def loss(statement: Array) -> float:
            return -grid.best(*self._handed(self._with(points[0], statement)))[0]

        starts = np.unique(points[:, said], axis=0)
        # What is concave in a contribution need not be so in what is said of sizes and costs.
        along = [_ALONG if everywhere and name == "claim" else _FEW for name in self.names if name != "contribution"]
        if everywhere or len(along) > 1:
            starts = np.vstack([starts, *_all_along(loss, room, starts, along * len(self.members))])
        found = self._with(points[0], climbed(loss, room, starts, effort, *self.members, near=close)[0])
        found[~said] = grid.sharpened(*self._handed(found))
        return found

    @property
    def _said(self) -> NDArray[np.bool_]:
        """Which of the columns are statements."""
        return np.tile([name != "contribution" for name in self.names], len(self.members))

    def _with(self, point: Array, statement: Array) -> Array:
        changed = point.copy()
        changed[self._said] = statement
        return changed

    def _handed(self, point: Array) -> tuple[Array, Array]:
        """Access and payment of each member."""
        self.asked += 1
        play, rows = with_deviations(self.stage, self.members, self.lies(point)), list(self.members)
        outcome = self.stage.outcome(play, self.stage.accuracy)
        return outcome.access[rows], outcome.payments[rows]

    def _grid(self) -> Contributions:
        stage, each = self.stage, int(_GIVEN ** (1.0 / len(self.members)))
        known = np.column_stack([stage.profile, stage.honest.contribution])
        axes = [
            np.unique([*np.linspace(0.0, stage.capacities[one], each), *known[one], *0.01 * known[one]])
            for one in self.members
        ]
        return Contributions.of(stage, self.members, axes)


@dataclass(frozen=True)
class Contributions:
    """True contributions of some owners (g, m), what models are then worth to them (g, m), and what they spend (g,)."""

    stage: Stage
    members: Sequence[int]
    axes: Sequence[Array]
    given: Array
    worth: Array
    spent: Array

    @classmethod
    def of(cls, stage: Stage, members: Sequence[int], axes: Sequence[Array]) -> Contributions:
        """All combinations of some contributions of each, while all others stand still."""
        rows = list(members)
        given = np.array(list(product(*axes)))
        profiles = np.repeat(stage.profile[None], len(given), axis=0)
        profiles[:, rows] = given
        spent = stage.costs.take(rows).value(np.ascontiguousarray(given.T)).sum(axis=0)
        return cls(stage, members, axes, given, stage.accuracy.values(profiles)[:, rows], spent)

    def best(self, access: Array, payment: Array) -> tuple[float, Array]:
        """The largest sum of utilities, and at what contributions."""
        sums = self.worth @ access - self.spent
        place = int(np.argmax(sums))
        return float(sums[place] + payment.sum()), self.given[place]

    def sharpened(self, access: Array, payment: Array) -> Array:
        """The best contributions on ever finer grids around the best."""
        most, best = self.best(access, payment)
        width = np.array([np.max(np.diff(axis), initial=0.0) for axis in self.axes])
        tops = self.stage.capacities[list(self.members)]
        for _ in range(_FINER):
            axes = [
                np.unique(np.clip(here + far * np.linspace(-1.0, 1.0, 7), 0.0, top))
                for here, far, top in zip(best, width, tops, strict=True)
            ]
            reached, there = Contributions.of(self.stage, self.members, axes).best(access, payment)
            most, best = max((most, best), (reached, there), key=lambda one: one[0])
            width = width / 3.0
        return best


def _first(
    stage: Stage, truth: Sequence[Deviation], names: Sequence[str], limits: LieLimits, seed: int
) -> Iterator[list[Deviation]]:
    """What is tried first: the same misstatement by all at contributions that stand, and different roles for each."""
    yield list(truth)
    for name in names:
        if name in ("size", "cost", "eagerness"):
            low, high = getattr(limits, name)
            for factor in sorted({low, 0.5, 0.75, 1.5, high} - {1.0}):
                if low <= factor <= high:
                    yield [replace(one, **{name: factor * (one.size if name == "size" else 1.0)}) for one in truth]
    if stage.plays_a_game:
        menus = [_roles(one, limits) for one in truth]
        combined = list(product(*menus))
        if len(combined) > _COMBINED:
            drawn = np.random.default_rng([seed, len(truth)]).permutation(len(combined))[:_COMBINED]
            combined = [combined[place] for place in sorted(drawn)]
        yield from map(list, combined)


def _roles(truth: Deviation, limits: LieLimits) -> list[Deviation]:
    """What one member may do for the others: stand, over-claim for nothing, claim nothing, or state extreme costs."""
    top = limits.claim * truth.size
    low, high = limits.cost
    return [
        truth,
        replace(truth, claim=0.0),
        replace(truth, claim=0.0, cost=high),
        replace(truth, contribution=0.0, claim=0.0, cost=high),
        replace(truth, contribution=0.0, claim=0.0, size=limits.size[0] * truth.size, cost=low),
        replace(truth, contribution=0.0, cost=low),
        replace(truth, contribution=0.0, claim=truth.size, cost=low),
        replace(truth, claim=top, size=top),
        replace(truth, contribution=0.0, claim=top, size=top, cost=low),
    ]


def _near(
    stage: Stage, members: Sequence[int], names: Sequence[str], bounds: Sequence[tuple[float, ...]]
) -> list[tuple[float, ...]]:
    """The ends between which a search is worthwhile: contributions and claims up to some times what they are.

    Where owners have far more data than they contribute, a search between all that is possible sees only folly.
    """
    most = {
        name: [max(4.0 * float(stage.profile[owner]), 0.05 * float(stage.capacities[owner])) for owner in members]
        for name in ("contribution", "claim")
    }
    ends = [(name, place) for place in range(len(members)) for name in names]
    return [
        (low, min(high, most[name][place])) if name in most else (low, high)
        for (name, place), (low, high) in zip(ends, bounds, strict=True)
    ]


def _all_along(
    loss: Callable[[Array], float], bounds: Sequence[tuple[float, ...]], starts: Array, along: Sequence[int]
) -> list[Array]:
    """Where no concave shape is promised: the best point along one axis after the other, from the best two starts.

    Peaks far from all that is tried first are found by nothing that climbs.  Axis k has along[k] points.
    """
    values = np.array([loss(start) for start in starts])
    found = []
    for place in np.argsort(values, kind="stable")[:2]:
        point, least, before = starts[place].copy(), float(values[place]), np.inf
        while least < before - _PRECISION * abs(least):
            before = least
            for axis, (low, high) in enumerate(bounds):
                trials = np.repeat(point[None], along[axis], axis=0)
                trials[:, axis] = np.linspace(low, high, along[axis])
                losses = [loss(trial) for trial in trials]
                if min(losses) < least:
                    point, least = trials[int(np.argmin(losses))], min(losses)
        found.append(point)
    return found


def _axes(stage: Stage, members: Sequence[int], limits: LieLimits) -> tuple[list[str], list[tuple[float, ...]]]:
    """What each member chooses, and between which numbers, member by member."""
    seen = reads(stage) if stage.plays_a_game else _asked(stage)
    names = (["contribution", "claim"] if stage.plays_a_game else []) + [
        name for name in ("size", "cost", "eagerness") if name in seen
    ]
    bounds: list[tuple[float, ...]] = []
    for owner in members:
        capacity = float(stage.capacities[owner])
        room = {"contribution": (0.0, capacity), "claim": (0.0, limits.claim * capacity)}
        room |= {"size": (limits.size[0] * capacity, limits.size[1] * capacity)}
        room |= {"cost": limits.cost, "eagerness": limits.eagerness}
        bounds += [room[name] for name in names]
    return names, bounds


def _asked(stage: Stage) -> set[str]:
    rule = stage.mechanism
    return {"size"} | ({"cost"} if rule.asks_cost else set()) | ({"eagerness"} if rule.asks_eagerness else set())


def _honest(
    stage: Stage, members: Sequence[int], effort: SearchEffort, truth: Sequence[Deviation], near: Sequence[float]
) -> tuple[float, int]:
    """The best that a group can do together honestly, and how often the rule was asked.

    What the liars really contribute is where the search ends, so that no lie is praised for what honesty would bring.
    """
    if not stage.plays_a_game:
        return _sum(stage, members, truth), 1
    asked = 0

    def loss(point: Array) -> float:
        nonlocal asked
        asked += 1
        said = [replace(t, contribution=x, claim=x) for t, x in zip(truth, point.tolist(), strict=True)]
        return -_sum(stage, members, said)

    bounds = [(0.0, float(stage.capacities[owner])) for owner in members]
    best, least = evolved(loss, bounds, stage.profile[list(members)].tolist(), effort, *members)
    for start in (best, np.asarray(near)):
        least = min(least, powell(loss, bounds, start, effort)[1])
    return -least, asked


def _sum(stage: Stage, members: Sequence[int], deviations: Sequence[Deviation]) -> float:
    return float(stage.settle(with_deviations(stage, members, deviations)).utility[list(members)].sum())
