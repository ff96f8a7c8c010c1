"""Curves of the total, one per game: what many games ask of their accuracies at once.

A table of games is (games, owners).  Row g of `Laws` is the curve v_g of game g, which serves all of its owners; once
single owners have been taken, rows are theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Places
from fedabm.games.accuracy.base import Exposure

__all__ = ["EachLaw", "Laws", "PowerLaws", "laws_of"]


class Laws(ABC):
    """One curve per row; x is (rows, ...), and row r of an answer is that of curve r."""

    @abstractmethod
    def value(self, x: Array) -> Array:
        """v(x)."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """v'(x)."""

    @abstractmethod
    def curvature(self, x: Array) -> Array:
        """v''(x)."""

    @abstractmethod
    def take(self, rows: Places) -> Laws:
        """Some of the curves, in this order."""

    @property
    @abstractmethod
    def viable(self) -> Array:
        """Where each leaves zero, (rows,)."""


@dataclass(frozen=True)
class PowerLaws(Laws):
    """v(x) = max(0, ceiling - scale (x + offset)^-exponent), one entry per row."""

    scale: Array
    exponent: Array
    offset: Array
    ceiling: Array
    least: Array

    @property
    def viable(self) -> Array:
        """As `PowerLaw.viable`."""
        return self.least

    def value(self, x: Array) -> Array:
        scale, exponent, offset, ceiling, _ = self._columns(x)
        with np.errstate(divide="ignore"):
            return np.maximum(ceiling - scale * (x + offset) ** -exponent, 0.0)

    def slope(self, x: Array) -> Array:
        scale, exponent, offset, _, least = self._columns(x)
        with np.errstate(divide="ignore"):
            steep = scale * exponent * (x + offset) ** (-exponent - 1.0)
        return np.where(x >= least, steep, 0.0) if np.any(self.least > 0) else steep

    def curvature(self, x: Array) -> Array:
        scale, exponent, offset, _, least = self._columns(x)
        with np.errstate(divide="ignore"):
            bend = -scale * exponent * (exponent + 1.0) * (x + offset) ** (-exponent - 2.0)
        return np.where(x >= least, bend, 0.0)

    def take(self, rows: Places) -> PowerLaws:
        return PowerLaws(*(part[rows] for part in self._parts))

    @property
    def _parts(self) -> tuple[Array, ...]:
        return self.scale, self.exponent, self.offset, self.ceiling, self.least

    def _columns(self, x: Array) -> list[Array]:
        shape = (-1, *(1,) * (x.ndim - 1))
        return [part.reshape(shape) for part in self._parts]


@dataclass(frozen=True)
class EachLaw(Laws):
    """Curves of any kind: `which` says for every row which of `curves` it is; they are asked one after the other."""

    curves: tuple[Exposure, ...]
    which: Places

    @property
    def viable(self) -> Array:
        """What each curve says."""
        return np.array([one.viable for one in self.curves])[self.which]

    def value(self, x: Array) -> Array:
        return self._asked("curve", x)

    def slope(self, x: Array) -> Array:
        return self._asked("curve_slope", x)

    def curvature(self, x: Array) -> Array:
        return self._asked("curve_curvature", x)

    def take(self, rows: Places) -> EachLaw:
        return EachLaw(self.curves, self.which[rows])

    def _asked(self, question: str, x: Array) -> Array:
        found = np.empty(x.shape)
        for place, one in enumerate(self.curves):
            mine = self.which == place
            if np.any(mine):
                found[mine] = getattr(one, question)(x[mine])
        return found


def laws_of(curves: Sequence[Exposure]) -> Laws:
    """The curves of many games, together where they are of one closed family."""
    known = [one.power_law for one in curves]
    if all(one is not None for one in known):
        columns = np.array([(*one, curve.viable) for one, curve in zip(known, curves, strict=True)])  # type: ignore[misc]
        return PowerLaws(*columns.T.astype(float))
    numbers: dict[Any, int] = {}
    which = [numbers.setdefault(one, len(numbers)) for one in curves]
    return EachLaw(tuple(numbers), np.array(which, dtype=np.intp))
