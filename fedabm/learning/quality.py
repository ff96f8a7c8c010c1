"""Bad data: what can be wrong with one owner's training samples.  Sizes never change, so capacities do not either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedabm.errors import InputError, check_positive, check_range

__all__ = ["Chain", "Duplicates", "FeatureNoise", "LabelNoise", "Quality"]

Pair = tuple[np.ndarray, np.ndarray]


class Quality(Protocol):
    """Spoils samples: `spoil(x, y, rng, classes)` -> new (x, y); the arrays handed in stay as they are."""

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """The samples as this owner has them."""
        ...


@dataclass(frozen=True)
class LabelNoise:
    """A random `share` of the labels is replaced by one of the other classes; every one equally likely."""

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
class FeatureNoise:
    """Normal noise on every feature; `sigma` is in units of the features, for images as a share of full brightness."""

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
    """A random `share` of the samples is replaced by copies of the others: as much data, less information."""

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
    """Several defects, one after the other."""

    parts: tuple[Quality, ...]

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """In the order given."""
        for part in self.parts:
            x, y = part.spoil(x, y, rng, classes)
        return x, y


def _some(samples: int, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(samples)[: round(share * samples)]
