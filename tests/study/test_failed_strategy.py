"""A strategy of the user's own that fails in the middle of a run: one line, the steps before it, and a failed row."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedabm
from fedabm.cli import main

STUDY = '''"""Does a broken strategy break a study?"""

from dataclasses import dataclass

from fedabm import Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.strategies import Random, Strategy


@dataclass(frozen=True)
class Broken(Strategy):
    def act(self, view):
        return None if view.step == 3 else view.truthful(view.capacity)


def run(study, broken: bool = False):
    """One run."""
    owners = population([0.01] * 2, 10.0, [Broken() if broken else Random(), Random()])
    study.simulate(Scenario(owners, PowerLaw(), steps=5))
'''
SWEEP = """
scenario = "broken_study.py"
seeds = 1
[design]
broken = [true, false]
"""
SAID = "Broken of owner 0 failed in step 3: it gave None instead of an action"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, as a process knows a script by one place."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken_study.py").write_text(STUDY)
    (folder / "sweep.toml").write_text(SWEEP)
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def test_the_steps_before_a_failure_are_saved_and_the_line_says_where(folder, capsys):
    assert main(["run", "broken_study.py", "--set", "broken=true", "--out", "here", "--quiet"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"fedabm: {SAID}")
    assert error.endswith("(see what was recorded with fedabm.load('here'))")
    assert "\n" not in error
    frames = fedabm.load(folder / "here")
    assert frames.steps["step"].tolist() == [1, 2]
    assert frames.runs["status"].tolist() == ["interrupted"]


def test_in_a_sweep_it_is_a_failed_row_beside_the_others(folder):
    assert main(["sweep", "sweep.toml", "--out", "swept", "--executor", "serial", "--quiet"]) == 1
    runs = fedabm.load(folder / "swept").runs.sort_values("broken")
    assert runs["status"].tolist() == ["stopped", "failed"]
    assert SAID in runs["error"].tolist()[1]
