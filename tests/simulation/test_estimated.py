"""Where samples take the place of an exact answer it is said: once on the screen, in a column and in the manifest."""

import json
import warnings

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.mechanisms import BanzhafShare, Deposit, ShapleyShare
from fedabm.strategies import FixedShare
from fedabm.study.study import Study

#: neither of the total only nor an exponential mixture
PRODUCT = Custom(lambda profiles: np.tile(np.tanh(np.sqrt(profiles).sum(axis=1, keepdims=True)), profiles.shape[1]))
WORDS = "what {} pays is estimated from sampled orders or coalitions, as nothing exact is known for 13 owners here"


def scenario(rule, accuracy=PRODUCT, owners=13):
    people = population([0.01] * owners, np.linspace(0.1, 0.5, owners), FixedShare(1.0))
    return Scenario(people, accuracy, rule, steps=3, tolerance=0.0)


@pytest.mark.parametrize("rule", [ShapleyShare(), BanzhafShare(), Deposit(ShapleyShare(), 1.0)])
def test_what_falls_back_to_samples_is_said_once_and_in_a_column(rule):
    with pytest.warns(UserWarning, match="is estimated from sampled") as said:
        model = Federation(scenario(rule)).run()
    assert len(said) == 1
    assert model.steps >= 2
    assert model.frames().runs["estimated"].tolist() == [WORDS.format(type(rule).__name__)]


def test_who_asks_for_samples_is_told_in_the_column_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Federation(scenario(ShapleyShare(method="monte_carlo"), owners=4)).run()
    assert model.frames().runs["estimated"][0].endswith("coalitions, as it says")


@pytest.mark.parametrize(("accuracy", "owners"), [(PowerLaw(), 13), (PRODUCT, 4)])
def test_nothing_is_said_where_shares_are_exact(accuracy, owners):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Federation(scenario(ShapleyShare(), accuracy, owners)).run()
    assert model.frames().runs["estimated"].tolist() == [""]


@pytest.mark.filterwarnings("ignore:what ShapleyShare pays")
def test_the_manifest_says_so_too(tmp_path):
    study = Study("estimated", 1, None, {}, quiet=True)
    study.simulate(scenario(ShapleyShare()))
    study.save(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert told["estimated"] == [WORDS.format("ShapleyShare")]
    assert told["without_effect"] == []
