"""A flaw in a user's own file is named first on the card."""

import json
from pathlib import Path

import pytest

from fedabm.cli import main

RULES = Path(__file__).with_name("planted_flaws.py")
FLAWS = {
    "Generous": "leaks money",
    "Welcome": "rewards splitting",
    "Trusting": "rewards lying",
    "Stingy": "punishes joining",
    "Chase": "has no equilibrium",
}
GAME = """
mechanism = "no_payments"
accuracy = { kind = "power_law", scale = 0.9 }
owners = { costs = [0.02, 0.03, 0.05], capacity = 12 }
"""


@pytest.fixture
def game(tmp_path):
    file = tmp_path / "game.toml"
    file.write_text(GAME, encoding="utf-8")
    return file


@pytest.mark.parametrize(("rule", "flaw"), FLAWS.items())
def test_the_planted_flaw_comes_first(rule, flaw, game, capsys):
    assert main(["audit", str(game), "--mechanism", f"{RULES}:{rule}", "--quick", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["flaws"][0] == flaw


def test_a_rule_without_a_flaw_has_none(game, capsys):
    assert main(["audit", str(game), "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flaws"] == []


def test_the_card_is_printed_in_words(game, capsys):
    assert main(["audit", str(game), "--mechanism", f"{RULES}:Trusting", "--quick"]) == 0
    shown = capsys.readouterr().out
    assert "1. rewards lying" in shown
    assert "certified" in shown
    assert "skipped tampering" in shown


def test_bad_words_get_one_line(game, capsys):
    assert main(["audit", str(game), "--mechanism", "no_such_rule"]) == 2
    assert main(["audit", str(game), "--set", "owners=3"]) == 2
    assert main(["audit", "no_such_study"]) == 2
    errors = capsys.readouterr().err.strip().split("\n")
    assert len(errors) == 3
    assert all(line.startswith("fedabm: ") for line in errors)


def test_a_scenario_is_overheard_not_run(capsys):
    assert main(["audit", "free_riding", "--set", "owners=3", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["owners"] == 3
