"""Every protocol on models that are really trained, with every kind of owner that does something unexpected."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from fedabm import Federation
from fedabm.data.datasets import load_dataset
from fedabm.games.accuracy import Announced
from fedabm.games.accuracy.base import Accuracy
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Learning, MeasuredCurve, Rounds, Trained
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import BanzhafShare
from fedabm.papers.doshi2025.protocols import fed_avg_strategic, two_phase_upbred, upbred
from fedabm.papers.murhekar2023.protocols import fed_br, fed_br_bg
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.presets import Size, engine_for
from fedabm.papers.protocols import Protocol, fed_avg, mw_fed
from fedabm.strategies import Attacker, FreeRider, Honest, Liar, Quitter, Strategy
from tests.conftest import assert_equal_frames, run

OWNERS, STEPS = 4, 5


@cache
def engine() -> Engine:
    return engine_for(load_dataset("digits"), Size(OWNERS, 40, 20, "logistic"), 0)


def learning() -> Accuracy:
    """One model that learns on."""
    return Learning(engine(), Recipe(batch=20), seed=1)


@cache
def announced() -> Accuracy:
    """Models trained from the start, and a public curve."""
    return Announced(Trained(engine(), 2, Recipe(batch=20), 1), MeasuredCurve([0, 40, 160], [0.1, 0.6, 0.8]))


def coalitions() -> Accuracy:
    """Models of all coalitions."""
    return Rounds(engine(), Recipe(batch=20), seed=1, start=20.0)


#: every protocol with the kind of training that its paper gives it
PROTOCOLS: list[tuple[Protocol, Callable[[], Accuracy]]] = [
    (fed_avg(), learning),
    (fed_avg_strategic(20.0, at_most=2), learning),
    (upbred(0.5), learning),
    (two_phase_upbred(20.0, 1.0, at_most=2), learning),
    (fed_br(), announced),
    (fed_br(step=500.0), announced),
    (fed_br_bg(), announced),
    (mw_fed(0.5, 80.0), announced),
    (fed_br_shap(100.0, active=3, window=2), coalitions),
]
DEVIANTS: dict[str, Strategy] = {
    "free-rider": FreeRider(),
    "liar": Liar(Honest(), contribution_factor=2.0),
    "flipper": Attacker(Honest(), "sign_flip", scale=3.0),
    "broken": Attacker(Honest(), "nan"),
    "noisy": Attacker(Honest(), "noise", scale=0.5),
    "leaver": Quitter(Honest()),
}


def play(rule: Protocol, accuracy: Callable[[], Accuracy], deviant: Strategy | None) -> Federation:
    """The first owner does something else; data cost it more than any model is worth."""
    strategies, costs = [deviant, *[None] * (OWNERS - 1)], [1.0, *[0.002] * (OWNERS - 1)]
    scenario = rule.scenario(accuracy(), costs, engine().data.capacities, 20.0, strategies, steps=STEPS)
    return run(scenario, seed=3)


def names(case: object) -> str | None:
    return f"{case.name}-{case.strategy.label}" if isinstance(case, Protocol) else getattr(case, "__name__", None)


@pytest.mark.parametrize("kind", DEVIANTS)
@pytest.mark.parametrize(("rule", "accuracy"), PROTOCOLS, ids=names)
def test_every_protocol_bears_every_kind_of_owner(rule, accuracy, kind):
    made = play(rule, accuracy, DEVIANTS[kind])
    frames = made.frames()
    owners, first = frames.owners, frames.owners[frames.owners["owner"] == 0]
    assert np.all(np.isfinite(owners["utility"]))
    assert owners.groupby("step")["payment"].sum().abs().max() < 1e-9
    assert set(owners[owners["owner"] > 0]["strategy"]) == {rule.strategy.label}
    acted = first[first["information"] != "repeated"]
    assert len(acted)
    if kind == "free-rider":
        assert np.all(acted["contribution"] == 0)
    elif kind == "liar":
        np.testing.assert_array_equal(acted["reported_contribution"], 2 * acted["contribution"])
    elif kind == "leaver":
        assert not made.population.stayed[0]
    elif kind == "broken":
        trained = acted["rejected"][acted["step"] > getattr(made.state, "waited", 0) + 1]
        assert len(trained)
        assert np.all(trained)
        assert not owners[owners["owner"] > 0]["rejected"].any()
    assert_equal_frames(frames, play(rule, accuracy, DEVIANTS[kind]).frames())


@pytest.mark.parametrize("kind", ["flipper", "noisy"])
@pytest.mark.parametrize(("rule", "accuracy"), PROTOCOLS, ids=names)
def test_attacks_reach_the_model_of_every_protocol(rule, accuracy, kind):
    honest, attacked = (play(rule, accuracy, who).population.accuracy for who in (Honest(), DEVIANTS[kind]))
    assert attacked.mean() != pytest.approx(honest.mean(), abs=1e-6)


def test_banzhaf_shares_bear_them_as_well():
    rule = fed_br_shap(100.0, active=3, window=2, mechanism=BanzhafShare())
    for kind in ("free-rider", "liar", "flipper", "leaver"):
        assert np.all(np.isfinite(play(rule, coalitions, DEVIANTS[kind]).frames().owners["utility"]))
