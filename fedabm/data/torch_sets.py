"""Datasets of PyTorch as owners' data: one for each owner, or one that a partition deals.

    data = from_torch(torchvision.datasets.MNIST("data"), Dirichlet(10, 0.5))
    data = from_torch({"St. Mary": first, "County": second})

Nothing here imports PyTorch: a dataset is whatever has a length and gives pairs of a sample and a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, shown
from fedabm.data.datasets.base import Dataset
from fedabm.data.federated import FederatedData, Qualities, from_partition
from fedabm.data.own import read_arrays
from fedabm.data.partitions.base import Partition

__all__ = ["from_torch"]


@dataclass(frozen=True)
class _InOrder(Partition):
    """Every owner the next part of the samples."""

    sizes: tuple[int, ...]

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        return np.split(np.arange(len(labels)), np.cumsum(self.sizes)[:-1])


def from_torch(
    datasets: Any,
    partition: Partition | None = None,
    *,
    test_share: float = 0.2,
    seed: int = 0,
    regression: bool = False,
    quality: Qualities = None,
    name: str = "own data",
) -> FederatedData:
    """Owners' data from datasets of PyTorch, which are read once, with whatever their transforms give.

    Parameters
    ----------
    datasets
        One `torch.utils.data.Dataset` for each owner, as a list or by the owners' names; or, with a partition, a single
        one.  Samples are tensors, arrays or pictures, all of one shape; pictures are kept as bytes.
    partition
        Deals the samples of a single dataset to owners, for instance `Dirichlet(10, 0.5)`.
    test_share
        The share of every owner's samples that are held out to judge models.
    seed
        Which samples those are, and how the partition draws.
    regression
        Labels are numbers to be met, not classes.
    quality
        Defects of training parts, as for `from_partition`: `{3: LabelNoise(0.4)}`.
    name
        What the data are called.

    Returns
    -------
    FederatedData
        What `Engine(network, data)` trains on; owners stand in the order given.
    """
    named = datasets if isinstance(datasets, Mapping) else None
    if partition is not None:
        whole = [datasets]
    elif named is None and not isinstance(datasets, Sequence):
        raise InputError("one dataset is no federation; give a partition such as Dirichlet(10, 0.5) or a list")
    else:
        whole = list(datasets if named is None else named.values())
    pairs = [_read(one, number) for number, one in enumerate(whole)]
    x, y = (np.concatenate([pair[part] for pair in pairs]) for part in (0, 1))
    samples, codes, classes, tokens = read_arrays(name, x, y, regression=regression)
    sizes = tuple(len(pair[1]) for pair in pairs)
    dealt = _InOrder(sizes) if partition is None else partition
    data = from_partition(Dataset(name, samples, codes, classes, tokens=tokens), dealt, seed, test_share, quality)
    return data if named is None else replace(data, names=tuple(map(str, named)))


def _read(dataset: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """All samples and labels of a dataset."""
    try:
        pairs = [dataset[place] for place in range(len(dataset))]
        found = [_array(pair[0]) for pair in pairs], [np.asarray(_array(pair[1])) for pair in pairs]
        return np.stack(found[0]), np.stack(found[1]).reshape(len(pairs))
    except (TypeError, IndexError, ValueError, NotImplementedError) as error:
        got = " ".join(str(error).split())
        raise InputError(
            f"dataset {number} cannot be read: {got}; give one with a length, of (sample, label)"
        ) from None


def _array(value: Any) -> np.ndarray:
    """A tensor, number or array as it is; a picture with its channels first."""
    if hasattr(value, "getbands"):
        pixels = np.asarray(value)
        return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    if isinstance(value, str | bytes) or value is None:
        raise ValueError(f"{shown(value)} is no number")
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
