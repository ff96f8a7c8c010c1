"""Part files: immutable Parquet files in a folder, merged into one when they become many.

A part is named after a digest of its content, so that damage is noticed.  Merging writes a part whose metadata names
those that it replaces, and then deletes them.  A reader ignores replaced parts, so that at any moment it finds every
run once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common import files
from fedabm.common.errors import FedabmError, InputError, UnreadableError
from fedabm.results.nested import stack

__all__ = [
    "PartFile",
    "damaged",
    "due",
    "latest",
    "merge",
    "opened",
    "parts_in",
    "set_aside",
    "tidy",
    "unreadable",
    "write",
]

#: how many small parts are merged into one
MANY = 32
#: bytes from which a part is large and left as it is: it bounds the memory that merging takes, and how often a run is
#: written again
LARGE = 16 * 2**20
#: runs per row group, so that single runs can be read without the rest
GROUP = 256

#: how the names of merged parts begin
_MERGED = "merged-"
_REPLACES = b"replaces"
_NAME = re.compile(rf"({_MERGED})?[0-9a-f]{{32}}\.parquet")


@dataclass(frozen=True)
class PartFile:
    """One part file."""

    name: str
    size: int


def parts_in(folder: Path) -> list[PartFile]:
    """The complete parts in a folder, replaced or not, in order of their names."""
    found = []
    for path in sorted(folder.glob("*.parquet")):
        with contextlib.suppress(FileNotFoundError):  # merged since the listing
            found.append(PartFile(path.name, path.stat().st_size))
    return found


def write(table: pa.Table, folder: Path, replaces: Iterable[str] = ()) -> PartFile:
    """Write a part; when this returns it is there to stay."""
    replaced = sorted(replaces)
    noted = {**(table.schema.metadata or {}), _REPLACES: json.dumps(replaced).encode()}
    buffer = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(noted),
        buffer,
        row_group_size=GROUP,
        compression="zstd",
        write_page_checksum=True,
    )
    content = memoryview(buffer.getvalue())
    name = f"{_MERGED if replaced else ''}{hashlib.sha256(content).hexdigest()[:32]}.parquet"
    files.write(folder / name, content, "free some space and resume")
    return PartFile(name, content.nbytes)


def due(parts: Iterable[PartFile]) -> tuple[str, ...]:
    """The parts to merge now, once the small ones are many: the smallest, up to what makes a large one."""
    small = sorted((part for part in parts if part.size < LARGE), key=lambda part: part.size)
    if len(small) < MANY:
        return ()
    enough = np.searchsorted(np.cumsum([part.size for part in small]), LARGE) + 1
    return tuple(part.name for part in small[:enough])


def merge(folder: Path, names: Sequence[str]) -> PartFile:
    """Merge some parts into one; of several attempts at a run the last is kept."""
    table = stack([_open(folder / name).read() for name in names])
    kept = latest(table)
    table = table if len(kept) == table.num_rows else table.take(pa.array(kept))
    part = write(table, folder, names)
    for name in names:
        (folder / name).unlink(missing_ok=True)
    return part


def latest(table: pa.Table) -> np.ndarray:
    """The rows to keep, in order: of each job those of its last attempt, once, as the first part has them."""
    keys, attempts = table["key"].to_pylist(), table["attempt"].to_pylist()
    sources, numbers = table["batch"].to_pylist(), table["number"].to_pylist()
    best: dict[str, tuple[int, str]] = {}
    for key, attempt, source in zip(keys, attempts, sources, strict=True):
        known = best.get(key)
        if known is None or (attempt, source) > known:
            best[key] = (attempt, source)
    chosen: dict[tuple[str, int], int] = {}
    for row, (key, attempt, source, number) in enumerate(zip(keys, attempts, sources, numbers, strict=True)):
        if best[key] == (attempt, source):
            chosen.setdefault((key, number), row)
    return np.array(list(chosen.values()), dtype=np.int64)


def tidy(folder: Path, *, unfinished: bool = True) -> None:
    """Remove what killed workers left: unfinished files (unless others are at work) and parts with successors."""
    if unfinished:
        files.clear_drafts(folder)
    for name in {name for part in parts_in(folder) for name in _replaced(folder / part.name)}:
        (folder / name).unlink(missing_ok=True)


def damaged(folder: Path) -> list[PartFile]:
    """The parts whose content is not what their names say."""
    return [part for part in parts_in(folder) if not _whole(folder / part.name)]


def set_aside(folder: Path, part: PartFile) -> Path:
    """Rename a damaged part, so that nobody reads it and nothing is deleted."""
    path = folder / part.name
    return path.rename(path.with_name(f"{path.name}.corrupt"))


def opened(folder: Path, *, verify: bool = True) -> dict[str, pq.ParquetFile]:
    """All parts that are not replaced, whole and open: what is deleted meanwhile can still be read.

    Parquet's own checksums leave out page headers, so that a flipped bit there could go unnoticed; digests do not.
    """
    for _ in range(100):
        before = {part.name for part in parts_in(folder)}
        try:
            found = {name: _open(folder / name, verify=verify) for name in sorted(before)}
        except FileNotFoundError:
            continue  # merged meanwhile
        if _settled(before, {part.name for part in parts_in(folder)}):
            gone = {name for file in found.values() for name in _names(file)}
            return {name: file for name, file in found.items() if name not in gone}
    raise InputError(f"the files in {folder} change too fast to be read; try again")


def _settled(before: set[str], after: set[str]) -> bool:
    """Whether nothing was merged between two listings; fresh parts do not matter."""
    return before <= after and not any(name.startswith(_MERGED) for name in after - before)


def _open(path: Path, *, verify: bool = True) -> pq.ParquetFile:
    try:
        if verify and not _whole(path):
            raise unreadable(path, "its content is not what was written")
        return pq.ParquetFile(path, page_checksum_verification=True)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, str(error)) from None


def unreadable(path: Path, reason: str) -> UnreadableError:
    """What to say about a damaged part."""
    reason = reason.splitlines()[0].rstrip(".")
    return UnreadableError(
        f"{path} is damaged ({reason}); start the sweep again: it sets that file aside and repeats its runs"
    )


def _replaced(path: Path) -> list[str]:
    try:
        return _names(_open(path, verify=False))
    except (FedabmError, FileNotFoundError):
        return []


def _names(file: pq.ParquetFile) -> list[str]:
    """The parts that a part replaces; what is no name of a part is not deleted, whoever wrote it there."""
    named = json.loads((file.schema_arrow.metadata or {}).get(_REPLACES, b"[]"))
    return [name for name in named if isinstance(name, str) and _NAME.fullmatch(name)]


def _whole(path: Path) -> bool:
    """Whether the content is what the name says."""
    return _digest(path) == path.stem.split("-")[-1]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
