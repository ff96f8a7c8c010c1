"""Text as sequences of tokens: characters as LEAF numbers them, and words by hashing.

Words need no vocabulary file: a word's token is a checksum of its letters, modulo the number of tokens, so that every
owner encodes alike without anybody having to see anybody's text.  Token 0 is padding.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from fedabm.common.errors import InputError

__all__ = ["CHARACTERS", "characters", "words"]

CHARACTERS = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
"""The 80 characters of LEAF's Shakespeare task (Caldas et al. 2018), in its order."""

_WORD = re.compile(r"[\w']+|[.,!?;]")


def characters(text: str) -> np.ndarray:
    """The number of every character in `CHARACTERS`; any other character counts as a space.

    >>> characters("To be~").tolist() == [CHARACTERS.index(letter) for letter in "To be "]
    True
    """
    table = np.full(128, CHARACTERS.index(" "), dtype=np.int32)
    table[[ord(letter) for letter in CHARACTERS]] = np.arange(len(CHARACTERS))
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return table[np.where(codes < len(table), codes, ord(" "))]


def words(texts: Sequence[str] | Iterable[str], tokens: int, length: int) -> np.ndarray:
    """The first `length` words of every text as tokens 1 .. tokens - 1, padded with 0 at the end.

    >>> a, b = words(["Good day!", "good"], tokens=1000, length=4)
    >>> bool(a[0] == b[0]), (a > 0).tolist(), (b > 0).tolist()
    (True, [True, True, True, False], [True, False, False, False])
    """
    if tokens < 2 or length < 1:
        raise InputError(f"need at least 2 tokens and length 1, got {tokens} and {length}; give larger numbers")

    @cache
    def token(word: str) -> int:
        return 1 + zlib.crc32(word.encode()) % (tokens - 1)

    rows = [[token(word) for word in _WORD.findall(text.lower())[:length]] for text in texts]
    return np.array([row + [0] * (length - len(row)) for row in rows], dtype=np.int32).reshape(-1, length)
