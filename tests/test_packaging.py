"""What is installed is what stands here: every package is listed, and every dependency is pinned for the tests."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedabm.common.errors import InputError
from fedabm.sweep import limits

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_installed() -> None:
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "fedabm").rglob("__init__.py")}
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    assert listed == found | {"fedabm.analysis", "fedabm.scenarios"}


def test_there_is_one_version() -> None:
    """In the project, in how to cite it and at the head of the changelog."""
    version = PROJECT["project"]["version"]
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [version]
    assert re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version


def test_every_dependency_is_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=\[; ]", line)[0].lower() for line in wanted}
    assert names <= pinned


#: what somebody without PyTorch and scikit-learn, on a system without `fcntl` and `resource`, does
WITHOUT = """
import importlib.abc
import sys


class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("torch", "sklearn", "fcntl", "resource"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])


sys.meta_path.insert(0, Hidden())
for name in ("fcntl", "resource"):
    sys.modules.pop(name, None)

import fedabm
from fedabm.cli import main

for words in (["init", "--game"], ["solve", "game.toml"], ["init"], ["run", "study.toml", "--out", "out", "--quiet"]):
    assert main(words) == 0, words
assert "torch" not in sys.modules and "sklearn" not in sys.modules
assert fedabm.load("out").runs["converged"].any()
assert main(["run", "first_training"]) == 2
"""


def test_closed_forms_need_neither_torch_nor_sklearn_nor_modules_of_unix(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    last = done.stderr.splitlines()[-1]  # before it filelock says that it makes do without fcntl
    assert last == "fedabm: this needs torch, which is not here; pip install torch"
    assert "2.99839298" in done.stdout


def test_limits_that_a_system_does_not_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "resource", None)
    with limits.time_limit(None), limits.memory_limit(None):
        pass
    wanted = "a limit of time needs signals, which this system lacks; leave it out"
    with pytest.raises(InputError, match=wanted), limits.time_limit(1.0):
        pass
