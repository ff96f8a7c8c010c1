"""Partitions that do not look at labels: equal and unequal random parts, and natural users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_number, check_whole
from fedabm.data.partitions.base import Partition, check_owners

__all__ = ["IID", "Natural", "SizeSkew"]


@dataclass(frozen=True)
class IID(Partition):
    """Random parts of equal size (they differ by one sample at most).

    Parameters
    ----------
    owners : int
        How many owners there are.
    """

    owners: int

    def __post_init__(self) -> None:
        check_whole("owners", self.owners)

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels))
        return np.array_split(rng.permutation(len(labels)), self.owners)


@dataclass(frozen=True)
class SizeSkew(Partition):
    """Random parts of unequal size: log-normal with `sigma`, or owner k's share falling as 1 / k^exponent.

    Every owner gets `minimum` samples; the rest is shared in proportion and rounded to the largest remainders.

    Parameters
    ----------
    owners : int
        How many owners there are.
    sigma : float | None, optional
        Standard deviation of the logarithm of sizes.
    exponent : float | None, optional
        Owner k's share falls as 1 / k^exponent.
    minimum : int, optional
        The fewest samples that an owner gets.
    """

    owners: int
    sigma: float | None = None
    exponent: float | None = None
    minimum: int = 10

    def __post_init__(self) -> None:
        if (self.sigma is None) == (self.exponent is None):
            raise InputError(
                f"size skew needs sigma or exponent, got {self.sigma} and {self.exponent}; give one of them"
            )
        check_number("size skew", self.exponent if self.sigma is None else self.sigma, zero=True)

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels), self.minimum)
        if self.exponent is not None:
            weights = np.arange(1, self.owners + 1) ** -float(self.exponent)
        else:
            logs = (self.sigma or 0.0) * rng.standard_normal(self.owners)
            weights = np.exp(logs - logs.max())
        exact = weights / weights.sum() * (len(labels) - self.owners * self.minimum)
        sizes = np.floor(exact).astype(int)
        largest = np.argsort(sizes - exact, kind="stable")
        sizes[largest[: round(exact.sum()) - sizes.sum()]] += 1
        return np.split(rng.permutation(len(labels)), np.cumsum(sizes + self.minimum)[:-1])


@dataclass(frozen=True)
class Natural(Partition):
    """One owner per writer, role, account or domain: the `owners` users with most samples, largest first.

    Users with fewer than `minimum` samples are left out.  With `parts_each` = 2 every user is divided at random between
    two owners, as iPFL does with the four domains of PACS.

    Parameters
    ----------
    owners : int | None, optional
        How many users with most samples; None: all.
    minimum : int, optional
        Users with fewer samples are left out.
    parts_each : int, optional
        Between how many owners every user is divided.
    """

    owners: int | None = None
    minimum: int = 1
    parts_each: int = 1

    def __post_init__(self) -> None:
        check_whole("minimum", self.minimum, 0)
        check_whole("parts_each", self.parts_each)

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        if users is None:
            raise InputError("a natural partition needs the user of every sample; choose a set with users, or IID")
        names, number, sizes = np.unique(users, return_inverse=True, return_counts=True)
        wanted = len(names) if self.owners is None else self._users_wanted(self.owners)
        large = np.argsort(-sizes, kind="stable")[: int((sizes >= max(self.minimum, self.parts_each)).sum())]
        if not len(large) or (self.owners is not None and wanted > len(large)):
            raise InputError(
                f"{wanted} users wanted but {len(large)} have {self.minimum} samples or more; "
                "ask for fewer owners or a smaller minimum"
            )
        order = rng.permutation(len(users))
        order = order[np.argsort(number.reshape(-1)[order], kind="stable")]
        rows = np.split(order, np.cumsum(sizes)[:-1])
        return [part for user in large[:wanted] for part in np.array_split(rows[user], self.parts_each)]

    def _users_wanted(self, owners: int) -> int:
        check_whole("owners", owners)
        if owners % self.parts_each:
            raise InputError(f"{owners} owners cannot share users in {self.parts_each} parts each; take a multiple")
        return owners // self.parts_each
