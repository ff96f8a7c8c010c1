"""Results of training, remembered by content: in memory and, if a folder is given, on disk for the next run.

Every result is a file of its own, written beside its place and then moved there, so that a computation that is killed
resumes with all results it had and never reads half of one.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedabm.common.errors import InputError
from fedabm.learning.engine.engine import Engine

__all__ = ["Memory", "Result", "fingerprint"]


@dataclass(frozen=True)
class Result:
    """Everybody's accuracy (n,) and whose update was dropped on the way (n,)."""

    accuracy: np.ndarray
    dropped: np.ndarray


@dataclass(frozen=True)
class Memory:
    """Results by key, in memory and in `folder` (None: in memory only)."""

    folder: Path | None = None
    known: dict[str, Result] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.folder is not None:
            object.__setattr__(self, "folder", Path(self.folder))

    def recall(self, key: str) -> Result | None:
        """The result with this key, if there is one; a damaged file counts as none and is written anew."""
        if key not in self.known and self.folder is not None and self._file(key).is_file():
            try:
                with np.load(self._file(key)) as stored:
                    self.known[key] = Result(stored["accuracy"], stored["dropped"])
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                self._file(key).unlink(missing_ok=True)
        return self.known.get(key)

    def keep(self, key: str, result: Result) -> Result:
        """Remember a result."""
        self.known[key] = result
        if self.folder is not None:
            self._write(self._file(key), result)
        return result

    def _file(self, key: str) -> Path:
        return Path(self.folder or "") / f"{key}.npz"

    def _write(self, path: Path, result: Result) -> None:
        part = path.with_name(f".{path.name}-{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                np.savez(file, accuracy=result.accuracy, dropped=result.dropped)
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise InputError(
                f"cannot write {path}: {error.strerror or error}; free some space or choose another folder"
            ) from None


def fingerprint(engine: Engine, *settings: Any) -> str:
    """What results depend on, as a short text: data, network with its initial weights, device and settings."""
    data, sha = engine.data, hashlib.sha256()
    for array in (data.x_train, data.y_train, data.offsets, data.x_test, data.y_test, data.test_offsets):
        sha.update(f"{array.shape}{array.dtype}".encode())
        sha.update(np.ascontiguousarray(array).data)
    sha.update(f"{engine.describe()}{engine.device.type}{torch.__version__}".encode())
    sha.update(engine.initial(0).cpu().numpy().tobytes())
    sha.update(repr(settings).encode())
    return sha.hexdigest()[:32]
