"""Arrays as fields of frozen dataclasses: read-only, compared and hashed by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError

__all__ = ["FrozenArray"]


class FrozenArray:
    """A read-only copy of an array that is equal to another one with the same numbers.

    >>> FrozenArray([1.0]) == FrozenArray(np.ones(1)), hash(FrozenArray([1.0])) == hash(FrozenArray(np.ones(1)))
    (True, True)
    """

    def __init__(self, numbers: Any, what: str = "table") -> None:
        try:
            array = np.array(numbers.array if isinstance(numbers, FrozenArray) else numbers)
        except ValueError:
            raise InputError(f"{what} must have rows of equal length, got {_short(numbers)}; fill the gaps") from None
        if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
            raise InputError(f"{what} must hold numbers, got {_short(numbers)}; give a list or an array of numbers")
        self._array = array.astype(np.intp if np.issubdtype(array.dtype, np.integer) else float)
        self._array.setflags(write=False)

    @property
    def array(self) -> NDArray[Any]:
        """The numbers, not writeable."""
        return self._array

    def tolist(self) -> list[Any]:
        """The numbers as nested lists."""
        return self._array.tolist()

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._array.astype(dtype or self._array.dtype, copy=bool(copy))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and np.array_equal(self._array, other._array)

    def __hash__(self) -> int:
        # Equal numbers must hash equally: whole numbers count as floats and -0.0 as 0.0.
        return hash((self._array.shape, (self._array.astype(float) + 0.0).tobytes()))

    def __repr__(self) -> str:
        return f"FrozenArray({np.array2string(self._array, threshold=20, separator=', ')})"

    def __reduce__(self) -> tuple[type[FrozenArray], tuple[NDArray[Any]]]:
        return FrozenArray, (self._array,)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
