"""Frames on disk: four Parquet files and a manifest that is enough to repeat the run.

Files are written under temporary names and put in place by renaming, the manifest last: a folder with a manifest is
complete, and nothing that was there before is ever damaged.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.common.errors import InputError
from fedabm.results.frames import COLUMNS, Frames
from fedabm.results.selection import select

__all__ = ["claim", "load", "save"]

MANIFEST, SWEEP = "manifest.json", "sweep.json"
#: how the files are arranged; other numbers come from other versions
FORMAT = 1

#: writes one file to the path it is given
Writer = Callable[[Path], Any]


def claim(folder: str | Path) -> Path:
    """Make sure that a folder can take a new run, before any work is done; return it."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
        if taken:
            what = "a run" if MANIFEST in taken else "files"
            raise InputError(
                f"{folder} already holds {what} ({taken[0]}); choose another --out or empty that folder first"
            )
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; choose a writable --out") from None
    return folder


def save(
    frames: Frames,
    folder: str | Path,
    manifest: dict[str, Any] | None = None,
    others: dict[str, Writer] | None = None,
) -> list[Path]:
    """Write the frames and the manifest into an empty or new folder; return the paths.

    `others` are further files, by name, each with a function that writes it to a path.
    """
    folder = claim(folder)
    note = json.dumps({"format": FORMAT, **(manifest or {}), "columns": COLUMNS}, indent=2) + "\n"
    writers: dict[str, Writer] = {f"{name}.parquet": _parquet(getattr(frames, name)) for name in COLUMNS}
    writers |= {**(others or {}), MANIFEST: lambda path: path.write_text(note)}
    parts = {name: folder / f".{name}.part" for name in writers}
    placed: list[Path] = []
    try:
        for name, part in parts.items():
            writers[name](part)
        for name, part in parts.items():
            placed.append(part.replace(folder / name))
    except BaseException as error:
        for leftover in (*parts.values(), *placed):
            with contextlib.suppress(OSError):
                leftover.unlink()
        if not isinstance(error, OSError):
            raise
        reason = error.strerror or error
        raise InputError(f"cannot write to {folder}: {reason}; free some space and run again") from None
    return placed


def _parquet(frame: pd.DataFrame) -> Writer:
    return lambda path: frame.to_parquet(path, index=False)


def load(
    folder: str | Path,
    columns: Mapping[str, Sequence[str] | None] | Sequence[str] | None = None,
    runs: Sequence[int] | str | None = None,
) -> Frames:
    """Read the frames of a run or sweep folder: an object with pandas frames .runs, .steps, .owners and .transfers.

    `columns` are the names of those wanted, in any frame, or a table of such names by frame (None: all of that frame);
    `runs` are the numbers of those wanted, or a condition on the columns of `runs` such as "rate > 0.1".
    """
    folder = Path(folder)
    if (folder / SWEEP).exists():
        from fedabm.sweep.reading import load_sweep

        return load_sweep(folder, columns, runs)
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} holds no run (no {MANIFEST}); give a folder that `fedabm run --out` has written")
    _check_format(folder)
    frames = Frames(**{name: _read(folder / f"{name}.parquet") for name in COLUMNS})
    return frames if columns is None and runs is None else select(frames, columns, runs)


def _check_format(folder: Path) -> None:
    """Refuse files that another version has arranged in another way."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        found = manifest.get("format", FORMAT)
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the study again") from None
    if found != FORMAT:
        writer = dict(manifest.get("versions") or {}).get("fedabm", "another version")
        raise InputError(
            f"{folder} is in format {found}, written by fedabm {writer}, but this version reads format {FORMAT}; "
            "use the version that wrote it or run the study again"
        )


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the study again") from None
