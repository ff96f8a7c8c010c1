"""What a sweep was asked for, in its folder: a manifest, and beside it the list of jobs that the manifest names.

sweep.json             target, design, seeds, versions
design-DIGEST.parquet  the jobs in order: key, cell, seed and parameters (as JSON)
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common.errors import UnreadableError
from fedabm.common.files import clear_drafts, draft, write
from fedabm.results.seals import digest_of_file, read_sealed, sealed

__all__ = ["ALONE", "ENOUGH", "LISTS", "SWEEP", "add_note", "read_design", "read_manifest", "write_design"]

SWEEP = "sweep.json"
#: the names of lists of jobs
LISTS = "design-*.parquet"
#: the entry of the manifest that says how many runs that might have been stacked were stepped one by one, and why
ALONE = "stepped_alone"
#: the entry of the manifest that says what a rule for the number of seeds came to
ENOUGH = "enough_seeds"
_OURS = re.compile(r"design-[0-9a-f]{16}\.parquet")
#: how a sweep's files are arranged; other numbers come from other versions
FORMAT = 1


def write_design(folder: Path, jobs: pa.Table, manifest: dict[str, Any]) -> None:
    """Put the list of jobs and then the manifest in place; older lists go."""
    clear_drafts(folder)
    name = LISTS.replace("*", manifest["design_digest"])
    with draft(folder / name) as path:
        pq.write_table(jobs, path)
        digest = digest_of_file(path)
    note = {"format": FORMAT, **manifest, "jobs": jobs.num_rows, "list": name, "list_digest": digest}
    write(folder / SWEEP, sealed(note))
    for other in folder.glob(LISTS):
        if other.name != name and _OURS.fullmatch(other.name):
            other.unlink(missing_ok=True)


def add_note(folder: Path, name: str, value: Any) -> None:
    """Add an entry to the manifest, or replace it."""
    write(folder / SWEEP, sealed({**read_manifest(folder), name: value}))


def read_manifest(folder: Path) -> dict[str, Any]:
    """What was asked for."""
    try:
        manifest = read_sealed(folder / SWEEP)
        known = manifest["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableError(
            f"{folder / SWEEP} cannot be read ({error}); start the sweep again in that folder"
        ) from None
    if not known:
        raise UnreadableError(f"{folder} was written by another version of fedabm; use that version or another --out")
    return manifest


def read_design(folder: Path) -> pa.Table:
    """The list of jobs."""
    other = ""
    for _ in range(10):  # the list may be replaced between reading its name and reading it
        manifest = read_manifest(folder)
        path = folder / Path(str(manifest.get("list"))).name
        with contextlib.suppress(FileNotFoundError):
            if manifest.get("list_digest") not in (None, digest_of_file(path)):
                other = f"{path} is damaged (it is not what was written there)"
                continue
            try:
                return pq.ParquetFile(path).read()
            except (OSError, pa.ArrowException) as error:
                other = f"{path} is damaged ({str(error).splitlines()[0]})"
    raise UnreadableError(f"{other or f'{folder} has no list of jobs'}; start the sweep again in that folder")
