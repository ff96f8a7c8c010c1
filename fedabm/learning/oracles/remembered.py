"""Values of coalitions by content: in memory, and in an append-only file that survives an interruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedabm.common.errors import InputError

__all__ = ["Memory"]


class Memory:
    """Values (judges,) by coalition; the file is named after what they were computed from.

    A record is the coalition as packed bits and its values as float64; a record that was cut off is overwritten.
    """

    def __init__(self, folder: str | Path | None, digest: str, owners: int, judges: int) -> None:
        self._known: dict[bytes, np.ndarray] = {}
        self._record = np.dtype([("who", np.uint8, (-(-owners // 8),)), ("values", np.float64, (judges,))])
        self._path = None if folder is None else Path(folder) / f"coalitions-{digest[:32]}.bin"
        if self._path is not None:
            self._open(self._path)

    def __len__(self) -> int:
        return len(self._known)

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes() if path.exists() else b""
            whole = len(content) // self._record.itemsize * self._record.itemsize
            with path.open("ab") as file:
                file.truncate(whole)
        except OSError as error:
            raise InputError(f"cannot use {path}: {error.strerror}; choose a writable folder") from None
        for row in np.frombuffer(content[:whole], dtype=self._record):
            self._known[row["who"].tobytes()] = row["values"]

    def missing(self, coalitions: np.ndarray) -> np.ndarray:
        """The coalitions that are not known yet, each once."""
        packed = np.packbits(coalitions, axis=1)
        fresh = {row.tobytes(): place for place, row in enumerate(packed) if row.tobytes() not in self._known}
        return coalitions[list(fresh.values())]

    def keep(self, coalitions: np.ndarray, values: np.ndarray) -> None:
        """Remember values, on disk first."""
        rows = np.zeros(len(coalitions), dtype=self._record)
        rows["who"], rows["values"] = np.packbits(coalitions, axis=1), values
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(rows.tobytes())
        for row in rows:
            self._known[row["who"].tobytes()] = row["values"]

    def look_up(self, coalitions: np.ndarray) -> np.ndarray:
        """The values of known coalitions, (k, judges)."""
        found = [self._known[row.tobytes()] for row in np.packbits(coalitions, axis=1)]
        return np.array(found).reshape(len(coalitions), *self._record["values"].shape)
