"""Killed commands go on when they are given again, to the same results, wherever they were killed.

    python -m tests.fuzz.kills --kills 400 --commands run,sweep,record,audit,compare,report

SIGKILL before every operation on files of a sweep's leader, of its workers, of a study with checkpoints, of a
recording, and of whatever writes a card, a comparison or a report; and then at random times, until there are this many
kills.  After each, the same command must end well, with what one gives that was never interrupted, and without
leftovers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedabm.auditing.card import Card
from fedabm.cli import audit as audit_command
from fedabm.cli import main as fedabm
from fedabm.papers.ledger import recording, replays
from fedabm.papers.ledger.records import records
from fedabm.results import parts
from fedabm.study.library import find
from fedabm.sweep import Grid, Sweep, executors, runner
from tests.dots import draw_dots
from tests.fuzz.injector import NEVER, Injector, in_child
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import build

#: seconds that one attempt may take
PATIENCE = 120.0
#: more often than anything is due
ALWAYS = 1e-9


def sweep(folder: Path) -> None:
    """A part for each run, of which two are merged, and a checkpoint after every step."""
    Sweep(build, Grid(rate=[0.1]), 2, steps=2).run(folder, "serial", checkpoint=ALWAYS, quiet=True)


def sweep_with_workers(folder: Path) -> None:
    """The same in a process of its own."""
    found = Sweep(build, Grid(rate=[0.1]), 2, steps=2).run(folder, "local", 1, checkpoint=ALWAYS, quiet=True)
    assert not found.failed


def checkpointed_study(folder: Path) -> None:
    """Two runs, each saved after every step, and a table."""
    script = Path(__file__).with_name("small_study.py")
    words = ["run", str(script), "--steps", "2", "--checkpoint", str(ALWAYS), "--quiet"]
    assert fedabm([*words, "--out", str(folder)]) == 0


def record(folder: Path) -> None:
    """A recording of that study, on a commit of its own."""
    script = Path(__file__).with_name("small_study.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "clean_commit", lambda: "0" * 40)
        patch.setattr(recording, "_SAVE_EVERY", ALWAYS)
        patch.setattr(replays, "find", lambda _: find(str(script)))
        assert fedabm(["record", str(script), "--out", str(folder)]) == 0


def same_record(one: Path, other: Path) -> None:
    """Equal tables, and a manifest that says that it was replayed."""
    (first,), (second,) = records(one), records(other)
    assert first.manifest["short"]["seconds"] >= 0
    assert sorted(first.tables) == sorted(second.tables)
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(table, second.tables[name], check_exact=True)


_ACCURACY = "accuracy = { kind = 'power_law', exponent = 0.5 }\n"
_OWNERS = "".join(
    f"[[owners]]\nname = '{name}'\ncost = 0.00{place}\ndata = 300\n" for place, name in ((2, "a"), (3, "b"))
)
_GAME = f"{_ACCURACY}mechanism = 'no_payments'\nowners = {{ costs = [0.002, 0.003], capacity = 300 }}\n"
_STUDY = f"question = 'Who gives what?'\nsteps = 3\n{_ACCURACY}[mechanisms]\nnone = 'no_payments'\n{_OWNERS}"


def _beside(folder: Path, name: str, text: str) -> str:
    """A file that is there before the command is."""
    path = folder.parent / name
    if not path.exists():  # a study that was changed since is another one
        path.write_text(text)
    return str(path)


def audit(folder: Path) -> None:
    """A card with all its files."""
    assert fedabm(["audit", _beside(folder, "game.toml", _GAME), "--quick", "--out", str(folder)]) == 0


def compare(folder: Path) -> None:
    """Two seeds of one rule."""
    words = ["compare", _beside(folder, "study.toml", _STUDY), "--seeds", "2", "--quiet"]
    assert fedabm([*words, "--out", str(folder)]) == 0


def report(folder: Path) -> None:
    """A page of a run that is there."""
    run = folder.with_name("run to report")
    if not run.exists():
        checkpointed_study(run)
    folder.mkdir(exist_ok=True)
    assert fedabm(["report", str(run), "--html", str(folder / "report.html")]) == 0


def same_files(one: Path, other: Path) -> None:
    """The same files, with the same texts."""
    first, second = (
        {path.relative_to(root): path for path in root.rglob("*") if path.is_file()} for root in (one, other)
    )
    assert sorted(first) == sorted(second)
    for name in first:
        if name.suffix in (".csv", ".html", ".md", ".txt"):
            assert first[name].read_text() == second[name].read_text(), name


@dataclass
class Tally:
    """What was killed so far, and what did not survive it."""

    kills: int = 0
    points: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


@dataclass
class Victim:
    """Something to kill: what it does, whether its workers are killed or itself, and how it ends if it is not."""

    name: str
    work: Callable[[Path], None]
    root: Path
    workers: bool = False
    same: Callable[[Path, Path], None] | None = None

    def __post_init__(self) -> None:
        # Here, and not in a copy, so that copies know already what is found out once per process.
        self.whole = self.root / f"{self.name} whole"
        self.work(self.whole)
        began = time.monotonic()
        assert in_child(lambda: self.work(self.root / f"{self.name} timed"), None, PATIENCE) == 0
        self.seconds = time.monotonic() - began

    def at_point(self, point: int, tally: Tally) -> bool:
        """Kill it instead of its next operation after this many; whether it was still at work then."""
        return self._kill(f"operation {point}", point, NEVER, tally)

    def at_time(self, seconds: float, tally: Tally) -> None:
        """Kill it after this many seconds."""
        self._kill(f"{seconds:.3f} s", NEVER, seconds, tally)

    def _kill(self, when: str, point: int, after: float, tally: Tally) -> bool:
        folder, token = self.root / "killed", self.root / "token"
        shutil.rmtree(folder, ignore_errors=True)
        token.unlink(missing_ok=True)
        injector = Injector(str(folder), point, str(token), self.workers)
        code = in_child(lambda: self.work(folder), injector, PATIENCE, after)
        killed = token.exists() or code == -9
        tally.kills += killed
        reason = self._trouble(folder, code) if killed or code != 0 else ""
        if reason:
            tally.lost.append(f"{self.name}, killed at {when}: {reason}")
        return killed

    def _trouble(self, folder: Path, code: int | None) -> str:
        """What is wrong after the same command was given again; nothing if all is well."""
        if code is None or code > 0 or (self.workers and code != 0):
            return f"it ended with {code}"
        again = in_child(lambda: self.work(folder), None, PATIENCE)
        if again != 0:
            return f"the same command ended with {again}"
        try:
            (self.same or assert_same_frames)(folder, self.whole)
        except Exception as error:
            return f"other frames: {error}"
        ours = (".part", ".checkpoint", ".rows", ".corrupt")
        left = [path.name for path in folder.rglob("*") if path.name.endswith(ours)]
        return f"leftovers {left}" if left or list(folder.rglob(".running")) else ""


def every_point(victim: Victim, tally: Tally, stride: int = 1, first: int = 0) -> None:
    """Kill it at every (or every so many) operation until it has none left."""
    point = first
    while victim.at_point(point, tally):
        point += stride
    tally.points[victim.name] = point


def random_times(victims: list[Victim], tally: Tally, kills: int, rng: random.Random) -> None:
    """Kill one after the other at random times until there are this many kills."""
    timed = [victim for victim in victims if not victim.workers]
    attempts = 0
    while tally.kills < kills and attempts < 3 * kills:
        victim = timed[attempts % len(timed)]
        victim.at_time(rng.uniform(0.0, victim.seconds), tally)
        attempts += 1


def once(work: Callable[..., Card]) -> Callable[..., Card]:
    """The audit, which is asked for many times, done once: only its files matter here."""
    known: list[Card] = []

    def kept(*given: Any) -> Card:
        known[:] = known or [work(*given)]
        return known[0]

    return kept


COMMANDS = ("run", "sweep", "record", "audit", "compare", "report")


def victims(root: Path, commands: Sequence[str] = COMMANDS) -> Iterator[Victim]:
    """All there is to kill."""
    known: dict[str, list[Callable[[], Victim]]] = {
        "sweep": [
            lambda: Victim("leader of a sweep", sweep, root),
            lambda: Victim("worker of a sweep", sweep_with_workers, root, workers=True),
            lambda: Victim("leader of workers", sweep_with_workers, root),
        ],
        "run": [lambda: Victim("study with checkpoints", checkpointed_study, root)],
        "record": [lambda: Victim("recording", record, root, same=same_record)],
        "audit": [lambda: Victim("audit", audit, root, same=same_files)],
        "compare": [lambda: Victim("comparison", compare, root)],
        "report": [lambda: Victim("report", report, root, same=same_files)],
    }
    for command in commands:
        for make in known[command]:
            yield make()


def hunt(
    kills: int,
    seed: int = 0,
    stride: int = 1,
    told: Callable[[str], None] = print,
    commands: Sequence[str] = COMMANDS,
    *,
    dots: bool = False,
) -> Tally:
    """Kill at every point, then at random times; with `dots` pictures are dots, to be quick."""
    tally, rng = Tally(), random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(runner, "BATCH_SECONDS", ALWAYS)
        patch.setattr(parts, "MANY", 2)
        patch.setattr(executors, "_FRESH", multiprocessing.get_context("fork"))  # so that a worker is there at once
        patch.setattr(audit_command, "audit", once(audit_command.audit))
        if dots:
            draw_dots(patch)
        found = []
        for victim in victims(Path(name), commands):
            every_point(victim, tally, stride, rng.randrange(stride))
            told(f"{victim.name}: {tally.points[victim.name]} operations, {tally.kills} kills so far")
            found.append(victim)
        random_times(found, tally, kills, rng)
    return tally


def main() -> int:
    """Print what was found; the exit code says whether anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--commands", default=",".join(COMMANDS), help="which, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    tally = hunt(options.kills, options.seed, commands=options.commands.split(","))
    for one in tally.lost:
        print(f"--- lost: {one}")
    points = sum(tally.points.values())
    seconds = time.perf_counter() - began
    print(
        f"{tally.kills} kills ({points} operations on files, the rest at random times) in {seconds:.0f} s: "
        f"{len(tally.lost)} lost"
    )
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
