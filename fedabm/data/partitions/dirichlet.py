"""Labels dealt in Dirichlet proportions, to owners or to groups of owners first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_whole
from fedabm.data.partitions.base import Partition, check_owners, consecutive, deal, label_rows

__all__ = ["Clusters", "Dirichlet"]

_ATTEMPTS = 1000
_RULES = ("plain", "ipfl")


@dataclass(frozen=True)
class Dirichlet(Partition):
    """Every class is dealt in proportions drawn from Dirichlet(alpha, ..., alpha); drawn anew until all have `minimum`.

    rule "plain": the proportions as drawn.  Hsu et al. 2019.
    rule "ipfl": class after class, an owner that already has its equal share N / n or more gets nothing of the next
    class and the others' proportions are scaled up.  iPFL 2025 (NIID: alpha = 0.1), after Li et al. 2022.

    Parameters
    ----------
    owners : int
        How many owners there are.
    alpha : float, optional
        Concentration; the smaller, the more owners differ.
    minimum : int, optional
        The fewest samples that an owner gets.
    rule : str, optional
        "plain" as drawn, "ipfl" as in iPFL 2025.
    """

    owners: int
    alpha: float = 0.1
    minimum: int = 10
    rule: str = "plain"

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        _check_rule(self.rule)

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels), self.minimum)
        rows = label_rows(labels, rng)
        return deal(rows, _counts(rows, np.ones(self.owners, dtype=int), self.alpha, self.minimum, self.rule, rng))


@dataclass(frozen=True)
class Clusters(Partition):
    """Groups of owners alike inside and different outside: Dirichlet(between) over groups, Dirichlet(within) in each.

    Owners form consecutive groups of nearly equal size.  iPFL 2025 (Cluster: 3 groups, 0.1 between, 10 within).

    Parameters
    ----------
    owners : int
        How many owners there are.
    groups : int, optional
        How many groups of owners.
    between : float, optional
        Concentration over groups; small: groups differ much.
    within : float, optional
        Concentration inside a group; large: owners are alike.
    minimum : int, optional
        The fewest samples that an owner gets.
    rule : str, optional
        "ipfl" as in iPFL 2025, "plain" as drawn.
    """

    owners: int
    groups: int = 3
    between: float = 0.1
    within: float = 10.0
    minimum: int = 10
    rule: str = "ipfl"

    def __post_init__(self) -> None:
        check_positive("between and within", [self.between, self.within])
        _check_rule(self.rule)
        check_whole("groups", self.groups)
        if not 1 <= self.groups <= self.owners:
            raise InputError(f"{self.groups} groups of {self.owners} owners; give at least one owner per group")

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels), self.minimum)
        rows, sizes = label_rows(labels, rng), np.bincount(consecutive(self.owners, self.groups))
        groups = deal(rows, _counts(rows, sizes, self.between, self.minimum, self.rule, rng))
        found: list[np.ndarray] = []
        for mine, size in zip(groups, sizes, strict=True):
            inside = Dirichlet(int(size), self.within, self.minimum, self.rule)
            found += [mine[part] for part in inside.parts(labels[mine], None, rng)]
        return found


def _check_rule(rule: str) -> None:
    if rule not in _RULES:
        raise InputError(f"unknown Dirichlet rule {rule!r}; choose one of: {', '.join(_RULES)}")


def _counts(
    rows: list[np.ndarray], members: np.ndarray, alpha: float, minimum: int, rule: str, rng: np.random.Generator
) -> np.ndarray:
    """How many samples of every class (row) each receiver (column, of `members` owners) gets."""
    sizes = np.array([len(row) for row in rows])
    fair = members / members.sum() * sizes.sum()
    for _ in range(_ATTEMPTS):
        shares = rng.dirichlet(np.full(len(members), alpha), size=len(sizes))
        counts = _capped(shares, sizes, fair) if rule == "ipfl" else _cut(shares, sizes)
        if (counts.sum(axis=0) >= minimum * members).all():
            return counts
    raise InputError(
        f"no Dirichlet({alpha:g}) draw out of {_ATTEMPTS} left {minimum} samples to each of {members.sum()} owners; "
        "take a larger alpha, a smaller minimum or fewer owners"
    )


def _capped(shares: np.ndarray, sizes: np.ndarray, fair: np.ndarray) -> np.ndarray:
    """iPFL's rule: whoever has its fair share gets no more."""
    counts = np.zeros(shares.shape, dtype=int)
    for k, size in enumerate(sizes):
        open_to = counts.sum(axis=0) < fair
        share = np.where(open_to, shares[k], 0.0)
        # A tiny alpha can put all of the draw on owners that are full.
        share = share if share.sum() > 0 else open_to.astype(float)
        counts[k] = _cut(share[None] / share.sum(), np.array([size]))[0]
    return counts


def _cut(shares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Whole numbers that sum to `sizes`, by rounding down the running sums."""
    ends = np.floor(np.cumsum(shares, axis=1) * sizes[:, None] + 1e-9).astype(int)
    ends[:, -1] = sizes
    return np.diff(np.minimum(ends, sizes[:, None]), axis=1, prepend=0)
