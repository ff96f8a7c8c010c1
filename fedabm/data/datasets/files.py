"""Where data files lie, and reading them so that a damaged one is noticed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.common.files import DRAFT

__all__ = ["bundle", "contents", "damaged", "data_folder", "json_lines", "lookup", "matches", "table"]


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """`folder`, or what FEDABM_DATA says, or `fedabm` in the user's cache.

    Parameters
    ----------
    folder : str | os.PathLike[str] | None, optional
        A folder; None: the one of FEDABM_DATA, or the cache.

    Returns
    -------
    Path
        The folder.
    """
    if folder is not None:
        return Path(folder).expanduser()
    if os.environ.get("FEDABM_DATA"):
        return Path(os.environ["FEDABM_DATA"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fedabm"


def matches(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """The files of one layout, sorted; empty unless every pattern finds at least one that has arrived completely.

    Of a file that lies there plain and zipped, the plain one counts.
    """
    found = [_arrived(set(folder.glob(pattern))) for pattern in patterns]
    return [path for paths in found for path in paths] if all(found) else []


def _arrived(paths: set[Path]) -> list[Path]:
    twice = {path for path in paths if path.suffix == ".gz" and path.with_suffix("") in paths}
    return sorted(path for path in paths - twice if path.suffix != DRAFT)


def lookup(folder: Path, *patterns: str) -> Path | None:
    """The first file that fits one of the patterns, tried in turn."""
    return next((path for pattern in patterns for path in matches(folder, (pattern,))), None)


def damaged(path: Path, expected: str, found: str) -> InputError:
    """The error for a file that is not what it should be."""
    return InputError(f"{path} is damaged: expected {expected}, found {found}; delete it and get it again")


def contents(path: Path, md5: str | None = None) -> bytes:
    """The bytes of a plain or gzipped file, after unpacking; checked if `md5` is given."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(path, "a gzip file", str(error)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check the file and its permissions") from None
    found = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if md5 is not None and found != md5:
        raise damaged(path, f"MD5 {md5}", f"{found} ({len(data):,} bytes)")
    return data


def table(path: Path, *needed: str) -> pd.DataFrame:
    """A CSV file as a frame, text kept as written; it must have the `needed` columns."""
    try:
        frame = pd.read_csv(path, keep_default_na=False)
    except (ValueError, EOFError, OSError, zlib.error, pd.errors.ParserError) as error:
        raise damaged(path, "a CSV file", " ".join(str(error).split())) from None
    missing = [column for column in needed if column not in frame]
    if missing:
        raise damaged(path, f"the columns {', '.join(needed)}", f"{', '.join(map(str, frame.columns))}")
    if frame.empty:
        raise damaged(path, "rows below the header", "none")
    return frame


def json_lines(path: Path, *needed: str) -> Iterator[dict[str, Any]]:
    """The objects of a file with one JSON object per line; each must have the `needed` keys."""
    for number, line in enumerate(_text(path).splitlines(), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise damaged(path, f"a JSON object in line {number}", str(error)) from None
        if not isinstance(row, dict) or any(key not in row for key in needed):
            raise damaged(path, f"the keys {', '.join(needed)} in line {number}", line[:40])
        yield row


def bundle(path: Path, *needed: str) -> dict[str, np.ndarray]:
    """The `needed` arrays of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in needed}
    except KeyError as error:
        raise damaged(path, f"the arrays {', '.join(needed)}", f"none called {error}") from None
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError) as error:
        raise damaged(path, "an npz file", " ".join(str(error).split())) from None


def _text(path: Path) -> str:
    try:
        return contents(path).decode()
    except UnicodeDecodeError as error:
        raise damaged(path, "UTF-8 text", str(error)) from None
