"""FEMNIST, Shakespeare and Sent140 as LEAF's preprocess.sh writes them: train/*.json and test/*.json, by user.

Every file holds `users` and `user_data`: {user: {"x": [...], "y": [...]}}.  Caldas et al. 2018.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import contents, damaged
from fedabm.data.datasets.text import CHARACTERS, characters, words

__all__ = ["femnist", "is_leaf", "sent140_json", "shakespeare_json"]

Encode = Callable[[list[Any], list[Any]], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class _Block:
    """All samples of one user in one file."""

    user: str
    x: np.ndarray
    y: np.ndarray
    test: bool


def is_leaf(folder: Path) -> bool:
    """Whether there are LEAF's files in this folder."""
    return any(folder.glob("train/*.json")) and any(folder.glob("test/*.json"))


def femnist(folder: Path) -> Dataset:
    """Characters of 28 x 28 in 62 classes, by writer; dark on white, as in LEAF."""

    def encode(x: list[Any], y: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        pixels = np.rint(np.asarray(x, dtype=np.float64) * 255).astype(np.uint8)
        return pixels.reshape(len(x), 1, 28, 28), np.asarray(y, dtype=np.int64)

    return _collect("femnist", folder / "femnist", encode, classes=62)


def shakespeare_json(folder: Path) -> Dataset:
    """Windows of 80 characters and the character that follows, by role."""

    def encode(x: list[Any], y: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        return characters("".join(x)).reshape(len(x), 80), characters("".join(y)).astype(np.int64)

    size = len(CHARACTERS)
    return _collect("shakespeare", folder / "shakespeare", encode, classes=size, tokens=size)


def sent140_json(folder: Path, tokens: int, length: int) -> Dataset:
    """Tweets (the fifth entry of every x) with their mood, by account."""

    def encode(x: list[Any], y: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        return words([tweet[4] for tweet in x], tokens, length), (np.asarray(y, dtype=np.int64) > 0).astype(np.int64)

    return _collect("sent140", folder / "sent140", encode, classes=2, tokens=tokens)


def _collect(name: str, folder: Path, encode: Encode, classes: int, tokens: int | None = None) -> Dataset:
    files = [(path, part == "test") for part in ("train", "test") for path in sorted(folder.glob(f"{part}/*.json"))]
    blocks = [block for path, test in files for block in _blocks(path, test, encode)]
    if not blocks:
        raise damaged(folder, "users with samples", "none")
    sizes = [len(block.y) for block in blocks]
    number = {user: k for k, user in enumerate(sorted({block.user for block in blocks}))}
    return Dataset(
        name,
        np.concatenate([block.x for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        classes=classes,
        users=np.repeat(np.array([number[block.user] for block in blocks], dtype=np.int64), sizes),
        split=np.repeat([block.test for block in blocks], sizes),
        tokens=tokens,
    )


def _blocks(path: Path, test: bool, encode: Encode) -> Iterator[_Block]:
    try:
        file = json.loads(contents(path))
        users = {user: file["user_data"][user] for user in file["users"]}
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, "LEAF's JSON with `users` and `user_data`", repr(error)) from None
    for user, samples in users.items():
        yield _encoded(path, user, samples, test, encode)


def _encoded(path: Path, user: str, samples: dict[str, list[Any]], test: bool, encode: Encode) -> _Block:
    try:
        x, y = encode(samples["x"], samples["y"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise damaged(path, f"samples of user {user} with x and y", repr(error)) from None
    if len(x) != len(y):
        raise damaged(path, f"as many x as y of user {user}", f"{len(x)} and {len(y)}")
    return _Block(user, x, y, test)
