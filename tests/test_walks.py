"""The walks of CONTRIBUTING.md, taken by the letter in a copy of the package: nothing else has to be touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fedabm import load

ROOT = Path(__file__).parents[1]
NUMBERS = {"one": 1, "two": 2, "three": 3}
WALKS = [
    "A mechanism",
    "A strategy with memory",
    "A data set",
    "A learning rule",
    "An accuracy and a cost of your own",
    "A column in the frames",
    "A column from a script of your own",
    "A scenario",
]
GAME = """
mechanism = { kind = "bounty", rate = 0.05 }
accuracy = { kind = "power_law" }
owners = { costs = [0.1, 0.25], capacity = 100 }
"""


class Place(NamedTuple):
    """A file that a walk makes (python) or changes (diff), and what it writes there."""

    walk: str
    path: str
    kind: str
    text: str


def places() -> Iterator[Place]:
    """A line that begins with a path in backquotes, then a block of code."""
    block = re.compile(r"^`([\w/.]+)`[^\n]*\n\n```(python|diff)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    walks = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Eight walks")[2]
    for section in walks.split("\n### ")[1:]:
        for path, kind, text in block.findall(section):
            yield Place(section.partition("\n")[0], path, kind, text)


def changed(text: str, difference: str) -> str:
    """A text with lines put in: each + line goes below the one before it, which stands in the text as it is."""
    lines, here = text.split("\n"), -1
    for mark, line in ((one[:1], one[1:]) for one in difference.strip("\n").split("\n")):
        if mark == "+":
            here += 1
            lines.insert(here, line)
        else:
            here = lines.index(line, here + 1)
    return "\n".join(lines)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed, and its tests, after all walks."""
    home, python = tmp_path_factory.mktemp("walks"), shutil.ignore_patterns("__pycache__", "benchmarks")
    for source, target in {"fedabm": "fedabm", "tests": "tests", "scenarios": "fedabm/scenarios"}.items():
        shutil.copytree(ROOT / source, home / target, ignore=python)
    shutil.copytree(ROOT / "analysis", home / "fedabm/analysis", ignore=shutil.ignore_patterns("*.ipynb", "*.md"))
    shutil.copy(ROOT / "pyproject.toml", home)
    for place in places():
        file = home / re.sub(r"^scenarios/", "fedabm/scenarios/", place.path)
        assert file.exists() == (place.kind == "diff"), file
        file.write_text(place.text if place.kind == "python" else changed(file.read_text(), place.text))
    (home / "game.toml").write_text(GAME)
    return home


def python(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, text=True, env={**os.environ, **settings}
    )


def test_walks_are_as_long_as_they_say():
    walked = list(places())
    for walk in {place.walk for place in walked}:
        told = re.search(r": (one|two|three) place", walk)
        assert told, walk
        assert len([place for place in walked if place.walk == walk]) == NUMBERS[told[1]], walk
    assert [walk.split(":")[0] for walk in dict.fromkeys(place.walk for place in walked)] == WALKS


def test_contracts_and_theorems_hold_for_what_was_added(copy):
    """The contract tests find the new classes by themselves; so do the tests of the whole package."""
    contracts = [
        "tests/mechanisms/test_mechanisms.py",
        "tests/strategies/test_strategies.py",
        "tests/learning/test_rules.py",
        "tests/scenarios/test_scenarios.py",
    ]
    added = [place.path for place in places() if Path(place.path).name.startswith("test_")]
    names = "bounty or shifter or wine or fed_avg_m or my_worth or two_bounties or documentation"
    wanted = f"({names}) and not program_of_its_own"
    words = [*contracts, *added, "tests/test_documentation.py", "-k", wanted]
    found = python(copy, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "-p", "no:randomly", *words)
    assert found.returncode == 0, found.stdout
    for contract in contracts:
        assert re.search(rf"{contract}::\S*(Bounty|Shifter|fed_avg_m|two_bounties)\S* PASSED", found.stdout), contract
    assert all(f"{one}::" in found.stdout for one in added)


def test_the_command_line_knows_what_was_added(copy):
    commands = (
        "from fedabm.cli import main; main(['solve', 'game.toml', '--json']); main(['data', 'list']); main(['list'])"
    )
    found = python(copy, "-c", commands)
    assert '"converged": true' in found.stdout, found.stderr
    assert re.search(r"wine +embedded +178 samples", found.stdout)
    assert "two_bounties" in found.stdout


FRAMES = """
from fedabm import Federation, Game, load, save
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import NoPayments
from fedabm.study.study import Study
from tests.conftest import mixed

study = Study("walk", 1, None, {}, quiet=True)
study.simulate(mixed())
study.solve(Game(PowerLaw(), [0.01, 0.02], 10.0, NoPayments()))
save(study.frames, "spared")
owners = load("spared").owners
solved = owners["strategy"] == "equilibrium"
assert solved.any() and not solved.all()
assert (owners["spare"] == owners["capacity"] - owners["contribution"]).all(), owners
assert owners["spare"].max() > 0
assert list(owners).index("spare") == list(owners).index("contribution") + 1
found = owners.groupby(["run", "step"])["contribution"].agg(lambda given: given.max() - given.min())
steps = load("spared").steps
assert (steps["spread"].to_numpy() == found.to_numpy()).all() and steps["spread"].max() > 0
assert list(steps).index("spread") == list(steps).index("contribution") + 1
model = Federation(mixed()).run()
assert model.datacollector.get_model_vars_dataframe()["spread"].tolist() == model.frames().steps["spread"].tolist()
"""


def test_the_new_columns_are_in_all_frames_and_reporters(copy):
    """Also after they were saved and read, and in those of equilibria."""
    found = python(copy, "-c", FRAMES)
    assert found.returncode == 0, found.stderr


SWEEP = """
import pandas as pd
from fedabm import load
from fedabm.sweep import Grid, Sweep
from my_columns import scenario

sweep = Sweep(scenario, Grid(owners=[3, 5]), 20)
assert not sweep.run("together", "serial", quiet=True).alone
sweep.run("singly", "serial", quiet=True, together=False)
together, singly = load("together"), load("singly")
assert together.runs["stacked"].sum() > 20 and not singly.runs["stacked"].any()
for name in ("steps", "owners"):
    pd.testing.assert_frame_equal(getattr(together, name), getattr(singly, name), check_exact=True)
largest = together.owners.groupby(["run", "step"])["contribution"].max().to_numpy()
assert (together.steps["largest"].to_numpy() == largest).all() and largest.max() > 0
assert {"spread", "largest"} <= set(together.steps) and "spare" in together.owners
"""


def test_the_new_columns_are_stacked_in_a_sweep(copy):
    """Ours and the script's own, bit for bit what runs have that are stepped by themselves."""
    found = python(copy, "-c", SWEEP)
    assert found.returncode == 0, found.stderr


def test_a_column_of_a_script_is_in_what_its_run_saves(copy):
    ran = python(copy, "-m", "fedabm", "run", "my_columns.py", "--out", "own", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert load(copy / "own").steps["largest"].max() > 0


def test_what_the_walks_write_is_in_good_form(copy):
    files = [re.sub(r"^scenarios/", "fedabm/scenarios/", place.path) for place in places()]
    for words in (["check", "-q"], ["format", "--check", "-q"]):
        found = python(copy, "-m", "ruff", *words, *files)
        assert found.returncode == 0, found.stdout + found.stderr


def test_the_copy_is_what_is_tested(copy):
    """Without the walks' lines nothing is known of what they add: the copy decides, not the package beside it."""
    found = python(copy, "-c", "import fedabm.scenarios; print(fedabm.__path__, fedabm.scenarios.__path__)")
    assert found.stdout.count(str(copy)) == 2, found.stdout + found.stderr
    assert changed("a\nb\nc", " a\n+A\n c\n+C") == "a\nA\nb\nc\nC"
    with pytest.raises(ValueError, match="is not in list"):
        changed("a\nb", " z\n+A")
