"""SIGKILL at the n-th operation on files below a folder, in the leader of some work or in its workers.

Python tells hooks of every operation before it is done.  Those of compiled code are not told, but all of ours put a
file in place by a rename that is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
#: operations that change a folder, and where among their arguments the number of a folder may stand
_CHANGES = {"os.rename": 2, "os.remove": 1, "os.mkdir": 2, "os.rmdir": 1}

NEVER = 10**9


@dataclass
class Injector:
    """Kills the leader (or, once, a worker) instead of its `point`-th operation; `token` is made when it does."""

    folder: str
    point: int
    token: str
    workers: bool = False
    leader: int = 0
    count: int = 0
    process: int = 0

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What Python is about to do."""
        if (os.getpid() != self.leader) != self.workers or not self._matters(event, arguments):
            return
        if os.getpid() != self.process:  # another worker begins to count
            self.process, self.count = os.getpid(), 0
        self.count += 1
        if self.count > self.point and self._first():
            os.kill(os.getpid(), signal.SIGKILL)

    def _matters(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            flags = arguments[2]
            return isinstance(flags, int) and bool(flags & _WRITING) and self._inside(arguments[0], -1)
        return event in _CHANGES and self._inside(arguments[0], arguments[_CHANGES[event]])

    def _inside(self, path: Any, folder: Any) -> bool:
        if not isinstance(path, str | os.PathLike):
            return False
        name = os.fspath(path)
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(name):
            name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
        return name.startswith(self.folder)

    def _first(self) -> bool:
        try:
            os.close(os.open(self.token, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def in_child(work: Callable[[], None], injector: Injector | None, patience: float, after: float = NEVER) -> int | None:
    """Do the work in a copy of this process; its exit code (-9 if it was killed), None if it had to be ended.

    With `after`, the copy is killed after this many seconds, if it has not ended by then.
    """
    child = os.fork()
    if child == 0:
        _live(work, injector)
    began = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        late = time.monotonic() - began > patience
        if late or time.monotonic() - began > after:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None if late else -signal.SIGKILL
        time.sleep(0.002)


def _live(work: Callable[[], None], injector: Injector | None) -> None:
    """The life of the copy."""
    code = 70
    try:
        os.setpgid(0, 0)
        sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
        if injector is not None:
            injector.leader = injector.process = os.getpid()
            sys.addaudithook(injector.hear)
        work()
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)
