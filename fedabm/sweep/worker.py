"""What a worker does: run a batch of jobs, write their results as one part, and tell the leader only how it went.

Before each job it notes in a file which one it is at, so that the leader knows which job a dead worker had in hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from fedabm.common.device import on_device
from fedabm.common.files import clear_drafts, unwritable
from fedabm.results import parts
from fedabm.results.nested import Tables, nest, stack
from fedabm.sweep.jobs import Job, do, failed
from fedabm.sweep.limits import TimeLimit, memory_limit, time_limit
from fedabm.sweep.together import groups_of

__all__ = [
    "Batch",
    "CodeChanged",
    "Done",
    "Note",
    "Settings",
    "merge_parts",
    "peek",
    "read_note",
    "run_batch",
    "write_rows",
]


#: jobs that were done together, and their rows
Stacked = tuple[list[Job], pa.Table]

#: notes and traces of batches, checkpoints of jobs
_OURS = re.compile(r"([0-9a-f]{32})(-\d+)?\.(json|txt|checkpoint|checkpoint\.rows)")


class CodeChanged(Exception):
    """The worker's source code is not the leader's."""


@dataclass(frozen=True)
class Settings:
    """What holds for every job of a sweep."""

    folder: Path
    code: str
    path: tuple[str, ...]
    time_limit: float | None = None
    memory_limit: int | None = None
    checkpoint: float | None = None
    hard: bool = True
    together: bool = True
    device: str = "auto"


@dataclass(frozen=True)
class Batch:
    """Some jobs that one worker does, alike ones `together`, the others one after the other."""

    name: str
    jobs: tuple[Job, ...]
    together: bool = True


@dataclass(frozen=True)
class Done:
    """How a batch went: its part, which jobs failed, the seconds it took, and how many such jobs make a full stack."""

    part: parts.Part
    failed: tuple[str, ...]
    seconds: float
    stack: int = 1


@dataclass(frozen=True)
class Note:
    """What a worker was doing when it last said so."""

    key: str
    began: float
    trace: str


def run_batch(settings: Settings, batch: Batch) -> Done:
    """Do the jobs of a batch and write their part."""
    began = time.perf_counter()
    prepare(settings, batch)
    try:
        with on_device(settings.device):
            rows, stacks, room = _run(settings, batch)
    except OSError as error:  # of the note; what goes wrong in a run is a row
        raise unwritable(settings.folder, error, "free some space and resume") from None
    part = write_rows(settings.folder, batch.name, rows, stacks)
    _clear(settings, batch)
    lost = {job.key for job, tables in rows if tables["runs"]["status"] == "failed"}
    return Done(part, tuple(sorted(lost)), time.perf_counter() - began, room)


def _clear(settings: Settings, batch: Batch) -> None:
    """Remove the note and the checkpoints of a batch that is done; a script has one for each of its runs."""
    keys = {job.key for job in batch.jobs}
    saved = [path for path in (settings.folder / "running").glob("*.checkpoint") if path.stem.split("-")[0] in keys]
    for leftover in (_note(settings, batch), _trace(settings, batch), *saved):
        leftover.unlink(missing_ok=True)
        shutil.rmtree(leftover.with_name(f"{leftover.name}.rows"), ignore_errors=True)


def clear_leftovers(folder: Path, done: Collection[str]) -> None:
    """Remove what killed workers left: notes, drafts, and checkpoints of jobs that are done; no other file."""
    clear_drafts(folder / "running")
    for leftover in (folder / "running").iterdir():
        ours = _OURS.fullmatch(leftover.name)
        if ours and not (ours[3].startswith("checkpoint") and ours[1] not in done):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def _run(settings: Settings, batch: Batch) -> tuple[list[tuple[Job, Tables]], list[Stacked], int]:
    """The tables of all jobs, one by one or of those that were done together; and how many could be done together."""
    rows: list[tuple[Job, Tables]] = []
    with _note(settings, batch).open("w") as note:
        stacks, room = _stacks(settings, batch, note)
        done = {job.key for jobs, _ in stacks for job in jobs}
        for job in batch.jobs:
            if job.key in done:
                continue
            _write_note(note, job.key)
            rows += [(job, tables) for tables in _attempt(settings, batch, job)]
        _write_note(note, " " * len(job.key))  # at no run any more
    return rows, stacks, room


def _stacks(settings: Settings, batch: Batch, note: TextIO) -> tuple[list[Stacked], int]:
    """What was done together, and how many such jobs make a full stack.

    Jobs with a limit of their own, or a checkpoint to go on from, go one by one.
    """
    limited = settings.time_limit is not None or settings.memory_limit is not None
    if limited or not (settings.together and batch.together):
        return [], 1
    jobs = [job for job in batch.jobs if not _saved(settings, job).exists()]
    groups = groups_of(jobs, lambda job: _write_note(note, job.key))
    stacks, room = [], max((group.room for group in groups), default=1)
    for group in groups:
        if len(group.jobs) == 1:
            continue
        _write_note(note, group.jobs[0].key)
        try:
            stacks.append((group.jobs, group.do()))
        except Exception:  # whatever it is, the run that fails says so when it is done by itself
            room = 1
    return stacks, room


def prepare(settings: Settings, batch: Batch) -> None:
    """Make the leader's modules importable, and make sure that they are the leader's."""
    sys.path += [entry for entry in settings.path if entry not in sys.path]
    if batch.jobs[0].target.code != settings.code:
        raise CodeChanged
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _attempt(settings: Settings, batch: Batch, job: Job) -> list[Tables]:
    """The tables of a job, or the row that says why there are none."""
    began = time.perf_counter()
    trace = _trace(settings, batch) if settings.hard else None
    try:
        with time_limit(settings.time_limit, trace), memory_limit(settings.memory_limit):
            return do(job, _saved(settings, job), settings.checkpoint)
    except (Exception, SystemExit, TimeLimit) as error:
        return [failed(job, error, time.perf_counter() - began)]


def _write_note(file: TextIO, key: str) -> None:
    """Over the last note, which is as long."""
    file.seek(0)
    file.write(json.dumps({"key": key, "began": f"{time.time():.3f}"}))
    file.flush()


def write_rows(
    folder: Path, batch: str, rows: Sequence[tuple[Job, Tables]], stacks: Sequence[Stacked] = ()
) -> parts.Part:
    """Write the tables of some runs as one part."""
    singles = [([job for job, _ in rows], nest([tables for _, tables in rows]))] if rows else []
    table = stack([table for _, table in (*singles, *stacks)])
    jobs = [job for jobs, _ in (*singles, *stacks) for job in jobs]
    numbers = _numbers(jobs)
    marks: dict[str, Any] = {
        "key": pa.array([job.key for job in jobs]),
        "attempt": pa.array([job.attempt for job in jobs], pa.int64()),
        "batch": pa.array([batch] * len(jobs)),
        "number": pa.array(numbers, pa.int64()),
    }
    for place, (name, column) in enumerate(marks.items()):
        table = table.add_column(place, name, column)
    return parts.write(table, folder / "parts")


def _numbers(jobs: Sequence[Job]) -> list[int]:
    """For each row, how many rows of the same job come before it."""
    before: Counter[str] = Counter()
    numbers = []
    for job in jobs:
        numbers.append(before[job.key])
        before[job.key] += 1
    return numbers


def merge_parts(settings: Settings, names: Sequence[str]) -> parts.Part:
    """Merge some parts into one."""
    return parts.merge(settings.folder / "parts", names)


def read_note(settings: Settings, batch: Batch) -> Note | None:
    """What the worker of a batch was doing when it died, if it had begun; the note is taken away."""
    path, trace = _note(settings, batch), _trace(settings, batch)
    try:
        found = json.loads(path.read_text())
        text = trace.read_text() if trace.exists() else ""
    except (OSError, ValueError):
        return None
    for leftover in (path, trace):
        with contextlib.suppress(OSError):
            os.unlink(leftover)
    return Note(found["key"], float(found["began"]), text)


def peek(settings: Settings, batch: Batch) -> str:
    """Which run the worker of a batch is at, and since when; nothing if it is at none."""
    try:
        found = json.loads(_note(settings, batch).read_text())
        return f"{found['key']} {found['began']}" if found["key"].strip() else ""
    except (OSError, ValueError):
        return ""


def _note(settings: Settings, batch: Batch) -> Path:
    return settings.folder / "running" / f"{batch.name}.json"


def _trace(settings: Settings, batch: Batch) -> Path:
    return settings.folder / "running" / f"{batch.name}.txt"


def _saved(settings: Settings, job: Job) -> Path:
    return settings.folder / "running" / f"{job.key}.checkpoint"
