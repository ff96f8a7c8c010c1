"""Folders of every kind, and their reports, made once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedabm.cli import main
from fedabm.report.page import page
from fedabm.sweep import Grid, Sweep
from tests.sweep.targets import Walk, trouble


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run, a sweep with failures, the market, and a sweep over a Mesa model that is no federation."""
    root = tmp_path_factory.mktemp("folders")
    made = {name: root / name for name in ("run", "failures", "market", "mesa")}
    assert main(["run", "free_riding", "--set", "owners=6", "--quiet", "--out", str(made["run"])]) == 0
    assert main(["run", "market_theory", "--quiet", "--out", str(made["market"])]) == 0
    Sweep(trouble, Grid(kind=["none", "raise"]), seeds=2).run(made["failures"], "serial", quiet=True)
    Sweep(Walk, Grid(walkers=[2, 3]), seeds=2).run(made["mesa"], "serial", quiet=True)
    return made


@pytest.fixture(scope="session")
def pages(folders: dict[str, Path]) -> dict[str, str]:
    return {name: page(folder) for name, folder in folders.items()}
