"""Data of one's own: arrays or tensors, a CSV file with an owner column, a folder of images per owner.

All of them give `FederatedData`, with the owners' names kept:

    data = from_csv("patients.csv", label="sick", owner="clinic")
    people = population(costs, data.capacities, names=data.names)
    engine = Engine(network, data)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError

from fedabm.common.errors import InputError, check_whole, nearest
from fedabm.data.datasets.base import Dataset, standardise
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions.base import Partition
from fedabm.data.partitions.sizes import Natural

__all__ = ["from_arrays", "from_csv", "from_folders", "read_arrays"]

#: endings of files that are taken for images
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def from_arrays(
    x: Any,
    y: Any,
    owner: Sequence[Any] | np.ndarray | Partition,
    *,
    test_share: float = 0.2,
    seed: int = 0,
    regression: bool = False,
    name: str = "own data",
) -> FederatedData:
    """Samples, labels, and the owner of each sample (or a partition that deals them); NumPy arrays or torch tensors.

    Numbers are taken as they are (as float32), bytes of shape (N, C, H, W) as images, whole numbers of shape (N, L)
    that are no bytes as tokens.  Labels may be anything that can be told apart; with `regression` they are numbers.

    >>> data = from_arrays([[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"], ["a", "b", "a", "b"])
    >>> data.names, data.capacities.tolist(), data.classes
    (('a', 'b'), [1, 1], 2)

    Parameters
    ----------
    x : Any
        Inputs, one per sample; NumPy or torch.
    y : Any
        Labels or targets, one per sample.
    owner : Sequence[Any] | np.ndarray | Partition
        The owner of each sample, or a partition that deals them.
    test_share : float, optional
        The share of each owner's samples that is held out for judging its model.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    regression : bool, optional
        Whether labels are numbers to be met.
    name : str, optional
        What to call the data.

    Returns
    -------
    FederatedData
        The owners' data.
    """
    samples, codes, classes, tokens = read_arrays(name, x, y, regression=regression)
    if isinstance(owner, Partition):
        return from_partition(Dataset(name, samples, codes, classes, tokens=tokens), owner, seed, test_share)
    names, users = np.unique(np.asarray([str(one) for one in owner]), return_inverse=True)
    dataset = Dataset(name, samples, codes, classes, users.reshape(-1), tokens=tokens)
    # Natural owners come with most samples first, those of equal size in the order of their names.
    order = np.argsort(-np.bincount(users.reshape(-1), minlength=len(names)), kind="stable")
    data = from_partition(dataset, Natural(), seed, test_share)
    return replace(data, names=tuple(names[order].tolist()))


def read_arrays(
    name: str, x: Any, y: Any, *, regression: bool = False
) -> tuple[np.ndarray, np.ndarray, int | None, int | None]:
    """Samples, codes of labels, and the numbers of classes and of tokens, as `Dataset` holds them."""
    samples, labels = _samples(name, _numpy(x)), _numpy(y).reshape(-1)
    codes, classes = _labels(name, labels, regression=regression)
    tokens = int(samples.max()) + 1 if samples.dtype == np.int32 and samples.size else None
    return samples, codes, classes, tokens


def from_csv(
    path: str | Path,
    label: str,
    owner: str,
    features: Sequence[str] | None = None,
    *,
    test_share: float = 0.2,
    seed: int = 0,
    regression: bool = False,
) -> FederatedData:
    """A table with a column of labels and a column that names the owner of each row; the other columns are features.

    Numbers are standardised, words become one column per word.  Rows with gaps are refused, with how many there are.

    Parameters
    ----------
    path : str | Path
        The file.
    label : str
        Name of the column of labels.
    owner : str
        Name of the column that says whose a row is.
    features : Sequence[str] | None, optional
        Names of the columns to learn from; by default all others.
    test_share : float, optional
        The share of each owner's samples that is held out for judging its model.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    regression : bool, optional
        Whether labels are numbers to be met.

    Returns
    -------
    FederatedData
        The owners' data.
    """
    frame = _table(path)
    for column in (label, owner, *(features or ())):
        if column not in frame:
            raise InputError(f"{path} has no column {column!r}; {nearest(column, list(frame.columns))}")
    used = list(features) if features is not None else [one for one in frame if one not in (label, owner)]
    if not used:
        raise InputError(f"{path} has no columns besides {label} and {owner}; add features")
    gaps = int(frame[[*used, label, owner]].isna().any(axis=1).sum())
    if gaps:
        raise InputError(f"{gaps} rows of {path} have gaps; fill or remove them first")
    numbers = standardise(pd.get_dummies(frame[used], dtype=float).to_numpy(float))
    how: dict[str, Any] = {"test_share": test_share, "seed": seed, "regression": regression, "name": Path(path).stem}
    return from_arrays(numbers, frame[label].to_numpy(), frame[owner].tolist(), **how)


def from_folders(
    path: str | Path, size: int = 32, *, colour: bool = True, test_share: float = 0.2, seed: int = 0
) -> FederatedData:
    """Images in folders, `path/OWNER/CLASS/any_name.png`, scaled to `size` times `size` pixels.

    Parameters
    ----------
    path : str | Path
        The folder that holds a folder per owner.
    size : int, optional
        Height and width in pixels.
    colour : bool, optional
        Whether images have three channels, or one.
    test_share : float, optional
        The share of each owner's samples that is held out for judging its model.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.

    Returns
    -------
    FederatedData
        The owners' data.
    """
    check_whole("size", size)
    root = Path(path)
    if not root.is_dir():
        raise InputError(f"{root} is no folder; give one that holds a folder per owner")
    files = sorted(one for one in root.glob("*/*/*") if one.suffix.lower() in IMAGES)
    if not files:
        raise InputError(f"{root} holds no images; put them into {root}/OWNER/CLASS/, as {', '.join(IMAGES[:3])}")
    pixels = np.stack([_pixels(one, size, "RGB" if colour else "L") for one in files])
    labels = [one.parent.name for one in files]
    owners = [one.parent.parent.name for one in files]
    return from_arrays(pixels, np.array(labels), owners, test_share=test_share, seed=seed, name=root.name)


def _table(path: str | Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; give the path of a CSV file") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} cannot be read as CSV: {reason}; save it as comma-separated text") from None


def _pixels(path: Path, size: int, mode: str) -> np.ndarray:
    try:
        with Image.open(path) as image:
            array = np.asarray(image.convert(mode).resize((size, size)), dtype=np.uint8)
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"{path} is no image that can be read ({error}); remove or replace it") from None
    return array[None] if mode == "L" else array.transpose(2, 0, 1)


def _numpy(values: Any) -> np.ndarray:
    """An array, from whatever holds numbers; tensors come from wherever they are."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def _samples(name: str, x: np.ndarray) -> np.ndarray:
    if x.ndim < 2 or x.dtype.kind not in "fiub":
        raise InputError(
            f"{name}: x must be numbers with a row per sample, got {x.dtype} of shape {x.shape}; reshape it"
        )
    if x.dtype == np.uint8 and x.ndim == 4:
        return x
    if x.dtype.kind in "iu" and x.ndim == 2 and x.dtype != np.uint8:
        return x.astype(np.int32)
    return x.astype(np.float32)


def _labels(name: str, labels: np.ndarray, *, regression: bool) -> tuple[np.ndarray, int | None]:
    if regression:
        if labels.dtype.kind not in "fiub":
            raise InputError(f"{name}: a regression needs numbers as targets, got {labels.dtype}; leave regression out")
        return labels.astype(np.float32), None
    if labels.dtype.kind == "f" and np.any(labels != np.rint(labels)):
        raise InputError(f"{name}: labels are broken numbers such as {labels[0]:g}; give regression=True to guess them")
    classes, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(classes)
