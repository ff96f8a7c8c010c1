"""A set of samples in memory, as NumPy arrays; networks and devices come later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.common.errors import InputError

__all__ = ["Dataset", "standardise"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples `x` with labels or targets `y`.

    >>> tiny = Dataset("tiny", np.zeros((3, 2), np.float32), np.array([0, 1, 1]), classes=2)
    >>> len(tiny), tiny.shape, tiny.subset([2]).y.tolist()
    (3, (2,), [1])

    Parameters
    ----------
    name : str
        What the set is called.
    x : np.ndarray
        Uint8 images (N, C, H, W), float32 tables (N, F), or int32 sequences of tokens (N, L).
    y : np.ndarray
        Int64 labels in 0 .. classes - 1, or float32 targets if `classes` is None.
    classes : int | None
        How many labels there are, or None for regression.
    users : np.ndarray | None, optional
        The natural owner of every sample (writer, role, account, domain), or None.
    split : np.ndarray | None, optional
        True where the publisher put the sample into the test part, or None.
    tokens : int | None, optional
        How many different tokens a sequence can hold, or None.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    classes: int | None
    users: np.ndarray | None = None
    split: np.ndarray | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for what, column in (("y", self.y), ("users", self.users), ("split", self.split)):
            if column is not None and len(column) != len(self.x):
                raise InputError(f"{self.name}: {len(self.x)} samples but {len(column)} {what}; give one per sample")
        if self.classes is not None and len(self.y) and not 0 <= self.y.min() <= self.y.max() < self.classes:
            raise InputError(
                f"{self.name}: labels must lie in 0 .. {self.classes - 1}, got {self.y.min()} .. {self.y.max()}; "
                "check the label column"
            )
        if self.x.dtype.kind == "f" and not np.isfinite(self.x).all():
            raise InputError(f"{self.name}: a feature is NaN or infinite; remove or fill those rows")

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self.x.shape[1:]

    @property
    def train(self) -> Dataset:
        """What the publisher meant for training; everything, if it does not say."""
        return self if self.split is None else self.subset(~self.split)

    @property
    def test(self) -> Dataset:
        """The publisher's test part."""
        if self.split is None:
            raise InputError(f"{self.name} has no official test part; hold out a share of every owner's data instead")
        return self.subset(self.split)

    def subset(self, indices: np.ndarray | list[int] | slice) -> Dataset:
        """The samples at `indices` (numbers or a mask), in that order; not to be changed in place."""
        where = _run_of(indices)
        users = None if self.users is None else self.users[where]
        split = None if self.split is None else self.split[where]
        return replace(self, x=self.x[where], y=self.y[where], users=users, split=split)


def _run_of(indices: np.ndarray | list[int] | slice) -> np.ndarray | list[int] | slice:
    """A mask that is one run of samples as a slice, which copies nothing: test parts mostly come last."""
    if isinstance(indices, slice) or not len(indices) or np.asarray(indices).dtype != bool:
        return indices
    wanted = np.flatnonzero(indices)
    if not len(wanted) or wanted[-1] - wanted[0] + 1 != len(wanted):
        return indices
    return slice(int(wanted[0]), int(wanted[-1]) + 1)


def standardise(table: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and variance 1, as float32; a constant column becomes 0.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]

    Parameters
    ----------
    table : np.ndarray
        Shape (samples, features).

    Returns
    -------
    np.ndarray
        float32, of the same shape.
    """
    spread = table.std(axis=0)
    return ((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
