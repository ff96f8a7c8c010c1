"""Numbers that took training to find, remembered by what they are the answer to.

In memory and, if a folder is given, on disk for the next run: every `at_once` answers are a file of their own, whole or
not there, so that a computation that is killed goes on with all answers it had and never reads half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
import zipfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.files import draft
from fedabm.common.state import BYTES, Dict, Numbers
from fedabm.games.curves import Array

__all__ = ["MEMORY", "AnswerCache", "Recalled", "digest", "recalled"]


@dataclass
class Recalled:
    """Answers that files of before `since` had, and that were asked for: how many, and what finding them had taken.

    `untimed` of them are from files that do not say how long that was.
    """

    since: float
    answers: int = 0
    untimed: int = 0
    seconds: float = 0.0

    def count(self, spent: float) -> None:
        """One more answer, which took this long; nan if nobody knows."""
        self.answers += 1
        if np.isnan(spent):
            self.untimed += 1
        else:
            self.seconds += spent


_WATCHED: ContextVar[Recalled | None] = ContextVar("recalled", default=None)


@contextlib.contextmanager
def recalled() -> Iterator[Recalled]:
    """Count which answers of earlier studies are used inside, each once by memory."""
    found = Recalled(time.time())
    token = _WATCHED.set(found)
    try:
        yield found
    finally:
        _WATCHED.reset(token)


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
        #: seconds by question of answers that earlier studies have found and nobody has asked for since
        self._earlier: dict[bytes, float] = {}
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
            began = time.perf_counter()
            found = find(some)
            self._keep(some, found, time.perf_counter() - began)
        self._tell(rows)
        return np.array([self._known[row.tobytes()] for row in rows])

    def _tell(self, rows: Array) -> None:
        """Whoever counts hears which of these questions an earlier study had answered."""
        watched = _WATCHED.get()
        asked = [row.tobytes() for row in rows] if self._earlier and watched is not None else []
        for question in asked:
            if question in self._earlier and watched is not None:
                watched.count(self._earlier.pop(question))

    def _keep(self, questions: Array, answers: Array, seconds: float) -> None:
        """Remember, on disk first, with the seconds that it took to find all of these."""
        if self._folder is not None:
            path = self._folder / f"{self._content}-{digest(questions)}.npz"
            with draft(path, "free some space or choose another folder") as hidden:
                hidden.parent.mkdir(parents=True, exist_ok=True)
                with hidden.open("wb") as file:
                    np.savez(file, questions=questions, answers=answers, seconds=seconds)
        self._known |= {row.tobytes(): answer for row, answer in zip(questions, answers, strict=True)}

    def _read(self, path: Path) -> None:
        """What a file knows; a damaged one knows nothing and is written anew."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                rows = zip(stored["questions"], stored["answers"], strict=True)
                known = {row.tobytes(): answer for row, answer in rows}
                spent = float(stored["seconds"]) / len(known) if "seconds" in stored.files else np.nan
            watched = _WATCHED.get()
            if watched is not None and path.stat().st_mtime < watched.since:
                self._earlier |= dict.fromkeys(known, spent)
            self._known |= known
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
