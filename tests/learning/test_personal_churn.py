"""Federations in which everyone has a model of its own, and owners come and go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from fedabm import Federation
from fedabm.common.random import Streams, generator
from fedabm.mechanisms import LocalOnly
from fedabm.strategies import FreeRider, Honest, Quitter, Strategy
from tests.conftest import run
from tests.learning.test_personal import MARKET, RECIPE, data, engine, every_rule, models, scenario


def test_absent_owners_do_not_train_and_newcomers_begin_with_the_initial_model():
    made = Federation(scenario(MARKET, steps=4, owner_5=3))
    made.step()
    made.step()
    torch.testing.assert_close(models(made)[5], engine().initial(0))
    made.step()
    stream = Streams([generator(0, "training", 5, 2)])
    how = {"steps": 5, "batch": 8, "optimiser": RECIPE.optimiser, "streams": stream, "owners": [5]}
    first = engine().train(engine().initial(0), data().capacities[[5]], **how)[0]
    torch.testing.assert_close(models(made)[5], first, rtol=1e-4, atol=1e-5)
    assert 5 in made.links[-1].members
    assert not made.frames().owners.query("owner == 5 and step < 3")["stayed"].any()


@every_rule
def test_every_rule_bears_owners_that_come_and_go(rule):
    people: dict[int, Strategy] = {i: Quitter(Honest(), chance=0.5) for i in range(6)}
    made = run(scenario(rule, {**people, 1: FreeRider()}, steps=5, owner_4=3, owner_0=2))
    frames = made.frames()
    assert torch.isfinite(models(made)).all()
    assert np.isfinite(frames.owners[["accuracy", "utility"]].to_numpy()).all()
    assert abs(frames.steps["server_balance"].iloc[-1]) <= 1e-9


@dataclass(frozen=True)
class Leaves(Strategy):
    """Honest for some steps, then gone."""

    after: int

    def act(self, view):
        action = Honest().act(view)
        return replace(action, stay=action.stay & (view.step <= self.after))


class Remembers(LocalOnly):
    """Counts everybody's rounds by what it is reminded of."""

    def exchange(self, sent):
        known = sent.reports.memory or {}
        rounds = {owner: 1 + known.get(owner, 0) for owner in sent.reports.owners.tolist()}
        return replace(super().exchange(sent), memory={**known, **rounds})


def test_a_mechanism_is_reminded_also_after_owners_have_come_and_gone():
    assert run(scenario(Remembers(), steps=4)).server.memory == dict.fromkeys(range(6), 4)
    changing = scenario(Remembers(), {1: Leaves(after=2)}, steps=4, owner_3=4)
    assert run(changing).server.memory == {0: 4, 1: 2, 2: 4, 3: 1, 4: 4, 5: 4}
