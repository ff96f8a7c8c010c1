"""A column that holds few different things, such as names or strategies: each thing once, and a number per row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coded"]


@dataclass(frozen=True, eq=False)
class Coded:
    """Row k holds `values[codes[k]]`.

    >>> column = Coded.of(["trader", "buyer", "trader"])
    >>> column[2], column.values, column.with_value(1, "seller")[1]
    ('trader', ('trader', 'buyer'), 'seller')
    """

    values: tuple[Any, ...]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, items: Iterable[Hashable]) -> Coded:
        """One row per item; of equal items the first is kept."""
        places: dict[Hashable, int] = {}
        codes = [places.setdefault(item, len(places)) for item in items]
        return cls(tuple(places), np.array(codes, dtype=np.int32))

    @classmethod
    def same(cls, value: Any, rows: int) -> Coded:
        """The same in every row."""
        return cls((value,), np.zeros(rows, dtype=np.int32))

    @classmethod
    def joined(cls, parts: Iterable[Coded]) -> Coded:
        """The rows of several columns, one after the other."""
        places: dict[Hashable, int] = {}
        codes = []
        for part in parts:
            ours = [places.setdefault(value, len(places)) for value in part.values]
            codes.append(np.array(ours, dtype=np.int32)[part.codes])
        return cls(tuple(places), np.concatenate(codes))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> Any:
        return self.values[self.codes[row]]

    def __iter__(self) -> Iterator[Any]:
        return (self.values[code] for code in self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coded) or len(self) != len(other):
            return False
        ours = np.array([self._code(value) for value in other.values], dtype=np.int32)
        return bool(np.array_equal(self._plain, ours[other.codes]))

    def __hash__(self) -> int:
        return hash(len(self))

    @property
    def _plain(self) -> NDArray[np.int32]:
        """Codes in which equal values have the number of the first of them."""
        return np.array([self._code(value) for value in self.values], dtype=np.int32)[self.codes]

    def _code(self, value: Any) -> int:
        """The number of a value; -1 if it is not among them."""
        return self.values.index(value) if value in self.values else -1

    def take(self, rows: Any) -> Coded:
        """Some rows."""
        return Coded(self.values, self.codes[rows])

    def with_value(self, row: int, value: Any) -> Coded:
        """The same with another value in a row; the row after the last is a new one."""
        code = self._code(value)
        values = self.values if code >= 0 else (*self.values, value)
        codes = np.append(self.codes, np.int32(0)) if row == len(self) else self.codes.copy()
        codes[row] = code if code >= 0 else len(self.values)
        return Coded(values, codes)
