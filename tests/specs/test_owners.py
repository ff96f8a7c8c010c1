"""Owners are written in one grammar, in games and in studies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedabm import InputError
from fedabm.comparison.written import read_study
from fedabm.specs.games import read_game

AT_ONCE = "owners = { costs = [0.1, 0.25, 0.25], capacity = [100, 50, 50] }\n"
ONE_BY_ONE = """
[[owners]]
name = "St. Mary"
cost = 0.1
data = 100

[[groups]]
name = "practice"
count = 2
cost = 0.25
data = 50
"""
GAME = 'mechanism = "no_payments"\naccuracy = "power_law"\n'
STUDY = 'mechanisms = ["no_payments"]\naccuracy = "power_law"\n'


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "file.toml").write_text(text)
    return tmp_path / "file.toml"


def test_a_game_is_the_same_however_its_owners_are_written(tmp_path):
    games = [read_game(written(tmp_path, GAME + owners)) for owners in (AT_ONCE, ONE_BY_ONE)]
    for game in games:
        assert game.capacities.tolist() == [100.0, 50.0, 50.0]
        assert game.costs.value(np.ones(3)).tolist() == [0.1, 0.25, 0.25]


def test_a_study_is_the_same_however_its_owners_are_written(tmp_path):
    rng = np.random.default_rng(0)
    first, second = (read_study(written(tmp_path, STUDY + owners)).people(rng) for owners in (AT_ONCE, ONE_BY_ONE))
    assert [(one.cost, one.capacity) for one in first] == [(one.cost, one.capacity) for one in second]
    assert [one.name for one in first] == ["owner 0", "owner 1", "owner 2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GAME + '[[owners]]\nname = "a"\ncost = 0.1\n', "needs cost and data"),
        (GAME + "[[owners]]\ncost = 0.1\ndata = 1\nbudget = 3\n", "budget of .* means nothing in a game"),
        (
            GAME + "[[groups]]\ncount = 2\ncost = { low = 0.1, high = 0.2 }\ndata = 1\n",
            "is drawn, and a game has no seeds",
        ),
        (GAME + "[[groups]]\ncount = 0\ncost = 0.1\ndata = 1\n", "must be a whole number from 1"),
    ],
)
def test_what_a_game_cannot_use_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_game(written(tmp_path, text))


@pytest.mark.parametrize(
    ("owners", "said"),
    [
        ("{ costs = [0.1] }", "owners need capacity"),
        ("{ costs = [0.1, 0.2], capacity = [1, 2, 3] }", "give one of each per owner"),
        ('{ costs = 0.1, capacity = 1, strategy = "honest" }', "write .* one by one"),
    ],
)
def test_what_a_study_cannot_use_is_refused(tmp_path, owners, said):
    with pytest.raises(InputError, match=said):
        read_study(written(tmp_path, STUDY + f"owners = {owners}\n"))
