"""One command in this process: what it said, and whether that is how `fedabm` treats its users."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fedabm.cli import main

#: seconds of computing that one command may take
PATIENCE = 20.0
#: seconds after which a command that does not even hear signals ends everything, with a traceback
DEAF = 3600.0

#: bytes that one command may ask for
MEMORY = 3 * 2**30

GOOD = ("done", "refused")


class Hang(BaseException):
    """The command takes too long."""


@dataclass(frozen=True)
class Verdict:
    """`kind` is done, refused, traceback, hang, wordy (not one line) or noise (a warning on the terminal)."""

    kind: str
    said: str = ""

    @property
    def good(self) -> bool:
        return self.kind in GOOD


def attempt(words: Sequence[str], patience: float = PATIENCE) -> Verdict:
    """Run `fedabm WORDS...` and judge it."""
    said, told = io.StringIO(), io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as heard, _timed(patience), _memory(MEMORY):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(told):
                code = main(words)
    except Hang:
        return Verdict("hang", f"over {patience:g} s")
    except BaseException:
        return Verdict("traceback", traceback.format_exc())
    noise = [one for one in heard if issubclass(one.category, RuntimeWarning)]
    if noise:
        return Verdict("noise", f"{noise[0].filename}:{noise[0].lineno}: {noise[0].message}")
    return judged(code, said.getvalue())


def judged(code: int, said: str) -> Verdict:
    """Whether an exit code and what stands on the error stream fit together."""
    if "Traceback (most recent call last)" in said:
        return Verdict("traceback", said)
    if code in (0, 1):
        return Verdict("done")
    lines = said.strip().splitlines()
    good = code == 2 and len(lines) == 1 and lines[0].startswith("fedabm: ") and len(lines[0]) < 2000
    return Verdict("refused" if good else "wordy", f"exit code {code}: {said}")


@contextlib.contextmanager
def _memory(size: int) -> Iterator[None]:
    """Refuse requests for far more memory than a command needs, so that nobody else on the machine suffers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def _timed(seconds: float) -> Iterator[None]:
    """Raise Hang in the body after this many seconds of computing, however busy the machine is."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    faulthandler.dump_traceback_later(DEAF, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGVTALRM, before)
