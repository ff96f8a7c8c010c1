"""The README tells the truth: its Python examples run, in order, and its commands exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib
import pytest

from fedabm import mechanisms
from fedabm.cli import main
from fedabm.cli.parsers import command_line
from fedabm.mechanisms import market
from fedabm.study.library import find

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks() -> list[str]:
    """The indented blocks of the README."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, flags=re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found]


def test_python_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    assert main(["run", "free_riding", "--steps", "2", "--quiet", "--out", "my_run"]) == 0
    examples = [block for block in blocks() if re.search(r"^(from|import|@dataclass) ?", block, flags=re.MULTILINE)]
    assert len(examples) >= 5
    # Dataclasses look their module up, so the examples get one.
    module = type(sys)("readme_examples")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for example in examples:
        exec(compile(example, "README.md", "exec"), module.__dict__)
    first = module.__dict__["run"]
    assert (first.status, round(first.gap, 3)) == ("at rest", 0.387)
    assert first.population.payment.round(2).tolist() == [0.49, -0.86, 0.37]
    assert module.__dict__["found"].profile == pytest.approx([2.99839298, 1.16904814], abs=1e-8)


def test_the_game_of_the_readme_solves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (game,) = [block for block in blocks() if block.startswith("\nmechanism =") or block.startswith("mechanism =")]
    (tmp_path / "game.toml").write_text(game)
    assert main(["solve", str(tmp_path / "game.toml")]) == 0
    assert "2.99839298" in capsys.readouterr().out


@pytest.mark.parametrize("line", sorted(set(re.findall(r"^    (fedabm [a-z]+)", README, flags=re.MULTILINE))))
def test_commands_exist(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([line.split()[1], "--help"])
    assert stop.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_scenarios_parameters_and_files_that_are_named_exist() -> None:
    for name, settings in re.findall(r"fedabm run (\w+)(?![\w/.])((?: --\w+ \S+)*)", README):
        find(name).parameters([word for word in settings.split() if "=" in word])
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).exists(), link


def test_classes_named_beside_the_papers_exist() -> None:
    table = README[README.index("| paper | in fedabm |") :].split("\n\n")[0]
    names = set(re.findall(r"`(\w+)`", table))
    assert len(names) >= 10
    assert names <= {*dir(mechanisms), *dir(market)}


def test_every_command_is_told() -> None:
    (words,) = [part.choices for part in command_line()._actions if part.choices]
    assert set(words) <= set(re.findall(r"^    fedabm ([a-z]+)", README, flags=re.MULTILINE))
