"""Numbers that took training to find, remembered by what they are the answer to.

In memory and, if a folder is given, on disk for the next run: every `at_once` answers are a file of their own, whole or
not there, so that a computation that is killed goes on with all answers it had and never reads half of one.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.files import draft
from fedabm.common.state import BYTES, Dict, Numbers
from fedabm.games.curves import Array

__all__ = ["MEMORY", "AnswerCache", "digest"]


class AnswerCache:
    """Arrays of one shape by question, which is a row of whole numbers.

    Parameters
    ----------
    folder : str | Path | None, optional
        Where answers are kept (None: in memory only).
    content : str, optional
        A short text that names everything else that the answers depend on.
    """

    def __init__(self, folder: str | Path | None = None, content: str = "") -> None:
        self._folder = None if folder is None else Path(folder)
        self._content = content
        self._known: dict[bytes, Array] = {}
        if self._folder is not None:
            for path in sorted(self._folder.glob(f"{content}-*.npz")):
                self._read(path)

    def __len__(self) -> int:
        return len(self._known)

    def answers(self, questions: Any, find: Callable[[Any], Array], at_once: int = 1) -> Array:
        """The answers (k, ...) to questions (k, m); those that are not known yet are found, this many at a time."""
        rows = np.ascontiguousarray(questions)
        unknown = {row.tobytes(): place for place, row in enumerate(rows) if row.tobytes() not in self._known}
        places = list(unknown.values())
        for first in range(0, len(places), at_once):
            some = rows[places[first : first + at_once]]
            self._keep(some, find(some))
        return np.array([self._known[row.tobytes()] for row in rows])

    def _keep(self, questions: Array, answers: Array) -> None:
        """Remember, on disk first."""
        if self._folder is not None:
            path = self._folder / f"{self._content}-{digest(questions)}.npz"
            with draft(path, "free some space or choose another folder") as hidden:
                hidden.parent.mkdir(parents=True, exist_ok=True)
                with hidden.open("wb") as file:
                    np.savez(file, questions=questions, answers=answers)
        self._known |= {row.tobytes(): answer for row, answer in zip(questions, answers, strict=True)}

    def _read(self, path: Path) -> None:
        """What a file knows; a damaged one knows nothing and is written anew."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                rows = zip(stored["questions"], stored["answers"], strict=True)
                self._known |= {row.tobytes(): answer for row, answer in rows}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            path.unlink(missing_ok=True)


class _MemoryKind:
    """Answers that are in memory only."""

    _known = Dict(BYTES, Numbers(None))
    schema = _known.schema

    def state(self, value: AnswerCache) -> Any:
        """By question."""
        return self._known.state(value._known)

    def value(self, state: Any) -> AnswerCache:
        """With these answers."""
        made = AnswerCache()
        made._known = self._known.value(state)
        return made


#: how a memory without a folder is saved
MEMORY = _MemoryKind()


def digest(*parts: Any) -> str:
    """A short name for arrays and texts, which changes with any of them."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.shape}{part.dtype}".encode())
            sha.update(np.ascontiguousarray(part).data)
        else:
            sha.update(str(part).encode())
    return sha.hexdigest()[:32]
