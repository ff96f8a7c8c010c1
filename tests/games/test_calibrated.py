"""A curve with draws answers as its best estimate, and its draws are curves."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from fedabm import Game, InputError, solve
from fedabm.accuracy import Calibrated, Draws, PowerLaw
from fedabm.mechanisms import ShapleyShare
from fedabm.specs.games import read_game
from fedabm.specs.values import Reader
from fedabm.specs.written import written
from fedabm.testing import check_accuracy

BEST = PowerLaw(0.5, 0.7, 2.0, 0.9)
GAME = """
mechanism = "shapley_share"
owners = { costs = [0.01, 0.02], capacity = 10 }
accuracy = { kind = "calibrated", best = { kind = "power_law", scale = 0.5 }, draws = "pilot.draws.csv", trusted = 15 }
"""


def curve(**more):
    return Calibrated(BEST, {"scale": [0.4, 0.5, 0.6], "ceiling": [0.8, 0.9, 1.0]}, **more)


def test_it_keeps_the_contract_and_is_solved_as_its_best_estimate():
    check_accuracy(curve(), seeds=1)
    found, plain = (solve(Game(one, [0.01, 0.02], 10.0, ShapleyShare())) for one in (curve(), BEST))
    assert found.profile.tolist() == plain.profile.tolist()
    assert curve().traits == BEST.traits


def test_every_draw_is_the_curve_with_its_parameters():
    assert curve().draw(2) == PowerLaw(0.6, 0.7, 2.0, 1.0)
    assert len(curve().drawn) == curve().draws.count == 3
    assert curve().restrict(np.array([0])) == curve()


def test_it_says_where_nobody_trusts_it():
    assert "trusted up to 15" in curve(trusted=15.0).beyond(20.0)
    assert curve(trusted=15.0).beyond(15.0) == curve().beyond(1e9) == ""


def test_it_is_read_from_a_file_beside_the_game_and_written_with_its_draws(tmp_path: Path):
    (tmp_path / "pilot.draws.csv").write_text("scale,exponent\n0.4,1\n0.6,1.2\n")
    (tmp_path / "game.toml").write_text(GAME)
    found = read_game(tmp_path / "game.toml").accuracy
    assert found == Calibrated(PowerLaw(0.5), {"scale": [0.4, 0.6], "exponent": [1.0, 1.2]}, 15.0)
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert Reader().read("accuracy", written(found), PowerLaw.__mro__[2]) == found


@pytest.mark.parametrize(
    ("draws", "told"),
    [
        ({"scal": [1.0]}, "did you mean 'scale'"),
        ({"scale": [1.0], "ceiling": [1.0, 2.0]}, "lengths"),
        ({"scale": [-1.0]}, "scale must be a positive number"),
        ({}, "from 1 to 1000, got 0"),
        ({"scale": [1.0] * 1001}, "got 1001"),
        ({"scale": [np.nan]}, "must be finite"),
        ("nowhere.csv", "No such file"),
    ],
)
def test_draws_that_are_no_curves_are_refused_in_one_line(draws, told):
    with pytest.raises(InputError, match=told):
        Calibrated(BEST, draws)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scale\n0.4\nnan\n", "row 3, column 'scale' must be a finite number"),
        ("scale,ceiling\n0.4\n", "row 2 has 1 cells but the head 2"),
        ("scale\nx\n", "row 2, column 'scale' must be a number"),
        ("scale,scale\n1,1\n", "twice"),
        ("scale\n", "no rows"),
        ("", "is empty"),
    ],
)
def test_a_bad_file_of_draws_is_named_with_row_and_column(tmp_path: Path, text: str, told: str):
    (tmp_path / "draws.csv").write_text(text)
    with pytest.raises(InputError, match=told):
        Calibrated(BEST, tmp_path / "draws.csv")


def test_draws_are_values():
    one, other = Draws({"scale": [1.0, 2.0]}), Draws({"scale": np.array([1.0, 2.0])})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Draws({"scale": [1.0, 3.0]})
