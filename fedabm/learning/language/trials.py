"""Whether code does what it is asked for: it is run with its tests, in a process of its own with limits.

An answer that leaves before its tests has not passed them.  The process has a folder that is deleted afterwards, little
time and memory, no environment and, as far as the system lets it, no network.  Python refuses to write elsewhere, to
open sockets and to start programs.  That keeps the mistakes of a model from doing harm; it is no prison, so that code
of strangers belongs into a container.  Needs a POSIX system.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fedabm.common.errors import check_positive
from fedabm.data.instructions import Problem

__all__ = ["Ending", "ProgramLimits", "pass_rate", "trial"]

#: how a trial can end; "stopped" is by a limit of time or memory, or for what is not allowed
Ending = Literal["passed", "failed", "stopped"]


@dataclass(frozen=True)
class ProgramLimits:
    """Seconds, and bytes of memory, that a program may take."""

    seconds: float = 5.0
    memory: float = 512e6

    def __post_init__(self) -> None:
        check_positive("seconds", self.seconds)
        check_positive("memory", self.memory)


#: says its word if the program has come to its end, and exits with 1 if it failed, with 3 if it was to be stopped
_RUNNER = """
import ctypes, json, os, resource, sys

given = json.load(sys.stdin)
told = os.dup(1)
for stream, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
    os.dup2(os.open(os.devnull, mode), stream)
home = os.path.realpath(os.getcwd())
seconds, memory = int(given["seconds"]) + 1, int(given["memory"])
for limit, most in (("CPU", seconds), ("AS", memory), ("FSIZE", 10**7), ("CORE", 0)):
    resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (most, most))
try:
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # users and network of its own, where Linux allows that
except (OSError, AttributeError):
    pass
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
           "os.chown", "os.utime", "os.setxattr", "shutil.rmtree", "shutil.move"}
NEVER = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill", "ctypes",
         "pty.")
stopped = []

def inside(path):
    if isinstance(path, int) or path == os.devnull:
        return True
    return os.path.realpath(os.fsdecode(path)).startswith(home + os.sep)

def watch(event, arguments):
    if event.startswith(NEVER):
        refuse(event)
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
        if not inside(arguments[0]):
            refuse(event)
    if event in CHANGES:
        for path in arguments[:2]:
            if isinstance(path, (str, bytes, os.PathLike)) and not inside(path):
                refuse(event)

def refuse(event):
    stopped.append(event)
    raise PermissionError(f"{event} is not allowed here")

sys.addaudithook(watch)
code = 0
try:
    exec(compile(given["program"], "<answer>", "exec"), {"__name__": "__main__"})
except MemoryError:
    code = 3
except BaseException:
    code = 1
if not stopped and not code:
    os.write(told, given["word"].encode())
os._exit(3 if stopped else code)
"""


def trial(program: str, limits: ProgramLimits | None = None) -> Ending:
    """Run Python code that raises unless it is right.

    >>> trial("assert sum([1, 2]) == 3"), trial("assert sum([1, 2]) == 4")
    ('passed', 'failed')
    """
    most = limits or ProgramLimits()
    word = secrets.token_hex(16)
    given = json.dumps({"program": program, "seconds": most.seconds, "memory": most.memory, "word": word})
    with tempfile.TemporaryDirectory(prefix="trial-") as folder:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _RUNNER],
            cwd=folder,
            env={"HOME": folder, "TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            said, _ = child.communicate(given.encode(), timeout=most.seconds)
        except subprocess.TimeoutExpired:
            return "stopped"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if said.decode(errors="replace") == word:
        return "passed"
    return "failed" if child.returncode in (0, 1) else "stopped"


def pass_rate(problems: Sequence[Problem], answers: Sequence[str], limits: ProgramLimits | None = None) -> float:
    """The share of answers that pass the tests of their problem.

    Parameters
    ----------
    problems : Sequence[Problem]
        The problems.
    answers : Sequence[str]
        One program per problem.
    limits : ProgramLimits | None, optional
        Seconds and memory that a program may take.

    Returns
    -------
    float
        Between 0 and 1.
    """
    ended = [trial(one.program(answer), limits) for one, answer in zip(problems, answers, strict=True)]
    return sum(end == "passed" for end in ended) / len(ended)
