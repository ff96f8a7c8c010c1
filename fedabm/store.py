"""Frames on disk: four Parquet files and a manifest that is enough to repeat the run.

Files are written under temporary names and put in place by renaming, the manifest last: a folder with a manifest is
complete, and nothing that was there before is ever damaged.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.errors import InputError
from fedabm.frames import COLUMNS, Frames

__all__ = ["claim", "load", "save"]

MANIFEST = "manifest.json"


def claim(folder: str | Path) -> Path:
    """Make sure that a folder can take a new run, before any work is done; return it."""
    folder = Path(folder)
    taken = [name for name in (MANIFEST, *(f"{name}.parquet" for name in COLUMNS)) if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder} already holds a run ({taken[0]}); choose another --out or remove that folder first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; choose a writable --out") from None
    return folder


def save(frames: Frames, folder: str | Path, manifest: dict[str, Any] | None = None) -> list[Path]:
    """Write the frames and the manifest into a folder that holds no run yet; return the paths."""
    folder = claim(folder)
    parts = [folder / f".{name}.parquet.part" for name in COLUMNS]
    wanted = [folder / f"{name}.parquet" for name in COLUMNS]
    note = folder / f".{MANIFEST}.part"
    try:
        for name, part in zip(COLUMNS, parts, strict=True):
            getattr(frames, name).to_parquet(part, index=False)
        note.write_text(json.dumps({"format": 1, **(manifest or {}), "columns": COLUMNS}, indent=2) + "\n")
        for part, path in zip(parts, wanted, strict=True):
            part.replace(path)
        note.replace(folder / MANIFEST)
    except OSError as error:
        for leftover in (*parts, note, *wanted):
            with contextlib.suppress(OSError):
                leftover.unlink()
        raise InputError(
            f"cannot write to {folder}: {error.strerror or error}; free some space and run again"
        ) from None
    return [*wanted, folder / MANIFEST]


def load(folder: str | Path) -> Frames:
    """Read the frames of a run folder: an object with pandas frames .runs, .steps, .owners and .transfers."""
    folder = Path(folder)
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} holds no run (no {MANIFEST}); give a folder that `fedabm run --out` has written")
    return Frames(**{name: _read(folder / f"{name}.parquet") for name in COLUMNS})


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the study again") from None
