"""Ration models by Shapley values, which change for everyone when one owner contributes more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from fedabm.common.deadline import in_time
from fedabm.common.errors import check_pairs
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.mixed_merits import mixed_merits
from fedabm.mechanisms.proportional import Merits, Proportional, best_other
from fedabm.mechanisms.shared_merits import shared_merits
from fedabm.shapley import choose_method, enumeration, shapley
from fedabm.shapley.worth import difference
from fedabm.views import Reports

__all__ = ["ProportionalShapley"]

#: the largest table of coalitions, the largest that is shorter than a quadrature, and the most numbers held at a time
_TABLE = 2**16
_SHORT = 2**8
_BLOCK = 2**21
#: how many coalitions are drawn where there are too many to count
_DRAWN = 2**9
#: up to this many owners all coalitions are looked at together, faster than any other way one profile after the other
_FEW = 10


@dataclass(frozen=True)
class ProportionalShapley(Proportional):
    """Ration by Shapley value: psi_i = phi_i(s).  PS of Karimireddy et al. 2022, eq. (14); Sim et al. 2020.

    The others' values move with the own contribution x, too.  Yet phi_i / phi_j never falls in x where it is below 1:
    phi_i - phi_j is a positive combination of v(S + i) - v(S + j), which cannot fall, so either phi_j falls while phi_i
    does not, or phi_i gains at least what the larger phi_j gains.

    For a common function of the total both values are exact sums over the coalitions of the others, counted by level of
    contribution, e.g. phi_i(x) = 1/n sum_{k=0}^{n-1} [v(k m + x) - v(k m)] if all others contribute m (the printed sum
    starts at k = 1).  For mixtures of exponentials (power laws, random coverage) they are exact by quadrature, however
    many owners there are.  Where a common function of the total has too many coalitions for that (minimum viability and
    more than 18 different contributions), 512 of them stand for all, the same at every question: ratios are then right
    to about one percent (five for the smallest contributors), and nothing is certified.  Otherwise values are
    computed anew at each trial.

    Parameters
    ----------
    p : float
        The exponent: the share of the full model is (own merit / best merit)^p.
    """

    def merits(self, accuracy: Accuracy, reports: Reports) -> tuple[Merits, Array]:
        """Shapley values at the changed profiles."""
        profile = np.asarray(reports.contribution, dtype=float)
        rival = best_other(profile)
        kinks = rival[:, None]
        # A mixture of finitely many terms, such as random coverage, is faster that way for few owners, too.
        few = 1 if accuracy.power_density is None else _FEW
        smooth, total = accuracy.traits.of_exponentials and len(profile) > few, accuracy.as_total()
        if total is not None and (counted := _counted(total, profile, _SHORT if smooth else _TABLE)):
            return counted, kinks
        if smooth and (shared := shared_merits(accuracy, profile, rival, reports.size)):
            return shared, kinks
        if smooth and (mixed := mixed_merits(accuracy, profile, np.maximum(profile, reports.size))):
            return mixed, kinks
        if total is not None and not smooth:
            return _drawn(total, profile), kinks
        return RecomputedShapley(accuracy, profile, np.arange(len(profile))), kinks


@dataclass(frozen=True)
class RivalCoalitions:
    """The coalitions of the others without the best rival, for owners of one level of contribution.

    Entry k has data `sums[k]`; `before[k]` is the chance that exactly such a coalition precedes the owner and the rival
    comes after, `between[k]` that the rival precedes it as well.  Both are the same with owner and rival swapped.
    """

    rival: float
    sums: Array
    before: Array
    between: Array


@dataclass(frozen=True)
class Counted(Merits):
    """Shapley values of each owner and its best rival for a common function of the total, by counting coalitions."""

    accuracy: Exposure
    tables: tuple[RivalCoalitions, ...]
    group: Rows
    drawn: bool = False

    @property
    def exact(self) -> bool:
        """Whether the tables hold all coalitions."""
        return not self.drawn

    def value(self, x: Array) -> tuple[Array, Array]:
        return self._each(x, self._values)

    def slope(self, x: Array) -> tuple[Array, Array]:
        return self._each(x, self._slopes)

    def take(self, rows: Rows) -> Counted:
        return Counted(self.accuracy, self.tables, np.asarray(self.group)[rows], self.drawn)

    def _each(self, x: Array, question: Callable[[RivalCoalitions, Array], Array]) -> tuple[Array, Array]:
        """Answer once for each level and distinct contribution, however many owners share it."""
        own = np.empty(x.shape)
        rival = np.empty(x.shape)
        group = np.asarray(self.group)
        for index in np.unique(group):
            table, rows = self.tables[index], group == index
            trials, where = np.unique(x[rows], return_inverse=True)
            parts = np.array_split(trials, 1 + trials.size * table.sums.size // _BLOCK)
            answers = np.concatenate([in_time(question, table, part[:, None]) for part in parts], axis=1)
            own[rows], rival[rows] = (answer[where].reshape(x[rows].shape) for answer in answers)
        return own, rival

    def _values(self, table: RivalCoalitions, x: Array) -> Array:
        v, sums = self.accuracy.curve, table.sums
        none = v(sums)
        mine = v(sums + x)
        theirs = v(sums + table.rival)
        both = v(sums + (x + table.rival))
        own = weighted_sum(mine - none, table.before) + weighted_sum(both - theirs, table.between)
        rival = weighted_sum(theirs - none, table.before) + weighted_sum(both - mine, table.between)
        return np.stack([own, rival])

    def _slopes(self, table: RivalCoalitions, x: Array) -> Array:
        steep, sums = self.accuracy.curve_slope, table.sums
        mine, both = steep(sums + x), steep(sums + (x + table.rival))
        own = weighted_sum(mine, table.before) + weighted_sum(both, table.between)
        return np.stack([own, weighted_sum(both - mine, table.between)])


@dataclass(frozen=True)
class RecomputedShapley(Merits):
    """Shapley values computed anew at every changed profile; slopes by differences."""

    accuracy: Accuracy
    profile: Array
    rows: Rows

    @property
    def exact(self) -> bool:
        return len(self.profile) <= _FEW or choose_method(self.accuracy, self.profile) != "monte_carlo"

    def value(self, x: Array) -> tuple[Array, Array]:
        trials = x.reshape(len(x), -1)
        what = f"{type(self.accuracy).__name__} under ProportionalShapley"
        remedy = "take PowerLaw or RandomCoverage, whose values are exact by quadrature, or fewer owners"
        check_pairs(what, len(self.profile), remedy)
        turns, owner = np.arange(trials.size), np.repeat(np.asarray(self.rows), trials.shape[1])
        profiles = np.repeat(self.profile[None], trials.size, axis=0)
        profiles[turns, owner] = trials.ravel()
        values = self._shares(profiles)
        own = values[turns, owner]
        values[turns, owner] = -np.inf if len(self.profile) > 1 else 0.0
        return own.reshape(x.shape), values.max(axis=1).reshape(x.shape)

    def slope(self, x: Array) -> tuple[Array, Array]:
        own, rival = difference(lambda trials: np.stack(self.value(trials)), x)
        return own, rival

    def take(self, rows: Rows) -> RecomputedShapley:
        return RecomputedShapley(self.accuracy, self.profile, np.asarray(self.rows)[rows])

    def _shares(self, profiles: Array) -> Array:
        """Shapley values at many profiles (k, n): for few owners from all coalitions of all profiles together."""
        owners = len(self.profile)
        if owners > _FEW:
            return np.array([in_time(shapley, self.accuracy, profile) for profile in profiles]).reshape(-1, owners)
        parts = np.array_split(profiles, 1 + len(profiles) * owners * 2**owners // _BLOCK)
        return np.concatenate([in_time(enumeration.shares, self.accuracy, part) for part in parts])


def _counted(accuracy: Exposure, profile: Array, most: int) -> Counted | None:
    """One table of coalitions per level of contribution, or none at all if one of them would be too large."""
    # Owners of one level are as many coalitions and one more, those of different levels more.
    if len(profile) > most + 1:
        return None
    levels, group = np.unique(profile, return_inverse=True)
    if len(levels) > 2 + np.log2(most):
        return None
    others = _others(profile, levels)
    sizes = [np.prod(np.unique(rest[:-1], return_counts=True)[1] + 1.0) for rest in others]
    return None if max(sizes) > most else Counted(accuracy, tuple(_coalitions(rest) for rest in others), group)


def _others(profile: Array, levels: Array) -> list[Array]:
    """What everybody but one owner of each level contributes, in order."""
    ordered = np.sort(profile)
    return [np.delete(ordered, np.searchsorted(ordered, level)) for level in levels]


def _drawn(accuracy: Exposure, profile: Array) -> Counted:
    """One table of random coalitions per level; every other owner is in with a chance t that runs from 0 to 1.

    A mean over those who come before an owner is one over t (Owen 1972).  The first to come gain most where accuracy is
    concave, so the values of t lie closer together near 0: evenly in log(1 + n t).
    """
    levels, group = np.unique(profile, return_inverse=True)
    ends = np.expm1(np.log1p(len(profile)) * np.linspace(0.0, 1.0, _DRAWN + 1)) / len(profile)
    chance, mass = 0.5 * (ends[1:] + ends[:-1]), np.diff(ends)
    inside = np.random.default_rng(0).random((_DRAWN, len(profile) - 2)) < chance[:, None]
    others = _others(profile, levels)
    tables = (RivalCoalitions(rest[-1], inside @ rest[:-1], mass * (1 - chance), mass * chance) for rest in others)
    return Counted(accuracy, tuple(tables), group, drawn=True)


def _coalitions(others: Array) -> RivalCoalitions:
    """Coalitions of `others` (sorted) without the largest, by how many of each level are in."""
    if others.size == 0:
        return RivalCoalitions(0.0, np.zeros(1), np.ones(1), np.zeros(1))
    # Owners without data change nobody's Shapley value.
    rest = others[:-1][others[:-1] > 0]
    sums = np.zeros(1)
    sizes = np.zeros(1)
    ways = np.zeros(1)
    for level, count in zip(*np.unique(rest, return_counts=True), strict=True):
        inside = np.arange(count + 1.0)
        sums = np.add.outer(sums, level * inside).ravel()
        sizes = np.add.outer(sizes, inside).ravel()
        ways = np.add.outer(ways, _log_choose(count, inside)).ravel()
    players = rest.size + 2
    share = np.exp(ways - _log_choose(rest.size, sizes)) / (players * (players - 1))
    return RivalCoalitions(float(others[-1]), sums, share * (players - 1 - sizes), share * (sizes + 1))


def _log_choose(count: float, inside: Array) -> Array:
    return gammaln(count + 1.0) - gammaln(inside + 1.0) - gammaln(count - inside + 1.0)
