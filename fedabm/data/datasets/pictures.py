"""Pictures in bundles: PACS (parquet), FEMNIST's digits, Omniglot and a part of CIFAR-10 (npz)."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common.errors import InputError
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import bundle, damaged, lookup

__all__ = ["cifar10_subset", "femnist_digits", "omniglot", "pacs", "picture"]


def pacs(folder: Path, size: int = 64) -> Dataset:
    """9,991 pictures of seven things in four styles; `users` is the style: art painting, cartoon, photo, sketch.

    From parquet files with the columns image (its `bytes`), domain and label; resized to `size` if need be.  Li et al.
    2017.
    """
    frames = [_parquet(path) for path in sorted(folder.glob("pacs/*.parquet"))]
    if not frames:
        raise InputError(f"no file like pacs/*.parquet in {folder}; put it there")
    frame = pd.concat(frames, ignore_index=True)
    labels, names = pd.factorize(frame.label, sort=True)
    images = np.stack([picture(image["bytes"], size, f"PACS picture {k}") for k, image in enumerate(frame.image)])
    users = pd.factorize(frame.domain, sort=True)[0].astype(np.int64)
    return Dataset("pacs", images, labels.astype(np.int64), classes=len(names), users=users)


def picture(data: bytes, size: int, what: str) -> np.ndarray:
    """An encoded picture as uint8 (3, size, size)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InputError("pictures need Pillow, which is not installed; run pip install pillow") from None
    try:
        image = Image.open(io.BytesIO(data)).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"{what} cannot be decoded: {error}; get the file again") from None
    image = image if image.size == (size, size) else image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image).transpose(2, 0, 1)


def femnist_digits(folder: Path) -> Dataset:
    """5,997 of FEMNIST's digits at 12 clients; the clients are a partition, not writers."""
    kept = bundle(_npz(folder, "femnist_digits"), "x", "y", "client")
    return _labelled("femnist_digits", kept["x"], kept["y"], 10, kept["client"])


def omniglot(folder: Path) -> Dataset:
    """4,840 characters of eight alphabets, by drawer.  Lake et al. 2015."""
    kept = bundle(_npz(folder, "omniglot"), "x", "y", "drawer", "class_names")
    return _labelled("omniglot", kept["x"], kept["y"], len(kept["class_names"]), kept["drawer"])


def cifar10_subset(folder: Path) -> Dataset:
    """The first 200 training and 100 test pictures of every class of CIFAR-10."""
    kept = bundle(_npz(folder, "cifar10_subset"), "x_train", "y_train", "x_test", "y_test")
    images = np.concatenate([kept["x_train"], kept["x_test"]]).transpose(0, 3, 1, 2)
    labels = np.concatenate([kept["y_train"], kept["y_test"]]).astype(np.int64)
    split = np.arange(len(images)) >= len(kept["x_train"])
    return Dataset("cifar10_subset", np.ascontiguousarray(images), labels, classes=10, split=split)


def _labelled(name: str, x: np.ndarray, y: np.ndarray, classes: int, users: np.ndarray) -> Dataset:
    return Dataset(name, x[:, None], y.astype(np.int64), classes=classes, users=users.astype(np.int64))


def _npz(folder: Path, name: str) -> Path:
    path = lookup(folder, f"{name}*/*.npz")
    if path is None:
        raise InputError(f"no file like {name}/*.npz in {folder}; put it there")
    return path


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pq.read_table(path, columns=["image", "domain", "label"]).to_pandas()
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise damaged(path, "parquet with the columns image, domain, label", reason) from None
