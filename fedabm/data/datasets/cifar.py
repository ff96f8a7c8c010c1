"""CIFAR-10 from its binary or its Python batches.  Krizhevsky 2009."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import contents, damaged

__all__ = ["BINARY_MD5", "PYTHON_MD5", "cifar10"]

BINARY_MD5 = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
PYTHON_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
_RECORD = 1 + 3 * 32 * 32


def cifar10(folder: Path, verify: bool = True) -> Dataset:
    """60,000 photographs of 32 x 32 in ten classes, the last 10,000 the test part."""
    binary = folder / "cifar-10-batches-bin"
    complete = all((binary / file).is_file() for file in BINARY_MD5)
    place, md5 = (binary, BINARY_MD5) if complete else (folder / "cifar-10-batches-py", PYTHON_MD5)
    batches = [_batch(place / file, check if verify else None) for file, check in md5.items()]
    images = np.concatenate([batch[0] for batch in batches])
    labels = np.concatenate([batch[1] for batch in batches])
    split = np.arange(len(images)) >= len(images) - len(batches[-1][0])
    return Dataset("cifar10", images, labels.astype(np.int64), classes=10, split=split)


def _batch(path: Path, md5: str | None) -> tuple[np.ndarray, np.ndarray]:
    if not path.is_file():
        raise InputError(f"{path} is missing; put all six batches of CIFAR-10 into {path.parent}")
    data = contents(path, md5)
    rows, labels = _binary(data, path) if path.suffix == ".bin" else _python(data, path)
    return rows.reshape(-1, 3, 32, 32), labels


def _binary(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Records of one byte for the label and 3,072 for the pixels."""
    if not data or len(data) % _RECORD:
        raise damaged(path, f"a multiple of {_RECORD:,} bytes", f"{len(data):,}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, _RECORD)
    return rows[:, 1:], rows[:, 0]


def _python(data: bytes, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A pickled dictionary with the keys `data` and `labels`."""
    try:
        batch = _ArraysOnly(io.BytesIO(data), encoding="bytes").load()
        rows, labels = np.asarray(batch[b"data"], np.uint8), np.asarray(batch[b"labels"])
        return rows.reshape(len(labels), _RECORD - 1), labels
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged(path, "a pickled batch with `data` and `labels`", repr(error)) from None


class _ArraysOnly(pickle.Unpickler):
    """Loads arrays and plain values only, so that a forged batch cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        """What the pickle asks for, if arrays need it."""
        if name == "_reconstruct" and module.startswith("numpy"):
            return np.empty(0).__reduce__()[0]  # this NumPy's own; the module's name has changed over the years
        if (module, name) in {("numpy", "ndarray"), ("numpy", "dtype")}:
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
