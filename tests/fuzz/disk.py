"""A disk that refuses at any operation costs a warning or one line, and nothing that a second attempt could miss.

    python -m tests.fuzz.disk --faults 300

The n-th operation on files of run, sweep, compare, audit and report fails, for want of space, of permission or of a
sound disk, once or from then on.  The command must end with exit code 2 and one line, or go on and say so in lines of
its own.  When the disk is well again, the same command must end with what it gives on a sound disk, without leftovers.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fedabm.auditing.card import Card
from fedabm.cli import audit as audit_command
from fedabm.cli import main as fedabm
from fedabm.comparison.example import EXAMPLE, GAME
from fedabm.results import parts
from fedabm.sweep import runner
from tests.dots import draw_dots
from tests.fuzz.injector import _CHANGES, _WRITING
from tests.sweep.helpers import assert_same_frames

#: what is tried
COMMANDS = ("run", "sweep", "compare", "audit", "report")
#: more often than anything is due
ALWAYS = "1e-9"
#: what fails for which reason: a full disk still lets files be renamed and removed
FAILS = {
    errno.ENOSPC: {"open", "os.mkdir", "os.fsync"},
    errno.EACCES: {"open", "os.mkdir", "os.rename", "os.remove"},
    errno.EIO: {"open", "os.mkdir", "os.rename", "os.remove", "os.fsync"},
}
#: what no command may leave behind
LEFTOVERS = (".part", ".checkpoint", ".rows", ".corrupt", ".running", ".saving.json")
STUDY = EXAMPLE.partition("figures")[0] + "figures = []\n" + EXAMPLE.partition("# The rules")[2].partition("\n")[2]
SWEEP = 'function = "tests.sweep.targets:build"\nseeds = 2\nsteps = 2\n[design]\nrate = [0.1]\n'


@dataclass
class Fault:
    """Refuses the n-th operation on files below a folder that this reason can refuse, and with `lasting` all later."""

    folder: str
    point: int
    reason: int
    lasting: bool
    count: int = 0

    def install(self) -> None:
        """In this process, for the rest of its life."""
        sys.addaudithook(self.hear)
        sound = os.fsync

        def fsync(number: Any) -> None:
            self.hear("os.fsync", (f"/proc/self/fd/{number if isinstance(number, int) else number.fileno()}",))
            sound(number)

        os.fsync = fsync

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What Python is about to do; Python takes what is raised here for the operation's own error."""
        if event not in FAILS[self.reason] or not self._matters(event, arguments):
            return
        self.count += 1
        if self.count == self.point or (self.lasting and self.count > self.point):
            raise OSError(self.reason, os.strerror(self.reason), str(arguments[0]))

    def _matters(self, event: str, arguments: tuple[Any, ...]) -> bool:
        path = arguments[0]
        if not isinstance(path, str | os.PathLike):
            return False
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return False
        name = os.fspath(path)
        if event == "os.fsync":
            name = os.readlink(name)
        elif event in _CHANGES and isinstance(arguments[_CHANGES[event]], int) and arguments[_CHANGES[event]] >= 0:
            name = os.path.join(os.readlink(f"/proc/self/fd/{arguments[_CHANGES[event]]}"), name)
        return os.path.abspath(name).startswith(self.folder)


@dataclass(frozen=True)
class End:
    """How a command ended, and what it said on the error stream."""

    code: int
    said: str
    refused: bool = False

    @property
    def trouble(self) -> str:
        """What is wrong with it; nothing if all is well."""
        lines = self.said.splitlines()
        ours = all(line.startswith("fedabm: ") for line in lines)
        if "Traceback" in self.said or not ours or self.code not in (0, 2):
            return f"it ended with {self.code}: {self.said[-700:]}"
        if self.code == 2 and not lines:
            return "it ended with 2 and said nothing"
        errors = [line for line in lines if not line.startswith("fedabm: no checkpoint")]
        return f"more than one line: {self.said}" if len(errors) > 1 else ""


@dataclass(frozen=True)
class Command:
    """A command line, what must be there before, and how its result is compared with that of a sound disk."""

    name: str
    words: tuple[str, ...]
    same: Callable[[Path, Path], None]
    before: Callable[[Path], None] = field(default=lambda folder: None)

    def prepare(self, folder: Path) -> None:
        """A fresh folder in which it can be given."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, text in (("study.toml", STUDY), ("game.toml", GAME), ("sweep.toml", SWEEP)):
            (folder / name).write_text(text)
        self.before(folder)

    def give(self, folder: Path, fault: Fault | None = None) -> End:
        """Give it in that folder, in a copy of this process."""
        said, token = folder.with_name("said"), folder.with_name("refused")
        token.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _live(self.words, folder, fault, said, token)
        _, status = os.waitpid(child, 0)
        return End(os.waitstatus_to_exitcode(status), said.read_text(), token.exists())


def _live(words: tuple[str, ...], folder: Path, fault: Fault | None, said: Path, token: Path) -> None:
    """The life of the copy."""
    code = 70
    try:
        sys.stdout, sys.stderr = Path(os.devnull).open("w"), said.open("w", buffering=1)  # noqa: SIM115
        os.chdir(folder)
        if fault is not None:
            fault.install()
        code = fedabm(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        if fault is not None and fault.count >= fault.point:
            token.touch()
        os._exit(code)


def same_files(one: Path, other: Path) -> None:
    """The same names, and the same texts."""
    same_names(one, other)
    for path in sorted((one / "out").rglob("*")):
        if path.suffix in (".html", ".json", ".csv"):
            assert path.read_bytes() == (other / path.relative_to(one)).read_bytes(), path.name


def same_frames(one: Path, other: Path) -> None:
    """The same names but for parts, which are called after their content, and the same frames."""
    same_names(one, other)
    assert_same_frames(one / "out", other / "out")


def same_names(one: Path, other: Path) -> None:
    """Neither has a file that the other lacks."""
    found = set(_names(one)) ^ set(_names(other))
    assert not found, f"only one has {sorted(found)}"


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.parent.name != "parts")


def run_before(folder: Path) -> None:
    """A run to report on."""
    shutil.copytree(folder.with_name("reported"), folder / "out")


def commands(root: Path) -> Iterator[Command]:
    """All that are tried."""
    script = str(Path(__file__).with_name("small_study.py"))
    common = ("--quiet", "--out", "out")
    yield Command("run", ("run", script, "--steps", "2", "--checkpoint", ALWAYS, *common), same_frames)
    yield Command(
        "sweep", ("sweep", "sweep.toml", "--executor", "serial", "--checkpoint", ALWAYS, *common), same_frames
    )
    compared = ("compare", "study.toml", "no_payments", "shapley_share", "--seeds", "1", "--steps", "2")
    yield Command("compare", (*compared, *common), same_frames)
    yield Command("audit", ("audit", "game.toml", "--quick", "--out", "out"), same_files)
    assert fedabm(["run", script, "--steps", "2", "--quiet", "--out", str(root / "reported")]) == 0
    yield Command("report", ("report", "out"), same_files, run_before)


@dataclass
class Tally:
    """What was refused so far, and what went wrong after it."""

    faults: int = 0
    went_on: int = 0
    by_command: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def attempt(command: Command, whole: Path, fault: Fault, tally: Tally) -> bool:
    """Give a command on a bad disk and again on a sound one; whether anything was refused."""
    folder = Path(fault.folder)
    command.prepare(folder)
    end = command.give(folder, fault)
    if not end.refused:
        return False
    tally.faults += 1
    tally.went_on += end.code == 0
    tally.by_command[command.name] = tally.by_command.get(command.name, 0) + 1
    trouble = end.trouble or _afterwards(command, folder, whole)
    if trouble:
        kind = "from then on" if fault.lasting else "once"
        reason = errno.errorcode[fault.reason]
        tally.wrong.append(f"{command.name}, {reason} at operation {fault.point}, {kind}: {trouble}")
        print(f"--- wrong: {tally.wrong[-1]}", flush=True)
    return True


def _afterwards(command: Command, folder: Path, whole: Path) -> str:
    """What is wrong after the same command was given on a sound disk."""
    again = command.give(folder)
    if again.code != 0:
        return f"the same command then ended with {again.code}: {again.said[-700:]}"
    left = [path.name for path in folder.rglob("*") if path.name.endswith(LEFTOVERS)]
    if left:
        return f"leftovers {left}"
    try:
        command.same(folder, whole)
    except Exception as error:
        return f"another result: {str(error)[:500]}"
    return ""


def hunt(
    faults: int, seed: int = 0, told: Callable[[str], None] = print, only: str = "", *, dots: bool = False
) -> Tally:
    """Refuse operations of one command after the other, at points drawn at random, until there are this many faults."""
    tally, rng = Tally(), random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        patch.setattr(runner, "BATCH_SECONDS", 1e-9)
        patch.setattr(parts, "MANY", 2)
        if dots:
            draw_dots(patch)
        chosen = [one for one in commands(root) if only in ("", one.name)]
        if any(one.name == "audit" for one in chosen):
            patch.setattr(audit_command, "audit", _card_once())
        wholes = {}
        for command in chosen:
            wholes[command.name] = root / "whole" / command.name
            command.prepare(wholes[command.name]) if command.name != "report" else None
        _sound(chosen, wholes, root)
        points = {one.name: _operations(one, root) for one in chosen}
        told(f"operations: {points}")
        ways = [(reason, lasting) for reason in FAILS for lasting in (False, True)]
        for command, (reason, lasting) in zip(
            itertools.cycle(chosen), itertools.cycle(rng.sample(ways * 5, 5 * len(ways))), strict=False
        ):
            if tally.faults >= faults:
                break
            point = rng.randint(1, points[command.name][reason])
            attempt(command, wholes[command.name], Fault(str(root / "faulty" / "here"), point, reason, lasting), tally)
            if tally.faults % 50 == 0:
                told(f"{tally.faults} faults, {len(tally.wrong)} wrong")
    return tally


def _sound(chosen: list[Command], wholes: dict[str, Path], root: Path) -> None:
    """What each command gives on a sound disk."""
    for command in chosen:
        folder = wholes[command.name]
        if command.name == "report":
            shutil.copytree(root / "reported", folder.with_name("reported"))
            shutil.copytree(root / "reported", root / "faulty" / "reported")
        command.prepare(folder)
        end = command.give(folder)
        assert end.code == 0, f"{command.name} ended with {end.code} on a sound disk: {end.said}"


def _operations(command: Command, root: Path) -> dict[int, int]:
    """How many operations there are to refuse, by reason, as a copy of this process counts them."""
    folder = root / "faulty" / "here"
    command.prepare(folder)
    seen = folder.with_name("count")
    child = os.fork()
    if child == 0:
        counting = [Fault(str(folder), sys.maxsize, reason, lasting=False) for reason in FAILS]
        with contextlib.suppress(BaseException):
            sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
            os.chdir(folder)
            for fault in counting:
                fault.install()
            fedabm(command.words)
        seen.write_text(" ".join(str(fault.count) for fault in counting))
        os._exit(0)
    os.waitpid(child, 0)
    return dict(zip(FAILS, map(int, seen.read_text().split()), strict=True))


def _card_once() -> Callable[..., Card]:
    """The audit, which is asked for many times, done once: only its files matter here."""
    known: list[Card] = []
    real = audit_command.audit

    def audit(*given: Any, **more: Any) -> Card:
        return known[0] if known else real(*given, **more)

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "game.toml").write_text(GAME)
        what, rule = audit_command.read_audit(str(Path(name) / "game.toml"), None, [], 0)
        known.append(real(what, rule, thoroughness=audit_command.Thoroughness.quick(0)))
    return audit


def main() -> int:
    """Print what was found; the exit code says whether anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one command only")
    parser.add_argument("--dots", action="store_true", help="pictures are dots, to be quick")
    options = parser.parse_args()
    began = time.perf_counter()
    tally = hunt(options.faults, options.seed, only=options.only, dots=options.dots)
    seconds = time.perf_counter() - began
    print(
        f"{tally.faults} faults {tally.by_command} in {seconds:.0f} s: {tally.went_on} went on, "
        f"{len(tally.wrong)} went wrong"
    )
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
