"""Functions of one contribution x >= 0, tabulated so finely that only rounding is lost.

A smooth function is known by its values at Chebyshev nodes of the octaves [1, 2), [2, 4), ... of y = 1 + scale x.  An
octave is cut into 256 cells, in each of which the function is a polynomial of degree 5.  Cell and place within it are
the leading and the trailing bits of y, so that neither a search nor a logarithm is needed, and what is looked up for
one owner does not depend, to the last bit, on whoever else is.

Sums over owners are the transpose of looking up: sum_j w_j f(x_j) = sum_m W_m f(node_m), whatever f is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fedabm.games.curves import Array

__all__ = ["OctaveGrid", "blocks", "look_up", "trimmed"]

_NODES = 28
_CELL_BITS = 8
_CELLS = 2**_CELL_BITS
_ORDER = 6
#: of a 64-bit number: how many bits say where in its cell y is, and which exponent stands for [1, 2)
_PLACE_BITS = 52 - _CELL_BITS
_FIRST = 1023 << _CELL_BITS
#: this many numbers at a time stay in a processor's cache
_BLOCK = 2**14

Cells = tuple[NDArray[np.int64], Array]


@dataclass(frozen=True)
class OctaveGrid:
    """This many octaves of y = 1 + scale x."""

    scale: float
    octaves: int

    @classmethod
    def up_to(cls, scale: float, most: float, octaves: int) -> OctaveGrid:
        """A grid that contains `most`, unless that takes more than this many octaves."""
        return cls(scale, min(int(np.frexp(1.0 + scale * most)[1]), octaves))

    @property
    def top(self) -> float:
        """Contributions below this are on the grid."""
        return (2.0**self.octaves - 1.0) / self.scale

    @property
    def cells_in_all(self) -> int:
        """How many cells all octaves have."""
        return self.octaves * _CELLS

    @cached_property
    def nodes(self) -> Array:
        """Contributions at which a function must be known, all positive, octave by octave."""
        return ((np.exp2(np.arange(self.octaves))[:, None] * _nodes() - 1.0) / self.scale).ravel()

    def tables(self, values: Array) -> Array:
        """From values at the nodes (f, nodes) to the polynomials of all cells (f, 6, cells)."""
        octaves = values.reshape(-1, _NODES) @ _refinement()
        octaves = octaves.reshape(-1, self.octaves, _ORDER, _CELLS).transpose(0, 2, 1, 3)
        return octaves.reshape(len(octaves), _ORDER, -1)

    def cells(self, x: Array) -> Cells:
        """In which cell each contribution is, and where in it, from -1/2 to 1/2."""
        bits = (1.0 + self.scale * x).view(np.int64)
        place = (bits & ((1 << _PLACE_BITS) - 1)).astype(float)
        place *= 2.0**-_PLACE_BITS
        place -= 0.5
        bits >>= _PLACE_BITS
        bits -= _FIRST
        return bits, place

    def sums(self, x: Array, weights: Array) -> Array:
        """W such that sum_j weights_j f(x_j) = sum_m W_m f(node_m)."""
        cells = self.cells_in_all
        moments = np.zeros((_ORDER, 2 * cells))
        # Owners are added to two tables in turn: a processor waits where the same number changes twice in a row.
        turn = np.arange(min(_BLOCK, len(x))) % 2 * cells
        for part in blocks(len(x)):
            cell, place = self.cells(x[part])
            cell += turn[: len(cell)]
            moment = weights[part].copy()
            for total in moments:
                total += np.bincount(cell, moment, 2 * cells)
                moment *= place
        both = moments.reshape(_ORDER, 2, self.octaves, _CELLS).sum(axis=1)
        return (both.transpose(1, 0, 2).reshape(self.octaves, -1) @ _refinement().T).ravel()

    def errors(self, values: Array) -> Array:
        """How much of positive functions (f, nodes) the polynomials miss at most, relative to them, octave by octave.

        The last coefficients of the polynomials tell whether they have converged; rounding counts by how much a
        function varies within an octave.
        """
        octaves = values.reshape(-1, _NODES)
        missed = np.max(np.abs(octaves @ _last_coefficients()), axis=1) + np.finfo(float).eps * octaves.max(axis=1)
        least = octaves.min(axis=1)
        return np.divide(missed, least, out=np.where(missed > 0, np.inf, 0.0), where=least > 0)


def trimmed(table: Array, reference: Array, error: float) -> Array:
    """A table (6, cells) without the highest powers, if they add at most a share `error` of the `reference`."""
    matters = np.any(np.abs(table) > np.outer(error * 2.0 ** np.arange(len(table)), reference[0]), axis=1)
    return table[: 1 + np.max(np.flatnonzero(matters), initial=0)]


def look_up(table: Array, cells: Cells) -> Array:
    """The function of one table (powers, cells) at all places."""
    cell, place = cells
    found = table[-1].take(cell, mode="clip")
    for coefficients in table[-2::-1]:
        found *= place
        found += coefficients.take(cell, mode="clip")
    return found


def blocks(rows: int, each: int = 1) -> Iterator[slice]:
    """Rows of this many numbers each, a few at a time."""
    together = max(1, _BLOCK // max(each, 1))
    return (slice(start, min(start + together, rows)) for start in range(0, rows, together))


def _angles(points: int) -> NDArray[np.longdouble]:
    return (np.arange(points - 1, -1, -1, dtype=np.longdouble) + 0.5) * (np.arccos(np.longdouble(-1)) / points)


@lru_cache(maxsize=1)
def _nodes() -> Array:
    """Chebyshev nodes of [1, 2]."""
    return (1.5 + 0.5 * np.cos(_angles(_NODES))).astype(float)


@lru_cache(maxsize=1)
def _refinement() -> Array:
    """From values at the nodes of an octave to the coefficients of its cells (28, 6 * 256), degree by degree.

    The polynomial through the nodes (in barycentric form) is taken at six Chebyshev points of each cell, and the
    polynomial through these is written in powers.
    """
    angles = _angles(_NODES)
    points = 0.5 * np.cos(_angles(_ORDER))
    at = 1.0 + (np.arange(_CELLS)[:, None] + 0.5 + points) / _CELLS
    pull = np.sin(angles) * (-1.0) ** np.arange(_NODES) / (at[..., None] - _nodes())
    through_nodes = pull / pull.sum(axis=-1, keepdims=True)
    in_powers = [np.poly(np.delete(points, k)) / np.prod(points[k] - np.delete(points, k)) for k in range(_ORDER)]
    table = np.einsum("cpm,pd->mdc", through_nodes, np.array(in_powers)[:, ::-1])
    return np.ascontiguousarray(table.reshape(_NODES, -1), dtype=float)


@lru_cache(maxsize=1)
def _last_coefficients() -> Array:
    """From values at the nodes of an octave to the last two coefficients of its Chebyshev series (28, 2)."""
    degrees = np.array([_NODES - 2, _NODES - 1])
    return (2.0 / _NODES * np.cos(_angles(_NODES)[:, None] * degrees)).astype(float)
