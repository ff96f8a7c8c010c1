"""The owners' data: everybody's training part in one array and everybody's test part in another.

An owner's samples are shuffled once, by its own generator, so that contributions are nested: contributing s samples
means the first s of its order, and more data is always a superset.  Changing one owner's quality changes nobody else's
data.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_range, check_whole, finite_vector
from fedabm.common.random import check_seed, generator
from fedabm.data.datasets.base import Dataset
from fedabm.data.partitions.base import Partition
from fedabm.data.quality import Quality

__all__ = ["IGNORED", "FederatedData", "from_partition", "normalised", "split_owner"]

#: a label among several of one sample that does not count, as in PyTorch's losses
IGNORED = -100

Qualities = Quality | Sequence[Quality | None] | Mapping[int, Quality] | None


@dataclass(frozen=True, eq=False)
class FederatedData:
    """Owner i's training samples are rows offsets[i] .. offsets[i + 1] of x_train, its test samples those of x_test.

    Images of bytes are scaled to [-1, 1] where they are learned from, or, with a `scaling` (mean and deviation by
    channel), to mean 0 and deviation 1; see `normalised`.  Where an answer is several tokens, a sample has a label for
    each of them, and those that are `IGNORED` do not count.

    Parameters
    ----------
    name : str
        What the data are called.
    x_train : np.ndarray
        Training inputs of all owners, one after the other.
    y_train : np.ndarray
        Their labels or targets.
    offsets : np.ndarray
        Owner i's rows are offsets[i] .. offsets[i + 1].
    x_test : np.ndarray
        Test inputs of all owners.
    y_test : np.ndarray
        Their labels or targets.
    test_offsets : np.ndarray
        The same as `offsets`, for the test part.
    classes : int | None
        How many labels there are; None: regression.
    tokens : int | None, optional
        How many different tokens a sequence can hold.
    scaling : tuple[tuple[float, ...], tuple[float, ...]] | None, optional
        Mean and deviation by channel, for images of bytes.
    names : tuple[str, ...], optional
        What owners are called.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    offsets: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    test_offsets: np.ndarray
    classes: int | None
    tokens: int | None = None
    scaling: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    #: what owners are called, where they have names
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """In one line, whatever it holds."""
        samples, shape = f"{len(self.y_train)} + {len(self.y_test)} samples", self.x_train.shape[1:]
        return f"<FederatedData {self.name!r}: {len(self.offsets) - 1} owners, {samples} of shape {shape}>"

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            labels = getattr(self, f"y_{part}")
            counted = labels if labels.ndim == 1 else labels[labels != IGNORED]
            _check_codes(self.name, "labels", counted, self.classes)
            _check_codes(self.name, "tokens", getattr(self, f"x_{part}"), self.tokens)

    @property
    def owners(self) -> int:
        """How many owners there are."""
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self.x_train.shape[1:]

    @property
    def capacities(self) -> np.ndarray:
        """How many training samples each owner has."""
        return np.diff(self.offsets)

    @property
    def test_sizes(self) -> np.ndarray:
        """How many test samples each owner has."""
        return np.diff(self.test_offsets)

    def train(self, owner: int, contribution: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """An owner's training samples, or the first `contribution` of them."""
        first, last = self.offsets[owner], self.offsets[owner + 1]
        if contribution is not None:
            last = first + self.counts(contribution, np.array([owner]))[0]
        return self.x_train[first:last], self.y_train[first:last]

    def test(self, owner: int) -> tuple[np.ndarray, np.ndarray]:
        """An owner's test samples."""
        rows = slice(self.test_offsets[owner], self.test_offsets[owner + 1])
        return self.x_test[rows], self.y_test[rows]

    def counts(
        self, contributions: np.ndarray | Sequence[float] | float, owners: np.ndarray | None = None
    ) -> np.ndarray:
        """Contributions of some owners (default: all) as whole numbers of samples; none may exceed its capacity."""
        who = np.arange(self.owners) if owners is None else owners
        wanted, most = finite_vector("contributions", contributions, len(who)), self.capacities[who]
        bad = (wanted < 0) | (wanted > most * (1 + 1e-9))
        if bad.any():
            place = int(np.argmax(bad))
            raise InputError(
                f"owner {who[place]} contributes {wanted[place]:g} of {most[place]} samples; "
                "contributions must lie between 0 and the capacity"
            )
        return np.rint(wanted).astype(np.int64)

    def rows(self, contributions: np.ndarray | Sequence[float]) -> np.ndarray:
        """The rows of x_train that are contributed, owner by owner."""
        counts = self.counts(contributions)
        starts = np.repeat(self.offsets[:-1] - (np.cumsum(counts) - counts), counts)
        return starts + np.arange(counts.sum())

    def class_counts(self) -> np.ndarray:
        """How many training samples of every class (column) each owner (row) has."""
        if self.classes is None:
            raise InputError(f"{self.name} has targets, not classes; count classes only for a classification")
        owner = np.repeat(np.arange(self.owners), self.capacities)
        flat = np.bincount(owner * self.classes + self.y_train, minlength=self.owners * self.classes)
        return flat.reshape(self.owners, self.classes)


def _check_codes(name: str, what: str, codes: np.ndarray, count: int | None) -> None:
    """Raise unless all codes, if there are any, are below their number: a network would look beyond its end."""
    if count is not None and codes.size and not 0 <= codes.min() <= codes.max() < count:
        got = f"{codes.min()} .. {codes.max()}"
        raise InputError(f"{name}: {what} must lie in 0 .. {count - 1}, got {got}; raise the number of {what}")


def from_partition(
    dataset: Dataset,
    partition: Partition,
    seed: int = 0,
    test_share: float | None = 0.1,
    quality: Qualities = None,
    one_class: str = "warn",
) -> FederatedData:
    """Deal a dataset to owners and hold out a test part of each.

    `test_share` of every owner's samples (at least one) is its test part; the publisher's own test part, if there is
    one, then belongs to nobody.  With test_share=None the partition divides both parts, and an owner's test part is
    what it got of the publisher's.  `quality` spoils training parts only: one for all, one per owner, or {owner:
    quality}.  `one_class` says what an owner with a single class means: "warn", "error" or "allow".

    >>> from fedabm.data.datasets import load_dataset
    >>> from fedabm.data.partitions import IID
    >>> data = from_partition(load_dataset("digits"), IID(3))
    >>> data.capacities.tolist(), data.test_sizes.tolist()
    ([539, 539, 539], [60, 60, 60])

    Parameters
    ----------
    dataset : Dataset
        The samples to deal.
    partition : Partition
        Who gets which samples.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    test_share : float | None, optional
        Which share of each owner's samples is held out; None: the publisher's test part is dealt, too.
    quality : Qualities, optional
        What spoils training parts: one for all, one per owner, or by owner.
    one_class : str, optional
        What a single class means: "warn", "error" or "allow".

    Returns
    -------
    FederatedData
        The owners' data.
    """
    check_kind("dataset", dataset, Dataset)
    check_kind("partition", partition, Partition)
    check_seed(seed)
    if test_share is not None:
        check_range("test_share", test_share, 0, 1)
        dataset = dataset.train
    split = _split(dataset) if test_share is None else None
    parts = partition.split(dataset, generator(seed, "data"))
    train, test = [], []
    for owner, rows in enumerate(parts):
        rng = generator(seed, "data", owner)
        rows = rng.permutation(rows)
        held = _held_out(owner, rows, test_share, split)
        x = partition.transform(dataset.x[rows], owner, len(parts))
        y, defect = dataset.y[rows], _quality(quality, owner, len(parts))
        mine = x[~held], y[~held]
        train.append(mine if defect is None else defect.spoil(*mine, rng, dataset.classes))
        test.append((x[held], y[held]))
    _check_classes(dataset, [y for _, y in train], one_class)
    return FederatedData(dataset.name, *_joined(train), *_joined(test), dataset.classes, dataset.tokens)


def _split(dataset: Dataset) -> np.ndarray:
    if dataset.split is None:
        raise InputError(f"{dataset.name} has no official test part; give a test_share such as 0.1")
    return dataset.split


def _held_out(owner: int, rows: np.ndarray, test_share: float | None, split: np.ndarray | None) -> np.ndarray:
    """Which of an owner's shuffled samples are its test part: the last ones, or those the publisher chose."""
    if split is not None:
        held = split[rows]
    else:
        kept = len(rows) - max(round((test_share or 0.0) * len(rows)), 1 if test_share else 0)
        held = np.arange(len(rows)) >= kept
    if not len(rows):
        raise InputError(f"owner {owner} has no sample; take fewer owners or a partition with a minimum")
    if held.all() or not held.any():
        part = "training" if held.all() else "test"
        raise InputError(
            f"owner {owner} with {len(rows)} samples has an empty {part} part; change test_share or owners"
        )
    return held


def _quality(quality: Qualities, owner: int, owners: int) -> Quality | None:
    if isinstance(quality, Mapping):
        unknown = [key for key in quality if key not in range(owners)]
        if unknown:
            raise InputError(f"quality for owner {unknown[0]} but owners are 0 .. {owners - 1}; use those numbers")
        mine = quality.get(owner)
    elif isinstance(quality, Sequence) and not isinstance(quality, str):
        if len(quality) != owners:
            raise InputError(f"{len(quality)} qualities but {owners} owners; give one per owner (None for good data)")
        mine = quality[owner]
    else:
        mine = quality
    if mine is not None and not hasattr(mine, "spoil"):
        raise InputError(f"quality of owner {owner} must be a Quality, got {mine!r}; for instance LabelNoise(0.2)")
    return mine


def _check_classes(dataset: Dataset, labels: list[np.ndarray], one_class: str) -> None:
    if one_class not in ("warn", "error", "allow"):
        raise InputError(f"one_class must be warn, error or allow, got {one_class!r}; choose one of them")
    alone = [owner for owner, y in enumerate(labels) if (y == y[0]).all()]
    if dataset.classes is None or not alone or one_class == "allow":
        return
    line = f"owner {alone[0]} has samples of one class only ({len(alone)} such owners); use a less skewed partition"
    if one_class == "error":
        raise InputError(line)
    warnings.warn(line, stacklevel=3)


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(y) for _, y in parts])]).astype(np.int64)
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]), offsets


def normalised(data: FederatedData) -> FederatedData:
    """The same images, to be learned from with mean 0 and deviation 1 in every channel of all training parts together.

    The bytes stay as they are, so that nothing is held twice.
    """
    if data.x_train.dtype != np.uint8 or len(data.shape) != 3:
        raise InputError(f"{data.name} has no images of bytes to normalise; leave its numbers as they are")
    levels = np.arange(256)
    means, spreads = [], []
    for channel in range(data.shape[0]):
        share = np.bincount(data.x_train[:, channel].ravel(), minlength=256) / data.x_train[:, channel].size
        mean = float(share @ levels)
        means.append(mean)
        spreads.append(float(np.sqrt(share @ (levels - mean) ** 2)) or 1.0)
    return replace(data, scaling=(tuple(means), tuple(spreads)))


def split_owner(data: FederatedData, owner: int, accounts: int = 2) -> FederatedData:
    """The same data where one owner has entered several times, with an equal part of its samples in each account.

    The accounts stand side by side where the owner was, so that later owners move up.

    Parameters
    ----------
    data : FederatedData
        The owners' data.
    owner : int
        Who enters several times.
    accounts : int, optional
        How many times.

    Returns
    -------
    FederatedData
        The data with its accounts side by side.
    """
    check_whole("accounts", accounts)
    if not 0 <= owner < data.owners or min(data.capacities[owner], data.test_sizes[owner]) < accounts:
        raise InputError(f"owner {owner} cannot be divided into {accounts} accounts; choose one with more samples")
    return replace(
        data,
        offsets=_divided(data.offsets, owner, accounts),
        test_offsets=_divided(data.test_offsets, owner, accounts),
    )


def _divided(offsets: np.ndarray, owner: int, accounts: int) -> np.ndarray:
    inner = np.linspace(offsets[owner], offsets[owner + 1], accounts + 1).astype(offsets.dtype)
    return np.concatenate([offsets[:owner], inner, offsets[owner + 2 :]])
