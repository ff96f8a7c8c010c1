"""What is installed is what stands here: every package is listed, and every dependency is pinned for the tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_installed() -> None:
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "fedabm").rglob("__init__.py")}
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    assert listed == found | {"fedabm.analysis", "fedabm.scenarios"}


def test_every_dependency_is_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=\[; ]", line)[0].lower() for line in wanted}
    assert names <= pinned
