"""What a sweep was asked for, in its folder: a manifest, and beside it the list of jobs that the manifest names.

sweep.json             target, design, seeds, versions
design-DIGEST.parquet  the jobs in order: key, cell, seed and parameters (as JSON)
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common.errors import InputError
from fedabm.common.files import clear_drafts, draft, write

__all__ = ["LISTS", "SWEEP", "read_design", "read_manifest", "write_design"]

SWEEP = "sweep.json"
#: the names of lists of jobs
LISTS = "design-*.parquet"
_OURS = re.compile(r"design-[0-9a-f]{16}\.parquet")
#: how a sweep's files are arranged; other numbers come from other versions
FORMAT = 1


def write_design(folder: Path, jobs: pa.Table, manifest: dict[str, Any]) -> None:
    """Put the list of jobs and then the manifest in place; older lists go."""
    clear_drafts(folder)
    name = LISTS.replace("*", manifest["design_digest"])
    with draft(folder / name) as path:
        pq.write_table(jobs, path)
    note = {"format": FORMAT, **manifest, "jobs": jobs.num_rows, "list": name}
    write(folder / SWEEP, json.dumps(note, indent=2) + "\n")
    for other in folder.glob(LISTS):
        if other.name != name and _OURS.fullmatch(other.name):
            other.unlink(missing_ok=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What was asked for."""
    try:
        manifest = json.loads((folder / SWEEP).read_text(encoding="utf-8"))
        known = manifest["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / SWEEP} cannot be read ({error}); start the sweep again in that folder") from None
    if not known:
        raise InputError(f"{folder} was written by another version of fedabm; use that version or another --out")
    return manifest


def read_design(folder: Path) -> pa.Table:
    """The list of jobs."""
    for _ in range(10):  # the list may be replaced between reading its name and reading it
        path = folder / Path(str(read_manifest(folder).get("list"))).name
        with contextlib.suppress(FileNotFoundError):
            try:
                return pq.ParquetFile(path).read()
            except pa.ArrowInvalid as error:
                raise InputError(f"{path} is damaged ({error}); start the sweep again in that folder") from None
    raise InputError(f"{folder} has no list of jobs; start the sweep again in that folder")
