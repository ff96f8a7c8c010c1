"""The folder of a sweep.

    sweep.json, design-DIGEST.parquet   what was asked for (see `fedabm.results.design`)
    parts/                              the results (see `fedabm.results.parts`)
    running/                            notes of what the workers are doing, and checkpoints
    lock                                held by the process that leads the sweep

A folder that holds nothing but these is a sweep's, however early its leader was killed.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa

from fedabm.common import files
from fedabm.common.errors import InputError
from fedabm.results.design import FORMAT, LISTS, SWEEP, write_design
from fedabm.sweep.designs import plain
from fedabm.sweep.jobs import Job

__all__ = ["check_target", "claim", "lock", "missing", "take_back", "write_jobs"]

_OWN = ("parts", "running", "lock", LISTS)


def claim(folder: str | Path) -> Path:
    """Make sure that a folder can take a sweep: it is new, empty, or holds a sweep already, perhaps only begun."""
    folder = files.as_path("the folder of a sweep", folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
        foreign = [name for name in taken if not any(fnmatch.fnmatch(name, own) for own in _OWN)]
        if foreign and SWEEP not in taken:
            what = "a single run" if "manifest.json" in taken else f"other files ({foreign[0]})"
            raise InputError(f"{folder} holds {what}, not a sweep; choose another --out or empty that folder first")
        for name in ("parts", "running"):
            files.check_no_link(folder / name)
            (folder / name).mkdir(exist_ok=True)
        files.probe(folder / "running")
    except OSError as error:
        raise files.unwritable(folder, error, "choose a writable --out") from None
    return folder


def missing(folder: str | Path) -> list[Path]:
    """The folder and those above it, as far as they are not there yet."""
    folder = files.as_path("the folder of a sweep", folder)
    return [one for one in (folder, *folder.parents) if not one.exists()]


def take_back(made: Sequence[Path]) -> None:
    """Remove the folder of a sweep that was made and then refused, and those above it that hold nothing else."""
    for place, folder in enumerate(made):
        if place == 0:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                folder.rmdir()


def check_target(folder: Path, target: Mapping[str, str]) -> None:
    """Raise if the folder holds a sweep of something else; other designs of the same target may share it."""
    try:
        manifest = files.read_json(folder / SWEEP)
        version, known = manifest["format"], manifest["target"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # none yet, or damaged: it is written anew
    if version != FORMAT:
        raise InputError(f"{folder} was written by another version of fedabm; use that version or another --out")
    if any(known[name] != target[name] for name in ("kind", "name")):
        raise InputError(f"{folder} holds a sweep of {known['name']}, not of {target['name']}; choose another --out")


def lock(folder: Path) -> AbstractContextManager[None]:
    """Hold the folder, so that only one process leads a sweep in it; a killed one lets go by itself."""
    return files.locked(folder / "lock", f"another sweep is at work in {folder}; wait for it or choose another --out")


def write_jobs(folder: Path, jobs: Sequence[Job], manifest: dict[str, Any]) -> None:
    """Put the list of jobs and the manifest in place."""
    table = pa.table(
        {
            "key": [job.key for job in jobs],
            "cell": [job.cell for job in jobs],
            "seed": [job.seed for job in jobs],
            "parameters": [json.dumps(plain(job.parameters)) for job in jobs],
        }
    )
    write_design(folder, table, manifest)
