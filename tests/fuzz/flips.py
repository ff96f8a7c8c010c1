"""A flipped bit in any file of a run, a sweep or a record is noticed: one line, or the very same numbers and pictures.

    python -m tests.fuzz.flips --files all --tries 2000 [--seed 0]

A study with a table and a picture and a sweep are done once, and a record is copied.  Then single bits of their files
are flipped, some files are cut short and some exchanged with others of the same name, and everything is read as a
report or the ledger reads it.  Whatever reads other numbers without a word, or fails in another way than by one line,
is wrong; exit code 1 if anything is.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fedabm.cli import main as fedabm
from fedabm.common.errors import FedabmError
from fedabm.papers.ledger.records import RecordedRun, records
from fedabm.report.folder import read
from fedabm.sweep import Grid, Sweep
from tests.sweep.targets import build

KINDS = ("parquet", "json", "csv", "png")
#: files that hold no results: locks, and what a run leaves for its like
_SILENT = ("lock",)


@dataclass
class Tally:
    """What was tried, how it ended, and what went wrong."""

    tries: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def make(root: Path) -> list[Path]:
    """A run and a sweep, done, and the smallest record."""
    smallest = min(records(), key=lambda one: sum(path.stat().st_size for path in one.folder.iterdir()))
    shutil.copytree(smallest.folder, root / "record")
    run, sweep, other = root / "run", root / "sweep", root / "other"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        script = str(Path(__file__).with_name("flipped_study.py"))
        for place, seed in ((run, "0"), (other, "1")):
            if fedabm(["run", script, "--out", str(place), "--seed", seed, "--quiet"]) != 0:
                raise RuntimeError("the study that is to be damaged does not run")
        Sweep(build, Grid({"rate": [0.01, 0.02, 0.03]}), seeds=2).run(sweep)
    return [run, sweep, root / "record"]


def fingerprint(folder: Path) -> str:
    """A digest of all that a report reads, or the ledger."""
    if folder.name == "record":
        return _fingerprint_of(RecordedRun(folder))
    source = read(folder)
    frames = source.frames
    digest = hashlib.sha256(json.dumps(source.manifest, sort_keys=True).encode())
    for name in ("runs", "steps", "owners", "transfers", "strategies", "imports"):
        digest.update(_bytes(getattr(frames, name)))
    for name, table in sorted(source.tables.items()):
        digest.update(name.encode() + _bytes(table))
    for name, picture in sorted(source.pictures.items()):
        digest.update(name.encode() + picture)
    return digest.hexdigest()


def _fingerprint_of(record: RecordedRun) -> str:
    digest = hashlib.sha256(json.dumps(record.manifest, sort_keys=True).encode())
    for name, table in sorted(record.tables.items()):
        digest.update(name.encode() + _bytes(table))
    return digest.hexdigest()


def _bytes(frame: pd.DataFrame) -> bytes:
    text = frame.to_csv(index=False)
    return (text + "|".join(map(str, frame.dtypes))).encode()


def chosen(folders: list[Path], wanted: str) -> list[Path]:
    """The files to damage."""
    kinds = KINDS if wanted == "all" else wanted.split(",")
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    if wanted == "all":
        return [path for path in found if path.name not in _SILENT]
    return [path for path in found if path.suffix.lstrip(".") in kinds]


def damages(path: Path, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """One damage after the other: mostly single bits."""
    content = path.read_bytes()
    while True:
        spoilt = bytearray(content)
        kind = rng.random()
        if kind < 0.9 and content:
            place, bit = rng.randrange(len(content)), rng.randrange(8)
            spoilt[place] ^= 1 << bit
            yield f"bit {bit} of byte {place} of {len(content)} flipped", bytes(spoilt)
        elif kind < 0.95:
            cut = rng.randrange(len(content) + 1)
            yield f"cut to {cut} of {len(content)} bytes", bytes(spoilt[:cut])
        else:
            other = path.parent.with_name("other") / path.name
            yield "another run's", other.read_bytes() if other.is_file() else bytes(spoilt) + b"\0"


def hunt(tries: int, wanted: str = "all", seed: int = 0, told: Callable[[str], object] = print) -> Tally:
    """Damage this many files, one at a time, and read."""
    tally, rng = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as temporary:
        folders = make(Path(temporary))
        right = {folder: fingerprint(folder) for folder in folders}
        files = chosen(folders, wanted)
        streams = {path: damages(path, random.Random(rng.random())) for path in files}
        for _ in range(tries):
            path = rng.choice(files)
            folder = next(one for one in folders if one in path.parents)
            what, spoilt = next(streams[path])
            end = attempt(path, spoilt, folder, right[folder])
            tally.tries += 1
            tally.ends[end.partition(":")[0]] += 1
            if end.partition(":")[0] not in ("refused in one line", "the same"):
                tally.wrong.append(f"{path.relative_to(temporary)}, {what}: {end}")
                told(f"--- {tally.wrong[-1]}")
    return tally


def attempt(path: Path, spoilt: bytes, folder: Path, right: str) -> str:
    """What comes of reading a folder with this damage; afterwards it is whole again."""
    before = path.read_bytes()
    path.write_bytes(spoilt)
    try:
        return "the same" if fingerprint(folder) == right else "OTHER NUMBERS"
    except FedabmError as error:
        return "refused in one line" if "\n" not in str(error) else f"MANY LINES: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {traceback.format_exc().splitlines()[-1]}"
    finally:
        path.write_bytes(before)


def main() -> int:
    """Print what was found; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", default="all", help=f"all, or some of {', '.join(KINDS)}")
    parser.add_argument("--tries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    tally = hunt(options.tries, options.files, options.seed)
    for end, count in sorted(tally.ends.items()):
        print(f"{count:7d}  {end}")
    print(f"{len(tally.wrong)} of {tally.tries} damaged files went wrong, {time.perf_counter() - began:.0f} s")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
