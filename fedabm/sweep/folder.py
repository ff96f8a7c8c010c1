"""The folder of a sweep.

    sweep.json            what was asked for: target, design, seeds, versions; names the file with the list of jobs
    design-DIGEST.parquet the jobs in order: key, cell, seed and parameters
    parts/                the results (see `fedabm.sweep.parts`)
    running/              notes of what the workers are doing, and checkpoints
    lock                  held by the process that leads the sweep

Everything but the lock is written under a temporary name and renamed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common.errors import InputError
from fedabm.sweep.designs import plain
from fedabm.sweep.jobs import Job

__all__ = ["MANIFEST", "check_target", "claim", "locked", "read_design", "write_design"]

MANIFEST = "sweep.json"
FORMAT = 1


def claim(folder: str | Path) -> Path:
    """Make sure that a folder can take a sweep: it is new, empty, or holds a sweep already."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
        if taken and MANIFEST not in taken and set(taken) - {"lock", "parts", "running"}:
            what = "a single run" if "manifest.json" in taken else f"other files ({taken[0]})"
            raise InputError(f"{folder} holds {what}, not a sweep; choose another --out or empty that folder first")
        for name in ("parts", "running"):
            (folder / name).mkdir(exist_ok=True)
        probe = folder / "running" / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}; choose a writable --out") from None
    return folder


def check_target(folder: Path, target: Mapping[str, str]) -> None:
    """Raise if the folder holds a sweep of something else; other designs of the same target may share it."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        version, known = manifest["format"], manifest["target"]
    except (OSError, ValueError, KeyError):
        return  # none yet, or damaged: it is written anew
    if version != FORMAT:
        raise InputError(f"{folder} was written by another version of fedabm; use that version or another --out")
    if known != target:
        raise InputError(f"{folder} holds a sweep of {known['name']}, not of {target['name']}; choose another --out")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder, so that only one process leads a sweep in it; a killed one lets go by itself."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another sweep is at work in {folder}; wait for it or choose another --out") from None
        except OSError:
            pass  # a file system without locks: nothing is damaged by two sweeps, they only do the same twice
        yield


def write_design(folder: Path, jobs: Sequence[Job], manifest: dict[str, Any]) -> None:
    """Put the list of jobs and the manifest in place; older lists go."""
    table = pa.table(
        {
            "key": [job.key for job in jobs],
            "cell": [job.cell for job in jobs],
            "seed": [job.seed for job in jobs],
            "parameters": [json.dumps(plain(job.parameters)) for job in jobs],
        }
    )
    name = f"design-{manifest['design_digest']}.parquet"
    note = json.dumps({"format": FORMAT, **manifest, "jobs": len(jobs), "list": name}, indent=2) + "\n"
    try:
        pq.write_table(table, folder / f".{name}.part")
        (folder / f".{name}.part").replace(folder / name)
        (folder / f".{MANIFEST}.part").write_text(note)
        (folder / f".{MANIFEST}.part").replace(folder / MANIFEST)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}; free some space and resume") from None
    for other in folder.glob("design-*.parquet"):
        if other.name != name:
            other.unlink(missing_ok=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What was asked for."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        known = manifest["format"] == FORMAT
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder / MANIFEST} cannot be read ({error}); start the sweep again in that folder"
        ) from None
    if not known:
        raise InputError(f"{folder} was written by another version of fedabm; use that version or another --out")
    return manifest


def read_design(folder: Path) -> pa.Table:
    """The list of jobs."""
    for _ in range(10):  # the list may be replaced between reading its name and reading it
        path = folder / read_manifest(folder)["list"]
        with contextlib.suppress(FileNotFoundError):
            try:
                return pq.ParquetFile(path).read()
            except pa.ArrowInvalid as error:
                raise InputError(f"{path} is damaged ({error}); start the sweep again in that folder") from None
    raise InputError(f"{folder} has no list of jobs; start the sweep again in that folder")
