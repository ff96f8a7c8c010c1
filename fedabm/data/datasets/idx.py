"""MNIST and Fashion-MNIST from their idx files, with the writers of MNIST's digits.

The idx format: two zero bytes, a type byte, the number of dimensions, every dimension as a big-endian 32-bit number,
then the values.  LeCun et al. 1998; Xiao et al. 2017.  Writers: QMNIST, Yadav and Bottou 2019.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from fedabm.common.errors import InputError
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import bundle, contents, damaged, lookup

__all__ = ["FASHION_MD5", "MNIST_MD5", "WRITER_FILES", "fashion_mnist", "mnist", "mnist_by_writer", "parse_idx"]

MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
FASHION_MD5 = {
    "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}
"""MD5 of the unpacked files."""
WRITER_FILES = ("qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int")
_TYPES: dict[int, np.dtype] = {0x08: np.dtype(np.uint8), 0x0C: np.dtype(">i4")}


def parse_idx(data: bytes, path: Path) -> np.ndarray:
    """The array in the bytes of an idx file."""
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES or len(data) < 4 + 4 * data[3]:
        raise damaged(path, "an idx header", data[:4].hex() or "no bytes")
    shape = tuple(np.frombuffer(data, ">i4", data[3], 4).tolist())
    kind, start = _TYPES[data[2]], 4 + 4 * data[3]
    if len(data) - start != math.prod(shape) * kind.itemsize:
        raise damaged(path, f"{math.prod(shape) * kind.itemsize:,} bytes of values", f"{len(data) - start:,}")
    return np.frombuffer(data, kind, offset=start).reshape(shape)


def mnist(folder: Path, verify: bool = True) -> Dataset:
    """70,000 digits of 28 x 28; `users` are the writers if their file is there."""
    data = _images("mnist", folder / "mnist", MNIST_MD5 if verify else {})
    return _with_writers(data, _writers(folder))


def mnist_by_writer(folder: Path, verify: bool = True) -> Dataset:
    """MNIST with the writer of every digit: 539 in the training part, 297 others in the test part."""
    data = mnist(folder, verify)
    if data.users is None:
        raise InputError(f"no writers of MNIST in {folder}; put mnist_writer_ids.npz into {folder / 'mnist'}")
    return data


def fashion_mnist(folder: Path, verify: bool = True) -> Dataset:
    """70,000 pieces of clothing of 28 x 28."""
    return _images("fashion_mnist", folder / "fashion-mnist", FASHION_MD5 if verify else {})


def _images(name: str, folder: Path, md5: dict[str, str]) -> Dataset:
    arrays = [_array(folder, file, md5.get(file)) for file in MNIST_MD5]
    images, labels = np.concatenate(arrays[::2]), np.concatenate(arrays[1::2])
    split = np.arange(len(images)) >= len(arrays[0])
    return Dataset(name, images[:, None], labels.astype(np.int64), classes=10, split=split)


def _array(folder: Path, file: str, md5: str | None) -> np.ndarray:
    path = lookup(folder, file, f"{file}.gz")
    if path is None:
        raise InputError(f"{folder / file} is missing; put it there, plain or as .gz")
    return parse_idx(contents(path, md5), path)


def _writers(folder: Path) -> tuple[Path, list[np.ndarray]] | None:
    """Label and writer of every digit in both parts, as columns."""
    path = lookup(folder, "mnist/*writer*.npz", "mnist_writer_ids/*.npz")
    if path is not None:
        kept = bundle(path, "train_label", "train_writer", "test_label", "test_writer")
        return path, [np.stack([kept[f"{part}_label"], kept[f"{part}_writer"]], axis=1) for part in ("train", "test")]
    paths = [lookup(folder / "mnist", name, f"{name}.gz") for name in WRITER_FILES]
    found = [path for path in paths if path is not None]
    if len(found) < len(paths):
        return None
    return found[0], [parse_idx(contents(path), path)[:, [0, 2]] for path in found]


def _with_writers(data: Dataset, writers: tuple[Path, list[np.ndarray]] | None) -> Dataset:
    if writers is None or data.split is None:
        return data
    path, (train, test) = writers
    # QMNIST's test part goes on after the 10,000 digits that are MNIST's.
    rows = np.concatenate([train, test[: int(data.split.sum())]]).astype(np.int64)
    if len(rows) != len(data) or (rows[:, 0] != data.y).any():
        raise damaged(path, f"the labels of MNIST's {len(data):,} digits", f"other labels for {len(rows):,}")
    return Dataset(data.name, data.x, data.y, data.classes, users=rows[:, 1], split=data.split)
