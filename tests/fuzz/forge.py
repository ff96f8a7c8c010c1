"""Forged checkpoints run no code: they are set aside, and the ordinary run begins again, to the same frames.

    python -m tests.fuzz.forge --tries 200

Checkpoints of a killed run are forged in every way of a catalogue (`forging`) and by hostile things at random places,
with a right checksum.  Then the same command is given again.  It must run nothing but itself, import nothing that an
honest run does not, and end well with the frames of a run that was never interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedabm.cli import main as fedabm
from fedabm.simulation import checkpoint
from fedabm.simulation.model import Federation
from tests.fuzz.forged_study import CANARY
from tests.fuzz.forging import Forged, Forgery, catalogue, mutated
from tests.fuzz.injector import in_child
from tests.sweep.helpers import assert_same_frames

#: seconds that one attempt may take
PATIENCE = 60.0
#: bytes that a forged checkpoint may take beside what an honest one takes
MEMORY = 2**31
#: the step in which the run is killed
KILLED = 3
#: what Python says before it runs something else than itself
_RUNS = ("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "socket.connect", "pty.")


@dataclass
class Listener:
    """Notes in a file what Python does that it should not: code of the forger's, programs, modules beyond `known`."""

    file: Path
    known: frozenset[str] | None

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What Python is about to do."""
        if event == "import" and (self.known is None or arguments[0] not in self.known):
            self._note(f"import {arguments[0]}")
        elif event.startswith(_RUNS):
            self._note(f"{event} {arguments[0]!r}")
        elif event in ("exec", "compile", "open", "os.mkdir") and "evil" in self._said(event, arguments):
            self._note(f"{event} {self._said(event, arguments)}")

    def _said(self, event: str, arguments: tuple[Any, ...]) -> str:
        if event == "exec":
            return str(getattr(arguments[0], "co_filename", ""))
        return str(arguments[1] if event == "compile" else arguments[0])

    def _note(self, text: str) -> None:
        number = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(number, text.replace("\n", " ").encode() + b"\n")
        os.close(number)


@dataclass
class Tally:
    """What was tried, how it ended, and what went wrong."""

    tries: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Run:
    """A run that is killed in its third step, and how it ends if it is not."""

    def __init__(self, root: Path, *settings: str) -> None:
        self.root = root
        self.words = ["run", str(Path(__file__).with_name("forged_study.py")), "--quiet", "--checkpoint", "1e-9"]
        self.words += [f"--set={setting}" for setting in settings]
        self.whole, self.folder, self.killed = root / "whole", root / "forged", root / "killed"
        self.evil = root / "evil.py"
        self.evil.write_text(f"open({str(root / 'canary')!r}, 'w')\ndef X(*given, **named): pass\n")
        os.environ[CANARY] = str(root / "canary")
        assert fedabm([*self.words, "--out", str(self.whole)]) == 0
        assert in_child(self._broken_off, None, PATIENCE) == -signal.SIGKILL
        self.folder.rename(self.killed)
        (self.path,) = [path.relative_to(self.killed) for path in self.killed.rglob("*.checkpoint")]
        self.honest = (self.killed / self.path).read_bytes()
        self.known: frozenset[str] | None = None
        self.known = self._imported()

    def _imported(self) -> frozenset[str]:
        """What is imported when the run goes on, and when it begins again."""
        noted: set[str] = set()
        for content, end in ((self.honest, "gone on"), (b"nonsense", "set aside")):
            found, said = self.again(content)
            assert found == end, f"{found}: {said}"
            noted |= {line.removeprefix("import ") for line in self._noted()}
        return frozenset(noted)

    def _broken_off(self) -> None:
        step = Federation.step

        def counted(model: Federation) -> None:
            if model.steps == KILLED:
                os.kill(os.getpid(), signal.SIGKILL)
            step(model)

        Federation.step = counted  # type: ignore[method-assign]
        self._work()

    def _work(self) -> None:
        assert fedabm([*self.words, "--out", str(self.folder)]) == 0

    def _noted(self) -> list[str]:
        noted = self.root / "noted"
        return noted.read_text().splitlines() if noted.exists() else []

    def again(self, content: bytes) -> tuple[str, str]:
        """How the command ends with this checkpoint ("gone on", "set aside" or what is wrong), and what was noted."""
        for path in (self.root / "noted", self.root / "canary"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.killed, self.folder)
        (self.folder / self.path).write_bytes(content)
        code = in_child(self._heard, None, PATIENCE)
        if (self.root / "canary").exists():
            return "code was run", ", ".join(self._noted())
        if self.known is not None and self._noted():
            return "more was done than in an honest run", ", ".join(self._noted())
        if code != 0:
            return f"it ended with {code}", ""
        try:
            assert_same_frames(self.folder, self.whole)
        except AssertionError as error:
            return "other frames", str(error).partition("\n")[0]
        return (self.root / "end").read_text(), ""

    def _heard(self) -> None:
        """The command, within limits, and noting what becomes of the checkpoint."""
        import resource

        end = self.root / "end"
        end.write_text("gone on")
        aside = checkpoint._set_aside

        def noted(path: Path) -> Path:
            end.write_text("set aside")
            return aside(path)

        checkpoint._set_aside = noted
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))
        sys.stderr = sys.__stderr__ = Path(os.devnull).open("w")  # noqa: SIM115
        sys.addaudithook(Listener(self.root / "noted", self.known).hear)
        self._work()


def attempts(tries: int | None, rng: random.Random) -> Iterator[tuple[str, Forgery]]:
    """The catalogue in random order (of this many tries three quarters), then hostile things at random places."""
    known = list(catalogue())
    rng.shuffle(known)
    every = tries is None
    tries = 2 * len(known) if tries is None else tries
    yield from known if every else known[: 3 * tries // 4]
    for _ in range(tries - min(len(known), 3 * tries // 4)):
        yield "", lambda forged: None


def hunt(tries: int, seed: int = 0, told: Callable[[str], None] = print, settings: tuple[str, ...] = ()) -> Tally:
    """Forge this many checkpoints."""
    tally, rng = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        run = Run(Path(name), *settings)
        told(f"{len(list(catalogue()))} forgeries in the catalogue")
        for what, forge in attempts(tries, rng):
            forged = Forged.of(run.honest, str(run.evil))
            with contextlib.suppress(KeyError, TypeError):  # this run has no such part
                forge(forged)
            what = what or mutated(forged, rng)
            end, noted = run.again(forged.content())
            tally.tries += 1
            tally.ends[end] += 1
            if end not in ("set aside", "gone on"):
                tally.wrong.append(f"{what}: {end} {noted}")
    return tally


def main() -> int:
    """Print what was found; the exit code says whether any forgery did anything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="train=true: a trained run")
    options = parser.parse_args()
    began = time.perf_counter()
    tally = hunt(options.tries, options.seed, settings=tuple(options.set))
    for one in tally.wrong:
        print(f"--- {one}")
    ends = ", ".join(f"{number} {end}" for end, number in tally.ends.most_common())
    print(f"{tally.tries} tries in {time.perf_counter() - began:.0f} s ({ends}): {len(tally.wrong)} went wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
