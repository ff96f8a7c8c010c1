"""A study of one's own is one file, anywhere: run, listed, resumed, repeated and swept by its path."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fedabm import Federation, load
from fedabm.cli import main
from fedabm.study import library
from fedabm.study.study import Study
from tests.conftest import assert_equal_frames

STUDY = '''
"""Does a bounty of my own help?"""

from __future__ import annotations

from dataclasses import dataclass

from fedabm import Scenario, population
from fedabm.cli import run_script
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments
from fedabm.strategies import BestResponse, Random, Strategy
from neighbour_of_my_study import COSTS


@dataclass(frozen=True)
class Mine(NoPayments):
    """A mechanism of my own."""

    rate: float = 0.5


def run(study, mechanism: Mechanism = ContributionSubsidy(0.1), others: Strategy = Random(), runs: int = 2) -> None:
    """Simulate it."""
    people = population(COSTS, 5.0, [BestResponse(), others])
    for number in range(runs):
        study.simulate(Scenario(people, PowerLaw(), mechanism, steps=4), f"run {number}")


if __name__ == "__main__":
    run_script(__file__)
'''


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The file of a study with a neighbour, while another folder is the current one."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "my_study.py").write_text(STUDY)
    (tmp_path / "studies" / "neighbour_of_my_study.py").write_text("COSTS = [0.1, 0.2]\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "studies" / "my_study.py"
    for name in ("my_study", "neighbour_of_my_study"):
        sys.modules.pop(name, None)


def command(*words):
    """The command in a process of its own, from the current folder."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=environment)


def test_it_runs_from_another_folder_and_the_manifest_repeats_it(study, capsys):
    words = ["--steps", "3", "--set", "mechanism=mine", "--set", 'others={ kind = "fixed_share", share = 0.3 }']
    assert main(["run", "../studies/my_study.py", "--quiet", *words]) == 0, capsys.readouterr().err
    first = Path("results/my_study-0")
    manifest = json.loads((first / "manifest.json").read_text())
    assert (manifest["scenario"], manifest["parameters"]["mechanism"]) == ("my_study", "Mine(rate=0.5)")
    assert set(load(first).runs["scenario"]) == {"my_study"}
    repeat = shlex.split(manifest["repeat"])
    assert repeat[:3] == ["fedabm", "run", str(study)]
    os.chdir(study.parent.parent)
    assert main([*repeat[1:], "--quiet", "--out", "again"]) == 0
    assert_equal_frames(load("again"), load(Path("elsewhere") / first))


def test_it_is_a_program_of_its_own(study):
    finished = command(study, "--quiet", "--set", "runs=1", "--out", "mine")
    assert finished.returncode == 0, finished.stderr
    assert set(load("mine").runs["scenario"]) == {"my_study"}
    finished = command("-m", "fedabm", "run", study, "--quiet", "--set", "runs=1", "--out", "same")
    assert finished.returncode == 0, finished.stderr
    assert_equal_frames(load("mine"), load("same"))


def test_it_is_listed_with_words_that_can_be_given_back(study, capsys):
    assert main(["list", str(study)]) == 0
    first, *shown = capsys.readouterr().out.splitlines()
    assert first == "my_study: Does a bounty of my own help?"
    words = [shlex.split(line)[1] for line in shown if line.lstrip().startswith("--set ")]
    assert words[0] == 'mechanism={ kind = "contribution_subsidy", rate = 0.1 }'
    script = library.find(str(study))
    assert script.parameters(words) == script.defaults


def test_an_interrupted_one_goes_on_however_its_path_is_written(study, monkeypatch, capsys):
    simulate, calls = Study.simulate, []

    def tired(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return simulate(self, *arguments, **options)

    monkeypatch.setattr(Study, "simulate", tired)
    assert main(["run", "../studies/my_study.py", "--quiet", "--checkpoint", "1e-6"]) == 130
    assert "repeat the command to go on" in capsys.readouterr().err
    assert main(["run", str(study), "--quiet", "--checkpoint", "1e-6"]) == 0
    assert [path.name for path in Path("results").iterdir()] == ["my_study-0"]
    assert main(["run", str(study), "--quiet", "--out", "whole"]) == 0
    assert_equal_frames(load("results/my_study-0"), load("whole"))


def test_a_sweep_over_it_is_the_same_with_one_process_and_with_two(study, monkeypatch, capsys):
    spec = study.with_name("sweep.toml")
    spec.write_text(
        'scenario = "my_study.py"\nseeds = 2\n[fixed]\nruns = 1\n[design]\n'
        'mechanism = ["no_payments", { kind = "mine", rate = 2 }, "my_study.py:Mine"]'
    )
    for out, more in (("one", ["--executor", "serial"]), ("two", ["--workers", "2"])):
        assert main(["sweep", str(spec), "--out", out, "--quiet", *more]) == 0, capsys.readouterr().err
    one, two = load("one"), load("two")
    assert set(one.runs["scenario"]) == {"my_study"}
    assert one.runs["mechanism"].unique().tolist() == ["NoPayments()", "Mine(rate=2.0)", "Mine(rate=0.5)"]
    for name in ("steps", "owners", "transfers"):
        assert getattr(one, name).equals(getattr(two, name))
    monkeypatch.setattr(Federation, "step", lambda self: pytest.fail("did again what is done"))
    assert main(["sweep", str(spec), "--out", "one", "--quiet", "--executor", "serial"]) == 0
    assert json.loads(Path("one/sweep.json").read_text())["target"]["name"] == "my_study"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def run(:", "my_study.py, line 1: invalid syntax"),
        ("import nosuch", "my_study.py, line 1: ModuleNotFoundError: No module named 'nosuch'"),
        ("def rum(study): ...", "my_study.py has no function run(study, ...); did you mean 'rum'?"),
        ("run = 3", "my_study.py has no function run(study, ...); it has no functions"),
        ("\ndef run(): ...", "my_study.py, line 2: run takes no study; write def run(study, ...)"),
        ("def run(study, owners): ...", "my_study needs owners; give it with --set owners=..."),
        (
            "from fedabm.cli import run_script\ndef run(study): ...\nrun_script(__file__)",
            "runs itself while it is loaded; call run_script under if __name__ == '__main__':",
        ),
    ],
)
@pytest.mark.parametrize("words", [["run"], ["sweep"]])
def test_a_file_that_is_no_study_gets_one_line(study, text, message, words, capsys):
    study.write_text(text)
    spec = study.with_name("sweep.toml")
    spec.write_text('scenario = "my_study.py"\n[design]\nkind = "cells"\none = {}')
    if words == ["sweep"]:
        message = message.partition("; give it with")[0]
    assert main([*words, str(study if words == ["run"] else spec)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_what_is_not_there_is_told_with_what_is(study, monkeypatch, capsys):
    assert main(["run", "../studies/my_stdy.py"]) == 2
    assert "there is no file ../studies/my_stdy.py; did you mean 'my_study.py'?" in capsys.readouterr().err
    monkeypatch.chdir(study.parent)
    assert main(["run", "my_study"]) == 2
    assert "unknown scenario 'my_study'; write my_study.py for the file of that name" in capsys.readouterr().err


def test_the_file_of_a_scenario_of_the_package_is_that_scenario():
    path = Path(__file__).parents[2] / "scenarios" / "free_riding.py"
    assert library.find(str(path)).where == "free_riding"


def test_a_study_that_shows_no_table_says_how_its_runs_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "silent_of_mine.py").write_text(
        '"""What comes out?"""\n'
        "from fedabm import Scenario, population\n"
        "from fedabm.games.accuracy import PowerLaw\n"
        "def run(study) -> None:\n"
        "    study.simulate(Scenario(population([0.1, 0.2], 9.0), PowerLaw()), 'plain')\n"
    )
    assert main(["run", "silent_of_mine.py", "--steps", "2", "--out", "out"]) == 0
    told = capsys.readouterr().out
    assert "Each run at its end" in told
    assert "plain" in told
    assert (tmp_path / "out" / "ends.csv").exists()
