"""Accuracy that approaches its ceiling as a power of the data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.errors import MOST, InputError, check_number, check_positive
from fedabm.common.leave_one_out import sum_of_others
from fedabm.common.rowwise import product, sum_last
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Exposure
from fedabm.games.accuracy.mixture import Groups, Mixture, PowerDensity
from fedabm.games.curves import Array, Rows

__all__ = ["GroupWeighted", "PowerLaw"]

#: a larger exponent is a jump, and its powers overflow
_STEEPEST = 1000.0


@dataclass(frozen=True)
class PowerLaw(Exposure):
    """The same model for everyone, better with the total of all data.

        a_i(s) = max(0, ceiling - scale * (sum_j s_j + offset)^-exponent)

    Murhekar et al. 2025, eq. (12), with ceiling = offset = 1; Kaplan et al. 2020.  `ceiling` is the accuracy that
    unlimited data would reach.  Where scale > ceiling * offset^exponent little data is worth nothing ("minimum
    viability", Karimireddy et al. 2022, eq. 1).

    >>> PowerLaw().values(np.array([[1.0, 3.0]]))
    array([[0.8, 0.8]])

    Parameters
    ----------
    scale : float, optional
        What is missing without data, at offset 1.
    exponent : float, optional
        How fast it falls with data.
    offset : float, optional
        Added to the total of data.
    ceiling : float, optional
        Accuracy of unlimited data.
    """

    scale: float = 1.0
    exponent: float = 1.0
    offset: float = 1.0
    ceiling: float = 1.0
    monotone = True
    concave = True
    stacks = True
    columns = ("scale", "exponent", "offset", "ceiling")
    derives = ("viable",)

    @property
    def form(self) -> Hashable:
        """Whether little data is worth nothing."""
        return self._cut, self.of_exponentials

    @property
    def _cut(self) -> bool:
        viable: Any = self.viable
        return viable > 0 if isinstance(viable, float) else bool(np.any(viable > 0))

    def __post_init__(self) -> None:
        for name in ("scale", "exponent", "offset", "ceiling"):
            check_number(f"accuracy {name}", getattr(self, name), zero=name == "offset")
        check_number("accuracy exponent", self.exponent, most=_STEEPEST)
        with np.errstate(over="ignore"):  # an exponent so small that no number is left is refused, too
            needed = (np.log(self.scale) - np.log(self.ceiling)) / self.exponent
        if not needed < np.log(MOST):
            got = f"exponent {self.exponent:g} and scale {self.scale:g}"
            raise InputError(f"with accuracy {got} no data would do; give a larger exponent or a smaller scale")

    @property
    def power_law(self) -> tuple[float, ...] | None:
        """Its numbers, unless a subclass has another curve."""
        own = type(self).curve is PowerLaw.curve and type(self).curve_slope is PowerLaw.curve_slope
        return (self.scale, self.exponent, self.offset, self.ceiling) if own else None

    @cached_property
    def viable(self) -> float:
        """The exposure below which the model is worth nothing."""
        return max(0.0, (self.scale / self.ceiling) ** (1 / self.exponent) - self.offset)

    @property
    def of_exponentials(self) -> bool:  # type: ignore[override]
        """Whether it is worth something from the start; one that is cut off at zero is no mixture."""
        return bool(np.all(self.viable <= 1e-12 * self.offset))

    @property
    def power_density(self) -> PowerDensity:
        """scale (x + offset)^-exponent."""
        return PowerDensity(self.scale, self.exponent, self.offset)

    def exponentials(
        self, profile: Array, precision: float = 1e-15, reach: Array | None = None, order: int = 1
    ) -> Mixture:
        """One atom per group of owners and node of the density."""
        groups = self.exposure_groups(len(profile))
        if groups is None:
            raise NotImplementedError(f"{type(self).__name__} has exposures of its own; state exposure_groups")
        return self.power_density.mixture(groups, profile, precision, reach, order)

    def curve(self, exposure: Array) -> Array:
        """max(0, ceiling - scale (x + offset)^-exponent)."""
        with np.errstate(divide="ignore"):
            raw = self.ceiling - self.scale * _power(exposure + self.offset, -self.exponent)
        return np.maximum(raw, 0.0)

    def curve_slope(self, exposure: Array) -> Array:
        """scale * exponent * (x + offset)^-(exponent + 1) where the accuracy is positive."""
        with np.errstate(divide="ignore"):
            steep = self.scale * self.exponent * _power(exposure + self.offset, -self.exponent - 1)
        return np.where(exposure >= self.viable, steep, 0.0) if self._cut else steep

    def curve_curvature(self, exposure: Array) -> Array:
        """-scale * exponent * (exponent + 1) * (x + offset)^-(exponent + 2) where the accuracy is positive."""
        with np.errstate(divide="ignore"):
            bend = _power(exposure + self.offset, -self.exponent - 2)
        bend = -self.scale * self.exponent * (self.exponent + 1) * bend
        return np.where(exposure >= self.viable, bend, 0.0) if self._cut else bend

    def restrict(self, rows: Rows) -> PowerLaw:
        """Only the total matters, so fewer owners change nothing."""
        return self


@dataclass(frozen=True)
class GroupWeighted(PowerLaw):
    """Owners in groups; a group learns from each other group's data with a weight.

        a_i(s) = max(0, ceiling - scale * (offset + sum_j weights[g_i, g_j] s_j)^-exponent)

    Murhekar et al. 2025, Section 5.1, with scale = exponent = offset = ceiling = 1.  `groups` holds the group of each
    owner, `weights[g, h]` is what one unit of group h's data is worth to group g.

    >>> GroupWeighted(weights=((1.0, 0.5), (0.0, 1.0)), groups=(0, 1)).values(np.array([[1.0, 2.0]]))
    array([[0.66666667, 0.66666667]])

    Parameters
    ----------
    weights : Any
        Entry (g, h): what a unit of group h's data is worth to group g.
    groups : Any
        The group of each owner, from 0 on.
    scale : float, optional
        What is missing without data, at offset 1.
    exponent : float, optional
        How fast it falls with data.
    offset : float, optional
        Added to the data.
    ceiling : float, optional
        Accuracy of unlimited data.
    """

    weights: Any = ((1.0,),)
    groups: Any = (0,)
    monotone = True
    concave = True
    of_total = False
    of_exponentials = PowerLaw.of_exponentials
    stacks = False

    def __init__(
        self,
        weights: Any,
        groups: Any,
        scale: float = 1.0,
        exponent: float = 1.0,
        offset: float = 1.0,
        ceiling: float = 1.0,
    ) -> None:
        weights, groups = FrozenArray(weights, "group weights"), FrozenArray(groups, "groups")
        if groups.array.size and np.array_equal(groups.array, np.round(groups.array)):
            groups = FrozenArray(groups.array.astype(np.intp))
        weights = FrozenArray(np.atleast_2d(weights.array).astype(float))
        _check_groups(weights.array, groups.array)
        values = (scale, exponent, offset, ceiling, weights, groups)
        for name, value in zip(("scale", "exponent", "offset", "ceiling", "weights", "groups"), values, strict=True):
            object.__setattr__(self, name, value)
        self.__post_init__()

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.groups)

    @property
    def table(self) -> Array:
        """`weights` as an array."""
        return self.weights.array

    @property
    def members(self) -> Array:
        """`groups` as an array."""
        return self.groups.array

    def exposures(self, profiles: Array) -> Array:
        """sum_j weights[g_i, g_j] s_j, through the totals of the groups."""
        if profiles.shape[-1] != self.owners:
            raise InputError(f"{profiles.shape[-1]} contributions but {self.owners} owners in groups; give one each")
        totals = np.zeros((*profiles.shape[:-1], len(self.table)))
        for group in range(len(self.table)):
            totals[..., group] = sum_last(profiles[..., self.members == group])
        return product(totals, self.table.T)[..., self.members]

    def from_others(self, profile: Array) -> Array:
        """The same with the own contribution left out of the own group's total."""
        totals = np.zeros((self.owners, len(self.table)))
        for group in np.unique(self.members):
            own = np.flatnonzero(self.members == group)
            totals[:, group] = sum_last(profile[own])
            totals[own, group] = sum_of_others(profile[own])
        return sum_last(totals * self.table[self.members])

    def own_weights(self, owners: int) -> Array:
        """weights[g_i, g_i]."""
        return np.diagonal(self.table)[self.members]

    def weight_matrix(self, owners: int) -> Array:
        """weights[g_i, g_j]."""
        return self.table[np.ix_(self.members, self.members)]

    def exposure_groups(self, owners: int) -> Groups:
        """The groups that have members."""
        counts = np.bincount(self.members, minlength=len(self.table)).astype(float)
        present = counts > 0
        members = (np.cumsum(present) - 1)[self.members]
        return Groups(self.table[present][:, self.members], counts[present], members)

    def restrict(self, rows: Rows) -> GroupWeighted:
        """The same weights with fewer owners."""
        return GroupWeighted(self.table, self.members[rows], self.scale, self.exponent, self.offset, self.ceiling)


def _power(base: Array, exponent: Any) -> Array:
    """base ** exponent; the two most common exponents without the slow general power."""
    if np.ndim(exponent):
        grown, inverse = np.power(base, exponent), 1.0 / base
        return np.where(exponent == -1.0, inverse, np.where(exponent == -2.0, inverse * inverse, grown))
    if exponent == -1.0:
        return 1.0 / base
    if exponent == -2.0:
        inverse = 1.0 / base
        return inverse * inverse
    return base**exponent


def _check_groups(table: Array, members: Array) -> None:
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InputError(f"group weights must be a square table, got shape {table.shape}; give one row per group")
    check_positive("group weights", table, zero=True)
    if members.ndim != 1 or members.size == 0:
        raise InputError(f"groups must list the group of each owner, got {members!r}; give at least one owner")
    if not np.issubdtype(members.dtype, np.integer) or members.min() < 0 or members.max() >= len(table):
        raise InputError(
            f"groups must be whole numbers from 0 to {len(table) - 1}, got {members.tolist()[:8]}; number them"
        )
