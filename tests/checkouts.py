"""An older commit beside this checkout, for whoever compares the two."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ROOT", "older", "said_in"]

ROOT = Path(__file__).parents[1]


@contextlib.contextmanager
def older(commit: str) -> Iterator[Path]:
    """A work tree of that commit, which goes with the block."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def said_in(checkout: Path, script: Path, *words: str) -> str:
    """What a script prints in a process of its own that knows one checkout only."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-P", str(script), *words]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words} in {checkout} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout
