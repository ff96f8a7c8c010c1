"""Shares that behave as a plain array and remember how they were found."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.games.curves import Array

__all__ = ["Shares"]


class Shares(np.ndarray):
    """One number per owner, with the `method` that found it.

    Sampled shares carry their `standard_errors` and the number of `permutations`; both are None for exact ones.
    Arithmetic gives plain arrays back: a sum of shares no longer comes from one method.
    """

    method: str
    standard_errors: Array | None
    permutations: int | None

    def __new__(
        cls, values: Array, method: str, standard_errors: Array | None = None, permutations: int | None = None
    ) -> Shares:
        shares = np.asarray(values, dtype=float).view(cls)
        shares.method = method
        shares.standard_errors = standard_errors
        shares.permutations = permutations
        return shares

    def times(self, factor: float) -> Shares:
        """As many times these shares, found the same way, with errors as many times as large."""
        errors = None if self.standard_errors is None else abs(factor) * self.standard_errors
        return Shares(factor * np.asarray(self), self.method, errors, self.permutations)

    def __array_finalize__(self, source: Any) -> None:
        self.method = getattr(source, "method", "")
        self.standard_errors = getattr(source, "standard_errors", None)
        self.permutations = getattr(source, "permutations", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> Any:
        return Shares, (np.asarray(self), self.method, self.standard_errors, self.permutations)
