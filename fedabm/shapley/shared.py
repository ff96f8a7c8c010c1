"""Exact Shapley shares of very many owners whose data are worth the same to all: one table for everybody.

Where every owner's data add to the same total, all that an owner's share depends on is what it contributed, s, and what
it would contribute instead, x.  With r_k(s) = 1 - exp(-rate_k s), and P_k(t) as in `fedabm.shapley.quadrature`,

    phi(x, s) = sum_k weight_k M_k(s) r_k(x),     M_k(s) = int_0^1 P_k(t) / (1 - t r_k(s)) dt
    log P_k(t) = sum_j log(1 - t r_k(s_j)) = -sum_p t^p / p sum_j r_k(s_j)^p.

Nothing here is done for every owner and every term k.  The largest t that matters is about 37 / sum_j r_k(s_j), so
that a few powers of t r_k(s) are enough unless somebody has much of all data.  Sums over owners become sums over the
nodes of a grid.  Shares at what owners do contribute, phi(s, s), are functions of s alone, and tabulated.  Elsewhere
M_k(s) is a polynomial in exp(-rate_k s), hence phi(x, s) a sum of functions of x, x + s, x + 2 s, ..., each tabulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import comb

from fedabm.common.arrays import select_rows
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.mixture import Atoms
from fedabm.games.curves import Array, Curve, Rows
from fedabm.shapley.quadrature import chances, legendre
from fedabm.shapley.tabulated import OctaveGrid, blocks, look_up, trimmed

__all__ = ["MANY", "ROUNDING", "Crowd", "Shared", "SharedCurve", "crowd_of", "shared_curve"]

#: from this many owners on a table is used
MANY = 4096
#: the longest table, and the most powers
_OCTAVES = 48
_POWERS = 40
#: the largest t r_k(s) whose powers fade soon enough
_FADING = 0.4
#: a share of a number that may be left out
ROUNDING = 5e-16
#: a larger relative error of a table is left to the sum over all terms
_MOST_ERROR = 1e-13
#: rounding may be this many times larger where terms of both signs are added
_MOST_CANCELLED = 64.0
#: contributions below this share of the offset are all the same, those above this many times the offset equally steep
_LEAST, _STEEP = 1e-9, 64.0
#: for x below the first of these shares of 1 / scale + s a function grows almost evenly; values of y = x + j s below
#: the second are rare, so that there tables are that much more precise
_SHORT, _RARE = 1 / 64, 1 / 32


@dataclass(frozen=True)
class Shared:
    """f(x, s) = sum_k c_k(s) r_k(x), with c_k(s) = sum_p moments_kp r_k(s)^p, for s and x on grids.

    f(x, s) = sum_j h_j(x + j s) - h_j(j s) with h_j(y) = sum_k (-1)^j sum_p C(p, j) moments_kp r_k(y).  What is below
    the relative `error` is left out.
    """

    rates: Array
    moments: Array
    grid: OctaveGrid
    far: OctaveGrid
    error: float

    @cached_property
    def here(self) -> Array:
        """f(s, s) / s and d f(x, s) / d x at x = s, at the nodes (2, nodes)."""
        exponent = -self.rates[:, None] * self.grid.nodes
        reached = -np.expm1(exponent)
        terms = self._coefficients(reached, self.moments.T[:, :, None])
        value = np.einsum("kn,kn->n", terms, reached) / self.grid.nodes
        return np.array([value, self.rates @ (terms * np.exp(exponent))])

    @cached_property
    def _here_tables(self) -> Array:
        return self.grid.tables(self.here)

    @cached_property
    def _apart_tables(self) -> tuple[list[Array], list[Array], Array]:
        """Tables of h_j(y) / y, of the slopes of h_j, and of sum_j h_j(j s), j > 0."""
        power = np.arange(self.moments.shape[1])
        terms = (self.moments @ (comb(power[:, None], power) * (-1.0) ** power)).T
        exponent = -self.rates[:, None] * self.far.nodes
        values = self.far.tables(terms @ -np.expm1(exponent) / self.far.nodes)
        slopes = self.far.tables((terms * self.rates) @ np.exp(exponent))
        exponent = -self.rates[:, None] * self.grid.nodes
        before = sum((terms[j] @ -np.expm1(j * exponent) for j in power[1:]), np.zeros(len(self.grid.nodes)))
        error, cells = _RARE * self.error, self.grid.cells_in_all
        start = trimmed(self.grid.tables(before[None])[0], values[0][:, :cells] / self.grid.scale, error)
        grown, steep = ([trimmed(table, tables[0], error) for table in tables] for tables in (values, slopes))
        return grown, steep, start

    @property
    def precise(self) -> bool:
        """Whether tables agree with the sums to about 1e-13 of these."""
        signs = 2.0 ** np.arange(self.moments.shape[1])
        cancelled = np.all(self.moments @ signs <= _MOST_CANCELLED * self.moments[:, 0])
        return bool(cancelled and np.all(self.grid.errors(self.here) <= _MOST_ERROR))

    def value(self, x: Array, s: Array) -> Array:
        """f(x, s) for owners with s (n,), at x (n,) or (n, k)."""
        return self._found(x, s, slopes=False)

    def slope(self, x: Array, s: Array) -> Array:
        """d f / d x."""
        return self._found(x, s, slopes=True)

    def _found(self, x: Array, s: Array, *, slopes: bool) -> Array:
        each = x[:1].size
        found, trials = np.empty(x.size), x.reshape(-1)
        for rows in blocks(len(x), each):
            if x is s:
                found[rows] = self._here(s[rows], slopes=slopes)
                continue
            part = slice(rows.start * each, rows.stop * each)
            found[part] = self._block(trials[part], s[rows] if each == 1 else np.repeat(s[rows], each), slopes=slopes)
        return found.reshape(x.shape)

    def _block(self, x: Array, s: Array, *, slopes: bool) -> Array:
        """The same number for the same x and s, whatever is asked with them: by the table of x = s, near or far."""
        same = x == s
        if np.all(same):
            return self._here(s, slopes=slopes)
        near = x + (self.moments.shape[1] - 1) * s < self.far.top
        easy = same if slopes else same | (x == 0)
        apart = self._slopes if slopes else self._values
        if np.all(near) and not np.any(easy):
            return apart(x, s)
        found = np.zeros(x.shape)
        chosen = np.flatnonzero(same)
        found[chosen] = self._here(s.take(chosen), slopes=slopes)
        chosen = np.flatnonzero(near & ~easy)
        found[chosen] = apart(x.take(chosen), s.take(chosen))
        chosen = np.flatnonzero(~near & ~easy)
        found[chosen] = self._sums(x.take(chosen), s.take(chosen), slopes=slopes)
        return found

    def _here(self, s: Array, *, slopes: bool) -> Array:
        found = look_up(self._here_tables[int(slopes)], self.grid.cells(s))
        return found if slopes else found * s

    def _slopes(self, x: Array, s: Array, first: int = 0) -> Array:
        found = np.zeros(x.shape)
        for j, table in enumerate(self._apart_tables[1][first:], first):
            found += look_up(table, self.far.cells(x + j * s))
        return found

    def _values(self, x: Array, s: Array) -> Array:
        (first, *rest), _, start = self._apart_tables
        found = -look_up(start, self.grid.cells(s))
        for j, table in enumerate(rest, 1):
            after = x + j * s
            found += look_up(table, self.far.cells(after)) * after
        short = np.flatnonzero(x < _SHORT * (1.0 / self.far.scale + s))
        if len(short):
            found[short] = self._grown(x.take(short), s.take(short))
        found += look_up(first, self.far.cells(x)) * x
        return found

    def _grown(self, x: Array, s: Array) -> Array:
        """sum_j h_j(x + j s) - h_j(j s), j > 0, as an integral of slopes: for small x the difference loses digits."""
        found = np.zeros(x.shape)
        for place, weight in zip(*legendre(3), strict=True):
            found += weight * self._slopes(place * x, s, first=1)
        return x * found

    def _sums(self, x: Array, s: Array, *, slopes: bool) -> Array:
        """All terms, for x beyond the table."""
        found = np.empty(x.shape)
        for rows in blocks(len(x), len(self.rates)):
            kept = -self.rates * x[rows, None]
            terms = self._coefficients(-np.expm1(-self.rates * s[rows, None]), self.moments.T)
            found[rows] = weighted_sum(self.rates * np.exp(kept) if slopes else -np.expm1(kept), terms)
        return found

    @staticmethod
    def _coefficients(reached: Array, moments: Array) -> Array:
        """c_k(s) where r_k(s) is known."""
        found = np.zeros(reached.shape)
        for moment in moments[::-1]:
            found *= reached
            found += moment
        return found


@dataclass(frozen=True)
class SharedCurve(Curve):
    """phi_i(x) = f(x, s_i), the own contribution s_i of every owner being all that tells them apart."""

    shared: Shared
    own: Array
    closed = True

    def value(self, x: Array) -> Array:
        return self.shared.value(x, self.own)

    def slope(self, x: Array) -> Array:
        return self.shared.slope(x, self.own)

    def take(self, rows: Rows) -> SharedCurve:
        return SharedCurve(self.shared, select_rows(self.own, rows))


@dataclass(frozen=True)
class Crowd:
    """What many owners are to one of them: chances t and masses P_k(t) dt (K, m) of every term.

    The grid has room for all contributions, and `reach` is the largest that will be asked for.
    """

    atoms: Atoms
    grid: OctaveGrid
    reach: float
    t: Array
    mass: Array

    def shared(self, weight: Array, error: float = ROUNDING) -> Shared | None:
        """f with c_k(s) = int weight_k(t) P_k(t) / (1 - t r_k(s)) dt; None where tables are not precise enough."""
        moments = self._moments(weight * self.mass, -np.expm1(-self.atoms.rate * self.grid.top), error)
        if moments is None:
            return None
        far = OctaveGrid.up_to(self.grid.scale, self.reach + moments.shape[1] * self.grid.top, _OCTAVES)
        shared = Shared(self.atoms.rate, moments, self.grid, far, error)
        return shared if shared.precise else None

    def _moments(self, mass: Array, reached: Array, error: float) -> Array | None:
        """int t^p mass_k(t) dt (K, p), until the last does not matter to anybody."""
        moments = [mass.sum(axis=1)]
        largest = np.ones(len(mass))
        while len(moments) < _POWERS:
            mass = mass * self.t
            largest *= reached
            moment = mass.sum(axis=1)
            matters = moment * largest > error * moments[0]
            if not np.any(matters):
                return np.column_stack(moments)
            moments.append(np.where(matters, moment, 0.0))
        return None


def crowd_of(accuracy: Accuracy, profile: Array, precision: float = 1e-15, reach: Array | None = None) -> Crowd | None:
    """The crowd at a profile; None for few owners, others than one total, a steep accuracy or a very large owner."""
    if len(profile) < MANY or not accuracy.traits.of_exponentials:
        return None
    density, curve = accuracy.power_density, accuracy.as_total()
    if density is None or curve is None:
        return None
    most, total = float(np.max(profile)), float(np.sum(profile))
    largest = (2.0 - np.log(precision)) * most / total if total > 0 else 0.0
    grid = _grid(curve, density.offset, most)
    if not (largest < _FADING and grid is not None):
        return None
    far = max(most, 0.0 if reach is None else float(np.max(reach)))
    atoms = density.atoms(len(profile), total + far, precision)
    sums = _power_sums(atoms, grid, profile, 2 + int(np.log(ROUNDING) / np.log(max(largest, ROUNDING))))
    t, width = chances(sums[0], len(profile), precision)
    falling = np.zeros((len(sums[0]), t.shape[1]))
    for power in range(len(sums), 0, -1):
        falling += sums[power - 1][:, None] / power
        falling *= t
    return Crowd(atoms, grid, far, t, width * np.exp(-falling))


def shared_curve(
    accuracy: Accuracy, profile: Array, precision: float = 1e-15, reach: Array | None = None
) -> SharedCurve | None:
    """The shares of very many owners as functions of the own contribution; None where no table is known."""
    crowd = crowd_of(accuracy, profile, precision, reach)
    shared = None if crowd is None else crowd.shared(crowd.atoms.weight[:, None])
    return None if shared is None else SharedCurve(shared, profile)


def _grid(accuracy: Exposure, offset: float, most: float) -> OctaveGrid | None:
    """A grid for contributions up to `most`; None if there is no such, or none that the accuracy itself fits."""
    scale = 1.0 / min(offset, max(most, _LEAST * offset))
    grid = OctaveGrid.up_to(scale, most, _OCTAVES)
    return grid if most < grid.top and _fits(accuracy, offset, scale) else None


@lru_cache(maxsize=64)
def _fits(accuracy: Exposure, offset: float, scale: float) -> bool:
    """Whether tables of the accuracy's slopes are precise.

    Slopes of shares are means of these on top of what others gave, which are less steep.
    """
    probe = OctaveGrid.up_to(scale, _STEEP * offset, _OCTAVES)
    return bool(np.all(probe.errors(accuracy.curve_slope(probe.nodes)) <= _MOST_ERROR))


def _power_sums(atoms: Atoms, grid: OctaveGrid, profile: Array, powers: int) -> list[Array]:
    """sum_j r_k(s_j)^p for p = 1, 2, ..., with weights s_j, so that the smallest contributions count exactly."""
    weights = grid.sums(profile, profile)
    reached = -np.expm1(-atoms.rate[:, None] * grid.nodes)
    power, sums = reached / grid.nodes, []
    for _ in range(powers):
        sums.append(power @ weights)
        power = power * reached
    return sums
