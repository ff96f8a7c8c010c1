"""A curve that a pilot has left uncertain: the best estimate of its parameters, and draws of what they may be.

    [accuracy]
    kind = "calibrated"
    best = { kind = "power_law", scale = 0.62, exponent = 0.41, offset = 12.0, ceiling = 0.93 }
    draws = "pilot.draws.csv"      # a column per parameter that is uncertain, a row per draw
    trusted = 9000.0               # the largest total of data for which the curve is meant

`fedabm calibrate pilot.csv` writes it.  In place of a file the draws may stand there themselves, as a table of lists:
`draws = { scale = [0.61, 0.64], exponent = [0.40, 0.43] }`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedabm.common.errors import InputError, check_kind, finite_vector, nearest
from fedabm.common.sheet import read_sheet
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Rows
from fedabm.games.traits import forward

__all__ = ["MOST_DRAWS", "Calibrated", "Draws"]

#: more draws than this make files long and commands slow, and tell nothing more
MOST_DRAWS = 1000


class Draws(Mapping[str, Array]):
    """Numbers of parameters by name, (k,) each: entry d of all of them together is one draw.  Read-only, hashable.

    >>> draws = Draws({"scale": [0.5, 0.6], "ceiling": [0.9, 0.95]})
    >>> draws.count, draws.row(1), draws == Draws({"scale": [0.5, 0.6], "ceiling": [0.9, 0.95]})
    (2, {'scale': 0.6, 'ceiling': 0.95}, True)

    Parameters
    ----------
    columns : Mapping[str, Any]
        Numbers by parameter, each of shape (draws,).
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: FrozenArray(finite_vector(f"draws of {name}", one)) for name, one in columns.items()}
        counts = {len(one) for one in self._columns.values()}
        if len(counts) > 1:
            raise InputError(f"draws of {', '.join(columns)} have lengths {sorted(counts)}; give as many of each")
        self.count = counts.pop() if counts else 0
        if not 1 <= self.count <= MOST_DRAWS:
            raise InputError(f"draws must be from 1 to {MOST_DRAWS}, got {self.count}; run fedabm calibrate")

    def row(self, draw: int) -> dict[str, float]:
        """The parameters of one draw."""
        return {name: float(one.array[draw]) for name, one in self._columns.items()}

    def __getitem__(self, name: str) -> Array:
        return self._columns[name].array

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Draws) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._columns.items(), key=lambda one: one[0])))

    def __repr__(self) -> str:
        return f"Draws({self.count} of {', '.join(self)})"


@dataclass(frozen=True)
class Calibrated(Accuracy):
    """The curve `best` to whoever asks for one curve, and `draws` of its parameters to whoever asks how sure we are.

    Everything that an accuracy can be asked is answered by `best`; `draw(d)` and `drawn` are the same curve with
    drawn parameters.  Beyond a total of `trusted` units of data nobody has seen what it says.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> curve = Calibrated(PowerLaw(ceiling=0.9), {"ceiling": [0.85, 0.95]}, trusted=100.0)
    >>> curve.values(np.array([[1.0, 3.0]])), curve.draw(0)
    (array([[0.7, 0.7]]), PowerLaw(scale=1.0, exponent=1.0, offset=1.0, ceiling=0.85))

    Parameters
    ----------
    best : Accuracy
        The curve by the best estimate.
    draws : Path | dict[str, tuple[float, ...]]
        Draws of its parameters by name, or a CSV file of them.
    trusted : float, optional
        Total of data up to which the curve was seen.
    """

    best: Accuracy
    if TYPE_CHECKING:
        draws: Any
    else:
        draws: Path | dict[str, tuple[float, ...]]  # as it is given; afterwards it is a `Draws`
    trusted: float = np.inf

    def __post_init__(self) -> None:
        check_kind("the best estimate", self.best, Accuracy)
        if not self.trusted > 0:
            raise InputError(f"trusted must be a positive total of data, got {self.trusted}; leave it out if unknown")
        draws: Any = self.draws
        if not isinstance(draws, Draws):
            draws = Draws(_read(Path(draws)) if isinstance(draws, str | Path) else draws)
        known = _numbers_of(self.best)
        for name in draws:
            if name not in known:
                kind = type(self.best).__name__
                raise InputError(f"draws of {name!r}, which is no number that {kind} has; {nearest(name, known)}")
        object.__setattr__(self, "draws", draws)
        _ = self.drawn  # a draw that is no curve is refused here

    @property
    def owners(self) -> int | None:
        """For how many owners it is defined; None: for any number."""
        return self.best.owners

    @property
    def drawn(self) -> tuple[Accuracy, ...]:
        """The curve of every draw."""
        return tuple(self.draw(number) for number in range(self.draws.count))

    def draw(self, number: int) -> Accuracy:
        """The curve with the parameters of one draw, from 0 on."""
        return replace(self.best, **self.draws.row(number))  # type: ignore[type-var]

    def values(self, profiles: Array) -> Array:
        """Those of the best estimate."""
        return self.best.values(profiles)

    def restrict(self, rows: Rows) -> Calibrated:
        """The best estimate with fewer owners; what is uncertain stays."""
        return replace(self, best=self.best.restrict(rows))

    def beyond(self, total: float) -> str:
        """A line where this much data is more than the curve is trusted for, else nothing."""
        if total <= self.trusted * (1 + 1e-9):
            return ""
        return (
            f"owners have {total:,.6g} units of data, and the curve is trusted up to {self.trusted:,.6g}: beyond that "
            "nobody has seen what it says"
        )


def _numbers_of(curve: Accuracy) -> list[str]:
    """The parameters of a curve that are single numbers."""
    if not is_dataclass(curve):
        return []
    return [one.name for one in fields(curve) if one.init and type(getattr(curve, one.name)) in (int, float)]


def _read(path: Path) -> dict[str, Array]:
    sheet = read_sheet(path)
    sheet.check(())
    return {name: sheet.numbers(name) for name in sheet.columns}


def _as_the_best(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def asked(self: Calibrated, *given: Any, **named: Any) -> Any:
        return getattr(self.best, name)(*given, **named)

    return asked


forward(Calibrated, Accuracy, "best", _as_the_best)
