"""Partitions in which owners lack whole classes, or have them in prescribed shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.data.partitions.base import Partition, check_owners, consecutive, deal, label_rows

__all__ = ["ClassSkew", "LabelMix", "Shards"]


@dataclass(frozen=True)
class ClassSkew(Partition):
    """Classes form consecutive blocks, owners too; an owner has `classes` classes of its block and no other.

    Within a block owners take turns, so that every class is held; its samples are shared equally by the owners that
    hold it.  iPFL 2025 (Skew: 5 classes per owner, two blocks of classes).

    Parameters
    ----------
    owners : int
        How many owners there are.
    classes : int, optional
        How many classes each owner has.
    blocks : int, optional
        Into how many blocks classes are divided.
    """

    owners: int
    classes: int = 5
    blocks: int = 2

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels))
        rows = label_rows(labels, rng)
        sizes = np.array([len(row) for row in rows])
        holds = self._holds(len(rows))
        holders, turn = holds.sum(axis=1, keepdims=True), np.cumsum(holds, axis=1) - 1
        counts = sizes[:, None] // holders + (turn < sizes[:, None] % holders)
        return deal(rows, np.where(holds, counts, 0))

    def _holds(self, labels: int) -> np.ndarray:
        """Which classes (rows) each owner (column) has."""
        if not 1 <= self.blocks <= min(labels, self.owners):
            raise InputError(f"{self.blocks} blocks of {labels} classes and {self.owners} owners; take fewer blocks")
        block_of, group_of = consecutive(labels, self.blocks), consecutive(self.owners, self.blocks)
        sizes, members = np.bincount(block_of), np.bincount(group_of)
        if not 1 <= self.classes <= sizes.min() or (members * self.classes < sizes).any():
            raise InputError(
                f"{self.owners} owners with {self.classes} classes each cannot fill blocks of {sizes.tolist()}; "
                f"give each at most {sizes.min()} classes, and enough to hold all"
            )
        place = np.arange(labels) - np.searchsorted(block_of, block_of)
        start = (np.arange(self.owners) - np.searchsorted(group_of, group_of)) * self.classes
        turn = (place[:, None] - start) % sizes[block_of][:, None]
        return (block_of[:, None] == group_of) & (turn < self.classes)


@dataclass(frozen=True)
class Shards(Partition):
    """Samples sorted by label, cut into owners x per_owner equal shards, dealt at random.  McMahan et al. 2017.

    Parameters
    ----------
    owners : int
        How many owners there are.
    per_owner : int, optional
        How many shards each owner gets.
    """

    owners: int
    per_owner: int = 2

    def __post_init__(self) -> None:
        check_whole("per_owner", self.per_owner)

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        check_owners(self.owners, len(labels), self.per_owner)
        shards = np.array_split(np.concatenate(label_rows(labels, rng)), self.owners * self.per_owner)
        turn = rng.permutation(len(shards)).reshape(self.owners, self.per_owner)
        return [np.concatenate([shards[shard] for shard in mine]) for mine in turn]


@dataclass(frozen=True)
class LabelMix(Partition):
    """Owners of equal size, as large as the set allows; shares[i][k] of owner i's samples have label k.

    ((0.3, 0.7), (0.7, 0.3)) is the setting of Murhekar et al. 2025, Section 5.1, for the two tables: one owner with 70%
    positive samples, the other with 30%.  What does not fit the shares goes to nobody.

    Parameters
    ----------
    shares : tuple[tuple[float, ...], ...]
        Shares[i][k] of owner i's samples have label k.
    """

    shares: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        table = np.asarray(self.shares, dtype=float)
        if table.ndim != 2 or (table < 0).any() or not np.allclose(table.sum(axis=1), 1.0):
            raise InputError(f"shares of labels must be rows that sum to 1, got {self.shares}; give one row per owner")

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        rows, shares = self._rows(labels, rng), np.asarray(self.shares, dtype=float)
        sizes = np.array([len(row) for row in rows])
        wanted = shares.sum(axis=0)
        size = (sizes[wanted > 0] / wanted[wanted > 0]).min()
        return deal(rows, np.floor(shares.T * size + 1e-9).astype(int))

    def drawn(self, labels: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
        """As many of every label as the shares ask for, so that a rare label does not make owners small."""
        mix = np.mean(np.asarray(self.shares, dtype=float), axis=0)
        rows = self._rows(labels, rng)
        return np.concatenate([row[: int(np.ceil(share * samples))] for row, share in zip(rows, mix, strict=True)])

    def _rows(self, labels: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """The positions of every label; each must have its share."""
        rows, shares = label_rows(labels, rng), np.asarray(self.shares, dtype=float)
        if len(rows) != shares.shape[1]:
            raise InputError(f"{shares.shape[1]} shares per owner but {len(rows)} labels; give one share per label")
        return rows
