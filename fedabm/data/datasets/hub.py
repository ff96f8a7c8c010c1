"""Any dataset of the Hugging Face hub, alone or already divided by flwr-datasets (`pip install fedabm[hub]`)."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, MissingExtraError, nearest
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.text import words

__all__ = ["from_flower", "from_hub", "from_table"]


def from_hub(path: str, x: str, y: str, user: str | None = None, length: int = 40, **options: Any) -> Dataset:
    """A set of the hub, for instance `from_hub("ylecun/mnist", x="image", y="label")`; `options` go to load_dataset.

    Parameters
    ----------
    path : str
        The set's name on the hub.
    x : str
        Name of the column of inputs.
    y : str
        Name of the column of labels.
    user : str | None, optional
        Name of the column that says whose a sample is.
    length : int, optional
        Tokens of a text; longer ones are cut.
    **options : Any
        What `datasets.load_dataset` takes.

    Returns
    -------
    Dataset
        The set.
    """
    try:
        hub = importlib.import_module("datasets")
    except ImportError:
        raise MissingExtraError("the hub needs the package datasets; run pip install 'fedabm[hub]'") from None
    try:
        loaded = hub.load_dataset(path, **options)
    except (OSError, ValueError) as error:  # no network, no such set, no such split
        reason = " ".join(str(error).split())
        raise InputError(f"cannot load {path} from the hub: {reason}; check its name and the network") from None
    if not hasattr(loaded, "keys"):
        return from_table(path, [loaded], x, y, user, length=length)
    parts = {name: loaded[name] for name in loaded}
    data = from_table(path, list(parts.values()), x, y, user, length=length)
    split = np.repeat([name == "test" for name in parts], [len(part) for part in parts.values()])
    return Dataset(path, data.x, data.y, data.classes, data.users, split, data.tokens)


def from_flower(federated: Any, x: str, y: str, split: str = "train", length: int = 40) -> Dataset:
    """All partitions of a flwr-datasets FederatedDataset; `users` is the partition, so `Natural()` gives them back.

    Parameters
    ----------
    federated : Any
        A FederatedDataset of flwr-datasets.
    x : str
        Name of the column of inputs.
    y : str
        Name of the column of labels.
    split : str, optional
        Which split.
    length : int, optional
        Tokens of a text; longer ones are cut.

    Returns
    -------
    Dataset
        The set; `users` is the partition.
    """
    first = federated.load_partition(0, split)  # some partitioners know their number only after that
    count = federated.partitioners[split].num_partitions
    parts = [first, *(federated.load_partition(k, split) for k in range(1, count))]
    data = from_table("flower", parts, x, y, None, length=length)
    users = np.repeat(np.arange(count, dtype=np.int64), [len(part) for part in parts])
    return Dataset("flower", data.x, data.y, data.classes, users, None, data.tokens)


def from_table(
    name: str, parts: list[Any], x: str, y: str, user: str | None = None, tokens: int = 20_000, length: int = 40
) -> Dataset:
    """Samples from tables with columns of pictures, vectors or texts, as the package `datasets` gives them.

    Parameters
    ----------
    name : str
        What to call the set.
    parts : list[Any]
        Tables, training first, then test.
    x : str
        Name of the column of inputs.
    y : str
        Name of the column of labels.
    user : str | None, optional
        Name of the column that says whose a sample is.
    tokens : int, optional
        Size of the vocabulary of texts.
    length : int, optional
        Tokens of a text; longer ones are cut.

    Returns
    -------
    Dataset
        The set.
    """
    samples, is_text = _samples(name, _column(name, parts, x), tokens, length)
    labels, classes = _labels(name, _column(name, parts, y))
    classes = _declared(parts[0], y) or classes
    users = None
    if user is not None:
        users = np.unique([str(value) for value in _column(name, parts, user)], return_inverse=True)[1].reshape(-1)
    return Dataset(name, samples, labels, classes, users, None, tokens if is_text else None)


def _column(name: str, parts: list[Any], column: str) -> list[Any]:
    """One column of all parts."""
    try:
        return [value for part in parts for value in part[column]]
    except KeyError:
        known = getattr(parts[0], "column_names", None) or list(parts[0])
        raise InputError(f"{name} has no column {column!r}; {nearest(column, map(str, known))}") from None


def _samples(name: str, values: list[Any], tokens: int, length: int) -> tuple[np.ndarray, bool]:
    if not values:
        raise InputError(f"{name} has no samples; choose another split")
    if isinstance(values[0], str):
        return words(values, tokens, length), True
    arrays = [np.asarray(value) for value in values]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise InputError(f"{name} has samples of different shapes, {sorted(shapes)[:2]}; resize them first")
    stacked = np.stack(arrays)
    if stacked.dtype != np.uint8:
        return stacked.reshape(len(stacked), -1).astype(np.float32), False
    return (stacked[:, None] if stacked.ndim == 3 else stacked.transpose(0, 3, 1, 2)), False


def _labels(name: str, values: list[Any]) -> tuple[np.ndarray, int | None]:
    """Labels as numbers and how many there are; floats are targets of a regression."""
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "fiubUS":
        raise InputError(f"{name}: labels must be one number or name per sample; remove samples without a label")
    if found.dtype.kind == "f":
        return found.astype(np.float32), None
    if found.dtype.kind in "iub":
        return found.astype(np.int64), int(found.max()) + 1
    names, codes = np.unique(found.astype(str), return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(names)


def _declared(part: Any, y: str) -> int | None:
    return getattr(getattr(part, "features", {}).get(y), "num_classes", None)
