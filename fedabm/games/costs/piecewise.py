"""Costs of straight pieces with kinks and jumps: discs to buy, overtime, a table of measured costs.

    c(s) = fixed + sum_k bend_k max(s - start_k, 0) + sum_{k: s > start_k} jump_k,       all numbers >= 0

A jump is paid beyond its start, not at it: who contributes nothing does not pay for starting.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_positive, finite_vector
from fedabm.games.costs.base import Cost, Flags
from fedabm.games.curves import Array, Rows, align_rows

__all__ = ["Piecewise", "PiecewiseCost", "Tabulated"]

#: slopes that fall by a smaller share than this do so by rounding
_ROUNDING = 1e-9


@final
@dataclass(frozen=True)
class PiecewiseCost(Cost):
    """Straight pieces from their `starts` on; use `Piecewise` or `Tabulated` to make one.

    `starts`, `bends` (how much steeper it gets there) and `jumps` are tuples for one owner, or arrays (n, pieces) with
    starts at infinity where an owner has fewer pieces.

    Parameters
    ----------
    starts : Any
        Where pieces start, for one owner or of shape (owners, pieces).
    bends : Any
        How much steeper it gets there.
    jumps : Any
        What is paid once beyond each start.
    fixed : Any, optional
        What is paid even at 0.
    """

    starts: Any
    bends: Any
    jumps: Any
    fixed: Any = 0.0
    closed = True
    straight = True

    def __init_subclass__(cls) -> None:
        raise InputError(f"{cls.__name__} would be charged as a PiecewiseCost; write a subclass of Cost with value(x)")

    def value(self, x: Array) -> Array:
        """c(x); at a jump what is paid before it."""
        total = np.broadcast_to(align_rows(self.fixed, x), x.shape).astype(float)
        for start, bend, jump in self._pieces(x):
            total += bend * np.maximum(x - start, 0.0) + np.where(x > start, jump, 0.0)
        return total

    def slope(self, x: Array) -> Array:
        """c'(x), from the right."""
        return sum((np.where(x >= start, bend, 0.0) for start, bend, _ in self._pieces(x)), np.zeros(x.shape))

    def curvature(self, x: Array) -> Array:
        """Zero between the kinks."""
        return np.zeros(x.shape)

    def kinks(self, owners: int) -> Array:
        """Where a piece starts; at 0 only if the cost jumps there."""
        starts, jumps = np.atleast_2d(self.starts), np.atleast_2d(self.jumps)
        inside = np.where((starts > 0) | (jumps > 0), starts, np.inf)
        inside = inside[:, np.any(np.isfinite(inside), axis=0)]
        return np.broadcast_to(inside, (owners, inside.shape[1])).copy()

    def scaled(self, factor: float) -> PiecewiseCost:
        """The cost multiplied by a factor, as a liar would state it."""
        if self.owners is not None:
            with np.errstate(over="ignore"):  # what is infinite is refused in one line
                return PiecewiseCost(self.starts, factor * self.bends, factor * self.jumps, factor * self.fixed)
        bends, jumps = (tuple(factor * number for number in numbers) for numbers in (self.bends, self.jumps))
        return PiecewiseCost(self.starts, bends, jumps, factor * self.fixed)

    def _pieces(self, x: Array) -> Iterator[tuple[Any, Any, Any]]:
        """Start, bend and jump of every piece, shaped like x."""
        if self.owners is None:
            return zip(self.starts, self.bends, self.jumps, strict=True)
        columns = ((align_rows(column, x) for column in part.T) for part in (self.starts, self.bends, self.jumps))
        return zip(*columns, strict=True)

    @property
    def columns(self) -> tuple[NDArray, ...]:
        """Starts, bends, jumps and fixed parts."""
        return tuple(np.asarray(part) for part in (self.starts, self.bends, self.jumps, self.fixed))

    @property
    def owners(self) -> int | None:
        """How many rows its arrays have."""
        return len(self.starts) if np.ndim(self.starts) > 1 else None

    @property
    def family(self) -> Hashable:
        """All of them."""
        return PiecewiseCost

    def take(self, rows: Rows) -> PiecewiseCost:
        """The costs of some owners only."""
        return self if self.owners is None else PiecewiseCost(*(part[rows] for part in self.columns))

    def each(self, owners: int) -> PiecewiseCost:
        """The same with arrays throughout."""
        return self if self.owners is not None else self.concatenated([self] * owners)

    def concatenated(self, others: Sequence[PiecewiseCost]) -> PiecewiseCost:
        """One row per owner, as wide as the one with the most pieces."""
        width = max(np.shape(other.starts)[-1] for other in others)
        parts = [(other.starts, other.bends, other.jumps) for other in others]
        starts, bends, jumps = (
            np.concatenate([_filled(part, width, empty) for part in column])
            for column, empty in zip(zip(*parts, strict=True), (np.inf, 0.0, 0.0), strict=True)
        )
        return PiecewiseCost(starts, bends, jumps, np.hstack([other.fixed for other in others]).astype(float))

    def figures(self) -> Array:
        """Fixed part, bends and jumps."""
        return np.column_stack([np.atleast_1d(self.fixed), np.atleast_2d(self.bends), np.atleast_2d(self.jumps)])

    def same_family(self, other: Cost) -> bool | Flags:
        """Whose pieces start at the same contributions."""
        if not isinstance(other, PiecewiseCost):
            return False
        width = max(np.shape(self.starts)[-1], np.shape(other.starts)[-1])
        return np.all(_filled(self.starts, width, np.inf) == _filled(other.starts, width, np.inf), axis=1)


def _filled(part: Any, width: int, empty: float) -> Array:
    """Rows of numbers, filled up to a width."""
    rows = np.atleast_2d(np.asarray(part, dtype=float))
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=empty)


def Piecewise(starts: Any, slopes: Any, jumps: Any = 0.0, fixed: float = 0.0) -> PiecewiseCost:
    """A unit costs slopes[k] from starts[k] on, and whoever goes beyond starts[k] pays jumps[k] once.

    The first piece starts at 0, where a jump is the cost of starting; `fixed` is paid even at 0.  Slopes must not fall.

    >>> Piecewise(starts=[0, 10], slopes=[0.1, 0.5], jumps=[2, 0]).value(np.array([0.0, 5.0, 20.0]))
    array([0. , 2.5, 8. ])

    Parameters
    ----------
    starts : Any
        Where pieces start; the first at 0.
    slopes : Any
        Cost of a further unit in each piece; must not fall.
    jumps : Any, optional
        What is paid once beyond each start.
    fixed : float, optional
        What is paid even at 0.

    Returns
    -------
    PiecewiseCost
        The cost function.
    """
    starts = finite_vector("starts of the pieces", starts)
    slopes, jumps = _per_piece("slopes", slopes, len(starts)), _per_piece("jumps", jumps, len(starts))
    if not len(starts) or starts[0] != 0 or np.any(np.diff(starts) <= 0):
        raise InputError(f"pieces must start at 0 and then at larger contributions, got {starts.tolist()}; sort them")
    check_positive("fixed cost", fixed, zero=True)
    check_positive("slopes of a cost", slopes, zero=True)
    check_positive("jumps of a cost", jumps, zero=True)
    bends = np.diff(slopes, prepend=0.0)
    falls = bends < -_ROUNDING * slopes.max()
    if np.any(falls):
        piece = int(np.argmax(falls))
        fall = f"from {slopes[piece - 1]:g} to {slopes[piece]:g} at {starts[piece]:g}"
        raise InputError(f"a cost must be convex but for jumps, its slope falls {fall}; let slopes rise")
    bends = np.maximum(bends, 0.0)
    return PiecewiseCost(tuple(starts.tolist()), tuple(bends.tolist()), tuple(jumps.tolist()), float(fixed))


def _per_piece(what: str, numbers: Any, pieces: int) -> Array:
    vector = finite_vector(what, numbers)
    if vector.size not in (1, pieces):
        raise InputError(f"{vector.size} {what} but {pieces} pieces; give one per start")
    return np.broadcast_to(vector, pieces)


def Tabulated(points: Any, costs: Any) -> PiecewiseCost:
    """Straight lines between measured costs; a point that is given twice is a jump: the cost there, and beyond it.

    The first point is 0; beyond the last one the cost goes on as before it.

    >>> Tabulated(points=[0, 10, 10, 20], costs=[0, 1, 4, 6]).value(np.array([5.0, 10.0, 15.0, 30.0]))
    array([0.5, 1. , 5. , 8. ])

    Parameters
    ----------
    points : Any
        Contributions, from 0 on; twice the same one is a jump.
    costs : Any
        The cost at each of them.

    Returns
    -------
    PiecewiseCost
        The cost function.
    """
    points, costs = finite_vector("points", points), finite_vector("costs", costs)
    if len(points) != len(costs) or len(points) < 2:
        raise InputError(f"{len(points)} points but {len(costs)} costs; give one cost per point, and two or more")
    apart, rise = np.diff(points), np.diff(costs)
    jump = apart == 0
    if points[0] != 0 or np.any(apart < 0) or np.any(jump[1:] & jump[:-1]) or jump[-1]:
        wanted = "from 0 upwards, none of them three times and the last one once"
        raise InputError(f"points of a cost must go {wanted}, got {points.tolist()}; sort them")
    if np.any(rise < 0):
        fall = int(np.argmax(rise < 0))
        raise InputError(f"a cost must not fall, got {costs[fall]:g} and then {costs[fall + 1]:g}; mend the table")
    pieces = np.flatnonzero(~jump)
    before = np.where(jump, rise, 0.0)[pieces - 1]  # what is paid between this piece and the one before
    jumps = np.where(pieces > 0, before, 0.0)
    with np.errstate(over="ignore"):  # what is infinite is refused in one line
        slopes = rise[pieces] / apart[pieces]
    return Piecewise(points[pieces], slopes, jumps, costs[0])
