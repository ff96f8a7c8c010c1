"""Classes and functions in files of one's own."""

import sys

import pytest

from fedabm import FedabmError, InputError
from fedabm.cli import main
from fedabm.comparison.comparison import short_label
from fedabm.mechanisms import ContributionSubsidy, Mechanism, PaymentRule
from fedabm.specs.games import read_game
from fedabm.specs.places import find_place, own_module
from fedabm.specs.values import Reader

RULES = '''
from dataclasses import dataclass
import numpy as np
from fedabm.games.curves import Line
from fedabm.games.offers import full_access
from fedabm.mechanisms import Mechanism
import helpers_of_mine


@dataclass(frozen=True)
class Bounty(Mechanism):
    """A bounty for every sample."""

    bounty: float = helpers_of_mine.BOUNTY
    budget_balanced = False

    def offers(self, accuracy, reports):
        n = len(reports.contribution)
        return full_access(accuracy, reports.contribution, Line(np.zeros(n), np.full(n, self.bounty)))


def half(profiles):
    return 1 - 1 / (1 + profiles.sum(axis=-1, keepdims=True)) + 0 * profiles
'''
GAME = """
mechanism = { kind = "rules_of_mine.py:Bounty", bounty = 0.05 }
accuracy = { kind = "custom", function = "rules_of_mine.py:half", concave = true, monotone = true }
owners = { costs = [0.1, 0.25], capacity = 100 }
"""


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """A file with a mechanism, its neighbour and a game that uses it, in a folder that is not the current one."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "rules_of_mine.py").write_text(RULES)
    (tmp_path / "helpers_of_mine.py").write_text("BOUNTY = 0.125\n")
    (tmp_path / "game.toml").write_text(GAME)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    yield tmp_path / "rules_of_mine.py"
    for name in ("rules_of_mine", "helpers_of_mine"):
        sys.modules.pop(name, None)


def test_a_game_with_classes_of_ones_own_is_solved_from_any_folder(rules, capsys):
    game = read_game(rules.with_name("game.toml"))
    assert (type(game.mechanism).__name__, game.mechanism.bounty) == ("Bounty", 0.05)
    assert main(["solve", str(rules.with_name("game.toml"))]) == 0
    assert "3.4721" in capsys.readouterr().out  # 1/(1+s)^2 = 0.1 - 0.05
    other = ["--mechanism", '{ kind = "../rules_of_mine.py:Bounty", bounty = 0.0 }']
    assert main(["solve", str(rules.with_name("game.toml")), *other]) == 0
    assert "2.16227766" in capsys.readouterr().out


def test_a_file_is_loaded_once_and_its_neighbours_are_found(rules):
    bounty = find_place("../rules_of_mine.py:Bounty")
    assert bounty is find_place(f"{rules}:Bounty") is own_module(rules).Bounty
    assert Reader().read("rule", "../rules_of_mine.py:Bounty", Mechanism) == bounty(0.125)
    assert Reader((rules.parent,)).read("rule", "rules_of_mine.py:Bounty", Mechanism) == bounty(0.125)


def test_an_object_or_a_function_of_the_reports_will_do(rules, tmp_path):
    (tmp_path / "plain_of_mine.py").write_text(
        "from fedabm.mechanisms import ContributionSubsidy\n"
        "subsidy = ContributionSubsidy(0.25)\n"
        "def bonus(accuracy, reports):\n"
        "    return 0.5 * reports.contribution\n"
    )
    place = str(tmp_path / "plain_of_mine.py")
    assert Reader().read("rule", f"{place}:subsidy", Mechanism) == ContributionSubsidy(0.25)
    rule = Reader().read("rule", f"{place}:bonus", Mechanism)
    assert rule == PaymentRule(own_module(tmp_path / "plain_of_mine.py").bonus)
    assert short_label(rule) == "bonus"
    with pytest.raises(InputError, match="takes no parameters"):
        Reader().read("rule", {"kind": f"{place}:subsidy", "rate": 2.0}, Mechanism)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("../rules_of_mine.py:Bonty", "rules_of_mine.py has no 'Bonty'; did you mean 'Bounty'?"),
        ("../rules_of_min.py:Bounty", "no file ../rules_of_min.py; did you mean 'rules_of_mine.py'?"),
        ("nosuch.module:Bounty", "cannot import 'nosuch.module'"),
        ("broken_of_mine:Bounty", "broken_of_mine.py, line 3: "),
        ("unsure_of_mine:Bounty", "unsure_of_mine.py, line 2: ValueError: invalid literal"),
        (":Bounty", "'' is no module"),
        ("..:Bounty", "'..' is no module"),
        ("../helpers_of_mine.py:BOUNTY", "is no mechanism; name a subclass of fedabm.mechanisms"),
        ("../rules_of_mine.py:half", "needs profiles"),
        ("../random.py:Bounty", "random.py has the name of another module, random in"),
        ("../pandas.py:Bounty", "pandas.py has the name of another module, pandas in"),
        ("../two.dots.py:Bounty", "two.dots.py has a dot in its name"),
        ("../broken_of_mine.py:Bounty", "broken_of_mine.py, line 3: "),
        ("../needy_of_mine.py:Bounty", "needy_of_mine.py, line 2: ModuleNotFoundError: No module named 'nosuch'"),
        ("../through_of_mine.py:Bounty", "wrong_of_mine.py, line 2: ZeroDivisionError: division by zero"),
        ("../empty_of_mine.py:Bounty", "has no 'Bounty'"),
    ],
)
def test_what_cannot_be_found_gets_one_line(rules, where, message):
    folder = rules.parent
    sys.path.append(str(folder))
    for name in ("random", "pandas", "two.dots", "empty_of_mine"):
        (folder / f"{name}.py").write_text("")
    (folder / "broken_of_mine.py").write_text("\n\ndef f(:\n")
    (folder / "unsure_of_mine.py").write_text("\nint('x')\n")
    (folder / "needy_of_mine.py").write_text("\nimport nosuch\n")
    (folder / "through_of_mine.py").write_text("import wrong_of_mine\n")
    (folder / "wrong_of_mine.py").write_text("\n1 / 0\n")
    with pytest.raises(FedabmError) as caught:
        Reader().read("rule", where, Mechanism)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "broken_of_mine" not in sys.modules


def test_two_files_of_one_name_are_refused(rules, tmp_path):
    own_module(rules)
    second = tmp_path / "elsewhere" / "rules_of_mine.py"
    second.write_text("class Other: ...\n")
    with pytest.raises(InputError, match=r"rules_of_mine\.py has the name of another module, .*; rename the file"):
        own_module(second)
