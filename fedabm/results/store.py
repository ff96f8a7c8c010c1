"""Frames on disk: a Parquet file each and a manifest that is enough to repeat the run.

The manifest comes last: a folder with a manifest is complete.  What is about to be saved is noted first, so that the
files of a process that was killed while it saved are known for what they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.common.errors import InputError, UnreadableError, check_kind, shown
from fedabm.common.files import as_path, clear_drafts, draft, probe, read_json, unwritable, write
from fedabm.results.design import SWEEP
from fedabm.results.frames import COLUMNS, Frames, no_rows, versions
from fedabm.results.seals import digest_of_file, read_sealed, sealed
from fedabm.results.selection import choose_columns, choose_runs
from fedabm.results.sweeps import load_sweep

__all__ = ["MANIFEST", "WATCHED", "check_others", "claim", "is_complete", "load", "made_by", "save", "take_back"]

MANIFEST = "manifest.json"
#: how the files are arranged; other numbers come from other versions
FORMAT = 1
#: the folder beside them in which watchers write while a run goes on
WATCHED = "watch"

#: frames that folders of older versions do not have
LATER = ("strategies", "imports")

#: the names of the files that are being saved
_NOTE = ".saving.json"
_REMEDY = "free some space and run again"

#: writes one file to the path it is given
Writer = Callable[[Path], Any]


def claim(folder: str | Path) -> Path:
    """Make sure that a folder can take a new run, before any work is done; return it."""
    folder = as_path("the folder of a run", folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = sorted(entry.name for entry in folder.iterdir() if not _expected(entry))
        if taken:
            what = "a run" if MANIFEST in taken else "files"
            raise InputError(
                f"{folder} already holds {what} ({taken[0]}); choose another --out or empty that folder first"
            )
        probe(folder)
    except OSError as error:
        raise unwritable(folder, error, "choose a writable --out") from None
    return folder


def _expected(entry: Path) -> bool:
    """Hidden files, and what watchers have written."""
    return entry.name.startswith(".") or (entry.name == WATCHED and entry.is_dir())


def save(
    frames: Frames,
    folder: str | Path,
    manifest: dict[str, Any] | None = None,
    others: dict[str, Writer] | None = None,
) -> list[Path]:
    """Write the frames and the manifest into an empty or new folder; return the paths.

    `others` are further files, by name, each with a function that writes it to a path.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    folder : str | Path
        A new or empty folder.
    manifest : dict[str, Any] | None, optional
        What to say of the run: command, versions, settings.
    others : dict[str, Writer] | None, optional
        Further files by name, each with a function that writes it to a path.

    Returns
    -------
    list[Path]
        The paths that were written.
    """
    check_kind("frames", frames, Frames)
    folder = claim(folder)
    writers = {f"{name}.parquet": _parquet(frames, name) for name in COLUMNS} | (others or {})
    names = [*writers, MANIFEST]
    clear_drafts(folder)
    digests = {}
    try:
        write(folder / _NOTE, json.dumps(names), _REMEDY)
        for name, writer in writers.items():
            with draft(folder / name, _REMEDY) as path:
                writer(path)
                digests[name] = digest_of_file(path)
        content = {"format": FORMAT, **(manifest or {}), "files": names, "digests": digests, "columns": COLUMNS}
        write(folder / MANIFEST, sealed(content), _REMEDY)
    except BaseException:
        take_back(folder)
        raise
    (folder / _NOTE).unlink(missing_ok=True)
    return [folder / name for name in names]


def _parquet(frames: Frames, name: str) -> Writer:
    """Writes a frame; one that comes in pieces goes to disk piece by piece, a row group each."""

    def put(path: Path) -> None:
        pieces = frames.pieces(name)
        first = next(pieces)
        rest = next(pieces, None)
        if rest is None:
            first.to_parquet(path, index=False)
            return
        schema = pa.Schema.from_pandas(first, preserve_index=False)
        with pq.ParquetWriter(path, schema) as writer:
            for piece in chain([first, rest], pieces):
                writer.write_table(pa.Table.from_pandas(piece, schema, preserve_index=False))

    return put


def take_back(folder: Path) -> None:
    """Remove what was saved of a run that is not complete: its manifest says so, or its saving was cut short.

    The file that says so goes last, so that this can be repeated.
    """
    if not (folder / MANIFEST).exists():
        names = [*_names(_json(folder / _NOTE)), _NOTE]
    elif is_complete(folder):
        names = [_NOTE]
    else:
        names = _names(_json(folder / MANIFEST)["files"])
    for name in names:
        (folder / Path(name).name).unlink(missing_ok=True)


def _names(found: Any) -> list[str]:
    """The names in a list of files; what a damaged file says instead is none."""
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a run that came to its end; a manifest that is damaged does not say otherwise."""
    found = _json(folder / MANIFEST)
    cut = isinstance(found, dict) and found.get("complete") is False and "files" in found
    return (folder / MANIFEST).exists() and not cut


def made_by(folder: Path, command: str) -> bool:
    """Whether a folder holds what this command makes, with the versions of today."""
    found = _json(folder / MANIFEST)
    return isinstance(found, dict) and found.get("repeat") == command and found.get("versions") == versions()


def _json(path: Path) -> Any:
    """The content of a JSON file; None if it is not there or damaged."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return None


def load(
    folder: str | Path,
    columns: Mapping[str, Sequence[str] | None] | Sequence[str] | None = None,
    runs: Sequence[int] | str | None = None,
) -> Frames:
    """Read the frames of a run or sweep folder: an object with pandas frames .runs, .steps, .owners and .transfers.

    `columns` are the names of those wanted, in any frame, or a table of such names by frame (None: all of that frame);
    `runs` are the numbers of those wanted, or a condition on the columns of `runs` such as "rate > 0.1".
    What is not wanted is not read.

    Parameters
    ----------
    folder : str | Path
        The folder of a run or a sweep.
    columns : Mapping[str, Sequence[str] | None] | Sequence[str] | None, optional
        The columns wanted, of any frame, or by frame (None: all of that frame).
    runs : Sequence[int] | str | None, optional
        The numbers of the runs wanted, or a condition on the columns of `runs` such as "rate > 0.1".

    Returns
    -------
    Frames
        What was asked for; nothing else is read.
    """
    folder = as_path("the folder of results", folder)
    if os.path.exists(folder / SWEEP):  # unlike Path.exists never raises
        return load_sweep(folder, columns, runs)
    if not os.path.exists(folder / MANIFEST):
        raise InputError(f"{folder} holds no run (no {MANIFEST}); give a folder that `fedabm run --out` has written")
    manifest = _check_format(folder)
    there = _saved(manifest)
    _check_digests(folder, [f"{name}.parquet" for name in there], manifest.get("digests"))
    if columns is None and runs is None:
        return Frames(**{name: _read(folder, name) for name in there})
    known = {name: list(_read(folder, name, rows=False)) if name in there else list(COLUMNS[name]) for name in COLUMNS}
    wanted = choose_columns(known, columns)
    numbers = None if runs is None else choose_runs(_read(folder, "runs"), runs)["run"].tolist()
    picked = {}
    for name in COLUMNS:
        kept = [column for column in known[name] if column == "run" or column in wanted[name]]
        picked[name] = _read(folder, name, kept, numbers) if name in there else no_rows(name)[kept]
    return Frames(**picked)


def _saved(manifest: Mapping[str, Any]) -> list[str]:
    """The frames in a folder: all, but for sums by strategy and imports, which there were not always."""
    files = manifest.get("files", ())
    return [name for name in COLUMNS if name not in LATER or f"{name}.parquet" in files]


def check_others(folder: Path) -> dict[str, Any]:
    """The manifest of a run whose tables and pictures, unless they are gone, are byte for byte what was saved."""
    manifest = _check_format(folder)
    digests = manifest.get("digests")
    if isinstance(digests, dict):
        _check_digests(folder, [name for name in digests if os.path.exists(folder / Path(name).name)], digests)
    return manifest


def _check_digests(folder: Path, names: Sequence[str], digests: Any) -> None:
    """Raise unless these files are byte for byte what was saved; older folders have no digests."""
    if digests is None:
        return
    for path in (folder / Path(name).name for name in names):
        known = digests.get(path.name) if isinstance(digests, dict) else None
        try:
            same = digest_of_file(path) == known
        except OSError as error:
            raise UnreadableError(f"{path} cannot be read ({error.strerror or error}); run the study again") from None
        if not same:
            reason = "it is not what was saved there, but damaged or another run's"
            raise UnreadableError(f"{path} cannot be read ({reason}); run the study again")


def _check_format(folder: Path) -> dict[str, Any]:
    """The manifest; files that another version has arranged in another way are refused."""
    path = folder / MANIFEST
    try:
        manifest = read_sealed(path)
        found = manifest.get("format", FORMAT)
    except (OSError, ValueError, AttributeError) as error:
        raise UnreadableError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the study again") from None
    if not isinstance(manifest.get("files", []), list):
        raise UnreadableError(f"{path} names no list of files, got {shown(manifest['files'])}; run the study again")
    if found != FORMAT:
        writer = dict(manifest.get("versions") or {}).get("fedabm", "another version")
        raise UnreadableError(
            f"{folder} is in format {found}, written by fedabm {writer}, but this version reads format {FORMAT}; "
            "use the version that wrote it or run the study again"
        )
    return manifest


def _read(
    folder: Path,
    name: str,
    columns: list[str] | None = None,
    runs: list[int] | None = None,
    *,
    rows: bool = True,
) -> pd.DataFrame:
    """A frame, or some columns and runs of it, or only its columns."""
    path = folder / f"{name}.parquet"
    try:
        if not rows:
            return pq.read_schema(path).empty_table().to_pandas()
        frame = pd.read_parquet(path, columns=columns, filters=[("run", "in", runs)] if runs else None)
        return frame[:0] if runs == [] else frame
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path} cannot be read ({str(error).splitlines()[0]}); run the study again") from None
