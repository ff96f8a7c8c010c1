"""Sets that need no file: two of scikit-learn's, and the synthetic one of Murhekar et al. 2025."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.data.datasets.base import Dataset, standardise

__all__ = ["breast_cancer", "digits", "quadratic"]


def digits(folder: Path) -> Dataset:
    """1,797 handwritten digits of 8 x 8 pixels; the 17 grey levels are spread over 0 .. 255."""
    from sklearn.datasets import load_digits  # slow to import, so only when it is wanted

    raw = load_digits()
    images = np.rint(raw.images * (255 / 16)).astype(np.uint8)[:, None]
    return Dataset("digits", images, raw.target.astype(np.int64), classes=10)


def breast_cancer(folder: Path) -> Dataset:
    """569 tumours with 30 measures each, standardised by column; label 1 is benign."""
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    return Dataset("breast_cancer", standardise(raw.data), raw.target.astype(np.int64), classes=2)


def quadratic(folder: Path, seed: int = 0, samples: int = 4000, variables: int = 10, noise: float = 0.1) -> Dataset:
    """Is a noisy quadratic form of ten normal variables positive?  Murhekar et al. 2025, Section 5.

    z = x' Q x / d + b' x - c with Q and b standard normal and c the median of z, so that both labels are equally
    frequent; label = [z + e > 0] with e normal, `noise` times as wide as z.  The paper states the task, not the
    coefficients: these come from `seed`.
    """
    check_positive("samples", samples)
    check_positive("variables", variables)
    check_positive("noise", noise, zero=True)
    rng = np.random.default_rng(seed)
    form, slope = rng.standard_normal((variables, variables)), rng.standard_normal(variables)
    x = rng.standard_normal((samples, variables))
    height = np.einsum("ni,ij,nj->n", x, form, x) / variables + x @ slope
    height += noise * height.std() * rng.standard_normal(samples)
    labels = (height > np.median(height)).astype(np.int64)
    return Dataset("quadratic", x.astype(np.float32), labels, classes=2)
