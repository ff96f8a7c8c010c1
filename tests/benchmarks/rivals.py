"""Flower and pfl-research in environments of their own, each a process that trains one round per line it is sent.

Their pins may clash with ours, so every rival gets a virtual environment below one folder (by default `fedabm/rivals`
in the user's cache), set up once with the same PyTorch as ours.
"""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

PACKAGES = {"Flower": "flwr[simulation]", "pfl": "pfl"}
SCRIPTS = {"Flower": "rival_flower", "pfl": "rival_pfl"}


def default_folder() -> Path:
    """Where the environments are by default."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fedabm" / "rivals"


def python_of(name: str, folder: Path) -> Path:
    """The interpreter of a rival's environment, which is set up if need be; raises RuntimeError with the reason."""
    home = folder / name.lower()
    python = home / "bin" / "python"
    if (home / ".ready").exists():
        return python
    version = torch.__version__.split("+")[0]
    wanted = f"torch=={version}"
    for command in (
        [sys.executable, "-m", "venv", str(home)],
        [str(python), "-m", "pip", "install", "--quiet", wanted],
        [str(python), "-m", "pip", "install", "--quiet", wanted, PACKAGES[name]],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    (home / ".ready").touch()
    return python


class Rival:
    """A rival's process for one case; `seconds()` is the time of one round as the rival itself measures it."""

    def __init__(self, command: list[str], threads: int, modules: Path) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            # a Ray of its own, whatever cluster ran here before
            env=os.environ | {"PYTHONPATH": str(modules), "OMP_NUM_THREADS": str(threads), "RAY_ADDRESS": "local"},
            start_new_session=True,
        )
        self.unread = b""
        atexit.register(self.close)  # also when the benchmark is broken off

    @classmethod
    def of(cls, name: str, folder: Path, network: Path, data: Path, threads: int) -> Rival:
        """Flower or pfl-research on a saved network and data."""
        module = SCRIPTS[name]
        command = [str(python_of(name, folder)), "-c", f"import {module}; {module}.main()", str(network), str(data)]
        # Flower runs one process per core; more threads in each would only be in each other's way.
        return cls(command, 1 if name == "Flower" else threads, Path(__file__).parent)

    @classmethod
    def before(cls, checkout: Path, case: str, threads: int) -> Rival:
        """This engine as it was in another checkout, whose own benchmark makes the round."""
        script = Path(__file__).with_name("round_before.py")
        return cls([sys.executable, str(script), case], threads, checkout.resolve())

    def seconds(self, patience: float = 300.0) -> float:
        """Train one round."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        until = time.monotonic() + patience
        while True:
            line = self._line(until)
            if line.startswith(b"seconds "):
                return float(line.split()[1])

    def _line(self, until: float) -> bytes:
        assert self.process.stdout is not None
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(until - time.monotonic(), 0.0))
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                raise RuntimeError("it gave no answer in time" if not ready else f"it stopped: {self._last()}")
            self.unread += more
        line, self.unread = self.unread.split(b"\n", 1)
        return line

    def _last(self) -> str:
        self.log.seek(0)
        return (self.log.read().decode(errors="replace").strip().splitlines() or ["no message"])[-1]

    def close(self) -> None:
        """End the process and what it has started."""
        try:
            os.killpg(self.process.pid, 15)
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        except ProcessLookupError:
            pass
