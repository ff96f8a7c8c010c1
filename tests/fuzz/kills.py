"""Killed sweeps and studies go on by the same command, to the same frames, wherever they were killed.

    python -m tests.fuzz.kills --kills 300

SIGKILL before every operation on files of a sweep's leader, of its workers, and of a study with checkpoints, and then
at random times, until there are so many kills.  After each, the same command must end well, with the frames of a run
that was never interrupted, and without leftovers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fedabm.cli import main as fedabm
from fedabm.results import parts
from fedabm.sweep import Grid, Sweep, executors, runner
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

    def __post_init__(self) -> None:
        # Here, and not in a copy, so that copies know already what is found out once per process.
        self.whole = self.root / f"{self.name} whole"
        self.work(self.whole)
        began = time.monotonic()
        assert in_child(lambda: self.work(self.root / f"{self.name} timed"), None, PATIENCE) == 0
        self.seconds = time.monotonic() - began

    def at_point(self, point: int, tally: Tally) -> bool:
        """Kill it instead of its next operation after so many; whether it was still at work then."""
        return self._kill(f"operation {point}", point, NEVER, tally)

    def at_time(self, seconds: float, tally: Tally) -> None:
        """Kill it after so many seconds."""
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
            assert_same_frames(folder, self.whole)
        except Exception as error:
            return f"other frames: {error}"
        left = [path.name for path in folder.rglob("*") if path.name.endswith((".part", ".checkpoint", ".corrupt"))]
        return f"leftovers {left}" if left or (folder / ".running").exists() else ""


def every_point(victim: Victim, tally: Tally, stride: int = 1, first: int = 0) -> None:
    """Kill it at every (or every so many) operation until it has none left."""
    point = first
    while victim.at_point(point, tally):
        point += stride
    tally.points[victim.name] = point


def random_times(victims: list[Victim], tally: Tally, kills: int, rng: random.Random) -> None:
    """Kill one after the other at random times until there are so many kills."""
    timed = [victim for victim in victims if not victim.workers]
    attempts = 0
    while tally.kills < kills and attempts < 3 * kills:
        victim = timed[attempts % len(timed)]
        victim.at_time(rng.uniform(0.0, victim.seconds), tally)
        attempts += 1


def victims(root: Path) -> Iterator[Victim]:
    """All there is to kill."""
    yield Victim("leader of a sweep", sweep, root)
    yield Victim("study with checkpoints", checkpointed_study, root)
    yield Victim("worker of a sweep", sweep_with_workers, root, workers=True)
    yield Victim("leader of workers", sweep_with_workers, root)


def hunt(kills: int, seed: int = 0, stride: int = 1, told: Callable[[str], None] = print) -> Tally:
    """Kill at every point, then at random times."""
    tally, rng = Tally(), random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(runner, "BATCH_SECONDS", ALWAYS)
        patch.setattr(parts, "MANY", 2)
        patch.setattr(executors, "_FRESH", multiprocessing.get_context("fork"))  # so that a worker is there at once
        found = []
        for victim in victims(Path(name)):
            every_point(victim, tally, stride, rng.randrange(stride))
            told(f"{victim.name}: {tally.points[victim.name]} operations, {tally.kills} kills so far")
            found.append(victim)
        random_times(found, tally, kills, rng)
    return tally


def main() -> int:
    """Print what was found; the exit code says whether anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    tally = hunt(options.kills, options.seed)
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
