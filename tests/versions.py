"""Python 3.12 and 3.13: the wheel, installed without PyTorch and scikit-learn, passes its tests.

    .venv/bin/python -m tests.versions                   # every interpreter at hand; others are named
    .venv/bin/python -m tests.versions --home FOLDER     # keep the environments there, and use them again
    .venv/bin/python -m tests.versions --all             # all rooms that need no training, not the quickest only

PyTorch is left out because it is large; what needs it, or a package that only tests use, is counted as skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wheel import ROOT, build

VERSIONS = ("3.12", "3.13")
#: packages that are not installed, beside the heavy ones those that only tests use
HEAVY = ("torch", "sklearn", "scikit-learn", "nashpy", "pygambit", "shapiq")
QUICK = ("games", "shapley", "results", "specs")
ROOMS = (*QUICK, "common", "solving", "mechanisms", "strategies", "simulation", "study", "tournament", "compare")


def interpreter(version: str) -> str | None:
    """The command of that version: on the path, or among those that pyenv has installed."""
    names = [shutil.which(f"python{version}"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    works = (subprocess.run([name, "-c", ""], capture_output=True).returncode == 0 for name in filter(None, names))
    return next((str(name) for name, fine in zip(filter(None, names), works, strict=True) if fine), None)


def prepare(command: str, wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and what it depends on, except what is heavy."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([command, "-m", "venv", folder], check=True)
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    needed = [one for one in listed if re.split(r"[<>=]", one)[0] not in HEAVY]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *needed, "pytest", "hypothesis"], check=True)
    subprocess.run([*install, "--no-deps", "--force-reinstall", wheel], check=True)
    return python


def tried(python: Path, folder: Path, rooms: tuple[str, ...]) -> str:
    """The last line of the tests of these rooms, run where no checkout is."""
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    command = [python, "-m", "pytest", "-p", "tests.versions", "-p", "no:cacheprovider", "--tb=short"]
    command += [f"tests/{room}" for room in rooms]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=one_thread, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A test file that needs what is not installed is skipped."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed and _lacks(str(report.longrepr)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, "needs a package that is left out here")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """So is a test that finds out while it runs."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed and _lacks(str(call.excinfo.value) if call.excinfo else ""):
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, "needs a package that is left out here")


def _lacks(text: str) -> bool:
    return any(f"No module named '{name}" in text or f"this needs {name}" in text for name in HEAVY)


def main() -> None:
    """Try every version that is at hand."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions")
    parser.add_argument("--home", type=Path, help="folder of the environments (none: a temporary one)")
    parser.add_argument("--all", action="store_true", help="all rooms that need no training")
    options = parser.parse_args()
    found = {version: interpreter(version) for version in VERSIONS}
    with tempfile.TemporaryDirectory() as name:
        wheel = build(Path(name) / "built") if any(found.values()) else None
        for version, command in found.items():
            if command is None or wheel is None:
                print(f"Python {version}: not on this machine, skipped")
                continue
            began = time.monotonic()
            python = prepare(command, wheel, (options.home or Path(name)) / version)
            ready = time.monotonic()
            (place := Path(name) / f"work-{version}").mkdir()
            line = tried(python, place, ROOMS if options.all else QUICK)
            print(f"Python {version}: {line} (environment {ready - began:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
