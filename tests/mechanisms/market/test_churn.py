"""Owners of a market that leave after a loss, and newcomers, on given models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import market_reports, utilities
from fedabm.strategies import Honest, Liar, Quitter
from tests.conftest import assert_equal_frames, run, two_owners
from tests.mechanisms.market.markets import GAIN, MARKET, apart, federation, truth, utility


def losers(chance: float) -> Scenario:
    """Everybody imports from everybody for nothing, at a cost that only the last owner can bear."""
    profiles = market_reports(np.full(40, 100.0), np.append(np.full(39, 50.0), 0.0), 100.0)
    quitters = dict.fromkeys(range(40), Quitter(Honest(), chance=chance))
    return federation(profiles, np.zeros((40, 40)), quitters, mechanism=Everyone(), steps=12)


class Everyone(ModelMarket):
    """All import all and pay nothing."""

    def clear(self, reports, distances):
        return ~np.eye(len(distances), dtype=bool), np.zeros(distances.shape)


def test_strict_quitters_leave_at_once_and_hesitant_ones_one_by_one():
    strict, half = run(losers(1.0)), run(losers(0.5))
    assert strict.frames().steps["present"].tolist()[:2] == [40, 1]
    left = half.frames().steps["present"].to_numpy()
    assert left[0] == 40 > left[1] > left[2] >= left[-1]
    assert 10 <= left[1] <= 31
    assert_equal_frames(half.frames(), run(losers(0.5)).frames())
    assert set(run(losers(0.0)).frames().steps["present"]) == {40}


def test_who_leaves_trades_no_more_and_keeps_its_best_model():
    scenario = federation(truth(), apart(), steps=4)
    owners = list(scenario.owners)
    generous = Quitter(Liar(Honest(), cost_factor=0.0))  # gives its dear model away and regrets it
    owners[3] = replace(owners[3], cost=Linear(500.0), strategy=generous)
    model = run(replace(scenario, owners=tuple(owners)))
    frames = model.frames()
    mine = frames.owners.query("owner == 3").set_index("step")
    assert mine["stayed"].tolist() == [step == 1 for step in range(1, model.steps + 1)]
    assert mine.loc[1, "utility"] < 0
    assert mine.loc[2:, ["utility", "payment", "imports", "exports"]].eq(0).all(axis=None)
    later = frames.transfers.query("step > 1")
    assert 3 not in {*later["payer"], *later["payee"]}
    assert [3 in links.members for links in model.links] == mine["stayed"].tolist()
    others = np.array([0, 1, 2, 4, 5])
    alone = run(federation(truth().take(others), apart()[np.ix_(others, others)]))
    np.testing.assert_allclose(utility(model)[-1, others], utility(alone)[-1])


def test_the_best_accuracy_stays_with_an_owner_that_left():
    people = population([0.1, 9.0], 100.0, [Honest(), Quitter(Honest())])
    frames = run(Scenario(people, PowerLaw(), steps=4)).frames()
    mine = frames.owners.query("owner == 1")
    assert mine["accuracy"].tolist()[1:] == [0.0] * (len(mine) - 1)
    assert mine["best_accuracy"].nunique() == 1
    assert mine["best_accuracy"].iloc[-1] == mine["accuracy"].iloc[0] > 0.9


def test_newcomers_take_part_from_the_step_they_join():
    profiles, distances = truth(), apart()
    scenario = federation(profiles, distances, steps=6)
    owners = tuple(replace(one, joins=3 if i in (0, 5) else 1) for i, one in enumerate(scenario.owners))
    model = run(replace(scenario, owners=owners))
    frames = model.frames()
    assert frames.steps["present"].tolist() == [4, 4, 6, 6, 6][: len(frames.steps)]
    before = np.array([1, 2, 3, 4])
    early = MARKET.clear(profiles.take(before), distances[np.ix_(before, before)])
    np.testing.assert_allclose(utility(model)[0, before], utilities(GAIN, profiles.take(before), *early))
    assert utility(model)[:2, [0, 5]].tolist() == [[0.0, 0.0]] * 2
    full = MARKET.clear(profiles, distances)
    np.testing.assert_allclose(utility(model)[2], utilities(GAIN, profiles, *full))
    early_transfers = frames.transfers.query("step < 3")
    assert {0, 5}.isdisjoint({*early_transfers["payer"], *early_transfers["payee"]})
    waiting = frames.owners.query("step < 3 and owner in (0, 5)")
    assert not waiting["stayed"].any()
    assert waiting[["contribution", "reported_contribution", "reported_size", "imports"]].eq(0).all(axis=None)


def test_a_run_waits_for_those_who_are_to_come():
    late = replace(two_owners(steps=30).owners[0], joins=12)
    model = run(replace(two_owners(steps=30), owners=(late, two_owners().owners[1])))
    assert model.steps >= 12
    both = run(two_owners(steps=200))
    np.testing.assert_allclose(model.population.contribution, both.population.contribution, atol=1e-6)


def test_a_newcomer_changes_nobody_elses_draws():
    scenario = federation(truth(), apart(), dict.fromkeys(range(6), Quitter(Honest(), chance=0.5)), steps=5)
    late = tuple(replace(one, joins=4 if i == 0 else 1) for i, one in enumerate(scenario.owners))
    streams = [Federation(s).population._streams.uniform() for s in (scenario, replace(scenario, owners=late))]
    np.testing.assert_array_equal(*streams)
