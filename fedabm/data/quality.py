"""Bad data: what can be wrong with one owner's training samples.  Sizes never change, so capacities do not either."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_range, check_whole

__all__ = ["Chain", "Duplicates", "FeatureNoise", "LabelFlip", "LabelNoise", "LabelShift", "Quality"]

Pair = tuple[np.ndarray, np.ndarray]


@runtime_checkable
class Quality(Protocol):
    """Spoils samples: `spoil(x, y, rng, classes)` -> new (x, y); the arrays handed in stay as they are."""

    @abstractmethod
    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """The samples as this owner has them."""
        ...


@dataclass(frozen=True)
class LabelNoise:
    """A random `share` of the labels is replaced by one of the other classes; every one equally likely.

    Parameters
    ----------
    share : float
        Which share of the labels becomes another one.
    """

    share: float

    def __post_init__(self) -> None:
        check_range("share of wrong labels", self.share, 0, 1)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """Rounded to whole samples."""
        if classes is None or classes < 2:
            raise InputError("label noise needs two classes or more; use feature noise for a regression")
        wrong = _some(len(y), self.share, rng)
        labels = y.copy()
        labels[wrong] = (y[wrong] + rng.integers(1, classes, size=len(wrong))) % classes
        return x, labels


@dataclass(frozen=True)
class LabelFlip:
    """A `share` of the samples of class `source` is labelled `target`: targeted poisoning by one owner.

    from_partition(dataset, partition, quality={3: LabelFlip(source=7, target=1)})    # owner 3 alone

    Parameters
    ----------
    source : int
        The class that is mislabelled.
    target : int
        The label it gets.
    share : float, optional
        Which share of its samples.
    """

    source: int
    target: int
    share: float = 1.0

    def __post_init__(self) -> None:
        check_whole("source class", self.source, 0)
        check_whole("target class", self.target, 0)
        check_range("share of flipped labels", self.share, 0, 1)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """Rounded to whole samples of the class."""
        if classes is None or max(self.source, self.target) >= classes:
            raise InputError(f"cannot flip class {self.source} to {self.target} of {classes}; count classes from 0")
        mine = np.flatnonzero(y == self.source)
        labels = y.copy()
        labels[mine[_some(len(mine), self.share, rng)]] = self.target
        return x, labels


@dataclass(frozen=True)
class LabelShift:
    """A random `share` of the labels moves on by `by` classes: y -> (y + by) mod classes.

    Parameters
    ----------
    by : int, optional
        By how many classes labels move on.
    share : float, optional
        Which share of the labels.
    """

    by: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        check_whole("label shift", self.by)
        check_range("share of shifted labels", self.share, 0, 1)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """Rounded to whole samples."""
        if classes is None or self.by % classes == 0:
            raise InputError(f"a shift by {self.by} of {classes} classes changes no label; give 1 .. classes - 1")
        labels, moved = y.copy(), _some(len(y), self.share, rng)
        labels[moved] = (y[moved] + self.by) % classes
        return x, labels


@dataclass(frozen=True)
class FeatureNoise:
    """Normal noise on every feature; `sigma` is in units of the features, for images as a share of full brightness.

    Parameters
    ----------
    sigma : float
        Standard deviation, in units of the features; for images as a share of full brightness.
    """

    sigma: float

    def __post_init__(self) -> None:
        check_positive("sigma of feature noise", self.sigma, zero=True)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """Images stay within black and white."""
        if x.dtype.kind == "i":
            raise InputError(
                "feature noise needs numbers or pixels, got tokens of a text; use label noise or duplicates"
            )
        noise = rng.standard_normal(x.shape, dtype=np.float32) * np.float32(self.sigma)
        if x.dtype == np.uint8:
            return np.clip(np.rint(x + 255 * noise), 0, 255).astype(np.uint8), y
        return (x + noise).astype(x.dtype), y


@dataclass(frozen=True)
class Duplicates:
    """A random `share` of the samples is replaced by copies of the others: as much data, less information.

    Parameters
    ----------
    share : float
        Which share of the samples becomes copies of others.
    """

    share: float

    def __post_init__(self) -> None:
        check_range("share of duplicates", self.share, 0, 1)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """At least one original stays."""
        copies = _some(len(y), self.share, rng)[: max(len(y) - 1, 0)]
        source = np.arange(len(y))
        source[copies] = rng.choice(np.setdiff1d(source, copies), size=len(copies))
        return x[source], y[source]


@dataclass(frozen=True)
class Chain:
    """Several defects, one after the other.

    Parameters
    ----------
    parts : tuple[Quality, ...]
        The defects, in order.
    """

    parts: tuple[Quality, ...]

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """In the order given."""
        for part in self.parts:
            x, y = part.spoil(x, y, rng, classes)
        return x, y


def _some(samples: int, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(samples)[: round(share * samples)]
