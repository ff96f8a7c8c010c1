"""No wrong words: how a run is said to have ended is true, for every strategy under every mechanism.

Who draws random numbers, learns or decides for itself may move again: such a run is `stopped`, or nobody could
gain more than the tolerance.
What is `converged` is tried: every owner's deviations are settled by the mechanism itself, one by one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Federation, Scenario, population
from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.simulation.activation import Members, RandomSubset, Sequential, Simultaneous
from fedabm.simulation.stopping import AtRest, Never, Steady
from fedabm.strategies import BestResponse, Honest, Liar, Quitter, Random, Strategy, Wrapper
from fedabm.testing.models import RepeatedModels
from fedabm.views import ServerView
from tests.conftest import STRATEGIES
from tests.mechanisms.test_mechanisms import EXAMPLES

#: what a tolerance of zero or of everything makes of standing still
TOLERANCES = (0.0, 1e-9, 1e-3, 1e9)
WORDS = {"stopped", "at rest", "converged"}


def federation(strategies: list[Strategy], mechanism: Mechanism, **changes: Any) -> Scenario:
    """Three owners on a ring, of unequal costs and sizes."""
    owners = population([0.02, 0.03, 0.06], [6.0, 9.0, 12.0], strategies, starts=[0.0, 2.0, 4.0])
    accuracy = PowerLaw() if mechanism.promises else RepeatedModels(3)
    scenario = Scenario(owners, accuracy, mechanism, steps=5, network=nx.cycle_graph(3), record=None)
    return replace(scenario, **changes)


def restless(strategy: Strategy) -> bool:
    """Whether it draws random numbers by its name, or has something to learn."""
    if isinstance(strategy, Wrapper) and restless(strategy.truth):
        return True
    return isinstance(strategy, Random) or bool(strategy.begin(1, owner_streams(0, 1)))


def found_gain(model: Federation, points: int = 11) -> float:
    """The most that any owner is found to gain by another contribution, truthfully reported, on a grid."""
    people, present = model.population, model.population.present
    reports, oracle = model.announce(present)
    best = 0.0
    for place, row in enumerate(present):
        mine = people.cost.take([row])
        grid = np.append(np.linspace(0.0, people.capacity[row], points), people.contribution[row])
        worth = []
        for share in grid:
            said = reports.contribution.copy()
            said[place] = share
            outcome = model.scenario.mechanism.settle(
                ServerView(model.steps, replace(reports, contribution=said), oracle)
            )
            accuracy = oracle.values(said[None])[0, place]
            paid = outcome.payments[place] - float(mine.value(np.array([share]))[0])
            worth.append(outcome.access[place] * accuracy + paid)
        best = max(best, max(worth) - worth[-1])
    return best


def check_words(model: Federation) -> None:
    """Raise unless what the run says of its end is true."""
    assert model.status in WORDS
    assert model.converged == (model.status == "converged")
    people, tolerance = model.population, model.scenario.gap_tolerance
    if any(restless(people.strategies[row]) for row in people.present):
        assert model.status == "stopped" or model.gap <= tolerance, model.status
    if model.converged:
        assert model.gap <= tolerance
        if model.scenario.mechanism.promises:
            assert found_gain(model) <= tolerance + 1e-12


@pytest.mark.parametrize("mechanism", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_runs_of_every_strategy_end_with_a_true_word(mechanism):
    for number, (name, strategy) in enumerate(STRATEGIES.items()):
        tolerance = TOLERANCES[number % len(TOLERANCES)]
        model = Federation(federation([strategy, BestResponse(), strategy], mechanism, tolerance=tolerance), number)
        try:
            check_words(model.run())
        except AssertionError as error:
            raise AssertionError(f"{name} with tolerance {tolerance:g}: {error}") from error


@settings(max_examples=30)
@given(data=st.data())
def test_runs_of_mixed_owners_end_with_a_true_word_however_they_are_run(data):
    draw = data.draw
    chosen = [draw(st.sampled_from(list(STRATEGIES.values()))) for _ in range(3)]
    wrapped = [draw(st.sampled_from([one, Liar(one, contribution_factor=2.0), Quitter(one)])) for one in chosen]
    scenario = federation(
        wrapped,
        draw(st.sampled_from(list(EXAMPLES.values()))),
        tolerance=draw(st.sampled_from(TOLERANCES)),
        activation=draw(st.sampled_from([Simultaneous(), Sequential(shuffle=True), RandomSubset(2)])),
        stopping=draw(st.sampled_from([AtRest(), Never(), Steady(window=4, batches=2)])),
        gap_tolerance=draw(st.sampled_from([1e-8, 1e-3])),
        pay_every=draw(st.sampled_from([1, 2])),
        steps=draw(st.sampled_from([2, 9])),
    )
    model = Federation(scenario, draw(st.integers(0, 100))).run()
    check_words(model)
    told = model.frames().runs.iloc[0]
    assert (told["status"], told["converged"], told["gap"]) == (model.status, model.converged, model.gap)


class Credulous(Federation):
    """Takes whoever stands still for somebody who rests, drawing or not: as it was once."""

    def watch(self, acted: Members, moved: float) -> None:
        self.population.restless = False
        super().watch(acted, moved)


class Lenient(Federation):
    """Calls every rest an equilibrium."""

    @property
    def converged(self) -> bool:
        return self.at_rest


@pytest.mark.parametrize(("kind", "strategy"), [(Credulous, Random()), (Lenient, Honest())])
def test_wrong_words_would_be_noticed(kind, strategy):
    made = federation([strategy] * 3, NoPayments(), tolerance=1e9)
    with pytest.raises(AssertionError):
        check_words(kind(made, 1).run())
    check_words(Federation(made, 1).run())


def test_amounts_at_stake_do_not_excuse_a_gap():
    """Two owners at rest, one step from equilibrium, where everything is worth a million: at rest, not converged."""
    owners = population([1e5, 1e5], 10.0, [BestResponse(), Liar(BestResponse(), contribution_factor=1.0 + 1e-6)])
    large = Scenario(owners, PowerLaw(scale=1e6, ceiling=1e6), activation=Sequential(), steps=200)
    model = Federation(large).run()
    assert model.gap < 1e-8 * 1e6
    assert model.converged == (model.gap <= 1e-8)
    check_words(model)
