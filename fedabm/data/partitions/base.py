"""What a partition is: a rule that deals samples to owners."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_whole
from fedabm.data.datasets.base import Dataset

__all__ = ["Partition", "check_owners", "consecutive", "deal", "label_rows"]


class Partition(ABC):
    """Deals the samples of a set to owners; no sample goes to two of them."""

    def split(
        self, data: Dataset | np.ndarray, rng: np.random.Generator, users: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """The sorted positions of every owner's samples, for a dataset or for labels alone."""
        labels = data.y if isinstance(data, Dataset) else np.asarray(data)
        check_kind("rng", rng, np.random.Generator)
        if users is None and isinstance(data, Dataset):
            users = data.users
        if labels.ndim != 1 or not len(labels):
            raise InputError(f"no samples to divide, labels have shape {labels.shape}; give one label per sample")
        if users is not None and len(users) != len(labels):
            raise InputError(f"{len(labels)} labels but {len(users)} users; give one per sample")
        return [np.sort(part) for part in self.parts(labels, users, rng)]

    @abstractmethod
    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        """Every owner's positions, in any order."""

    def drawn(self, labels: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
        """The positions of a random part of a set that is to be dealt: `samples` of them, or all that there are."""
        return rng.permutation(len(labels))[:samples]

    def transform(self, x: np.ndarray, owner: int, owners: int) -> np.ndarray:
        """What this owner's samples look like; unchanged in most partitions."""
        return x


def check_owners(owners: int, samples: int, minimum: int = 1) -> None:
    """Raise unless every owner can have `minimum` samples."""
    check_whole("owners", owners)
    check_whole("minimum", minimum, 0)
    if owners * minimum > samples:
        raise InputError(
            f"{samples} samples are too few for {owners} owners with at least {minimum} each; "
            "take fewer owners or a larger set"
        )


def label_rows(labels: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """For every label that occurs, its positions in random order."""
    if labels.dtype.kind == "f":
        raise InputError("this partition needs class labels, got targets of a regression; use IID or SizeSkew")
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return np.split(order, np.cumsum(np.unique(labels, return_counts=True)[1])[:-1])


def deal(rows: list[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
    """Give owner i the next counts[k, i] positions of rows[k], for every k; what is left over goes to nobody."""
    cuts = np.cumsum(counts, axis=1)
    pieces = [np.split(row, cut)[:-1] for row, cut in zip(rows, cuts, strict=True)]
    return [np.concatenate(mine) for mine in zip(*pieces, strict=True)]


def consecutive(items: int, groups: int) -> np.ndarray:
    """The group of every item: consecutive groups of nearly equal size.

    >>> consecutive(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    return np.arange(items) * groups // items if items else np.zeros(0, dtype=int)
