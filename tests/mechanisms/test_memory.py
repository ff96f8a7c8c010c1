"""Mechanisms that remember: they find in every report what they wanted to, through checkpoints, comings and goings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Line
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms import CFL, Mechanism, NoPayments
from fedabm.mechanisms.base import mean_of_others
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import Sequential
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.strategies import FixedShare, Honest, Quitter, Random, Strategy
from fedabm.testing.models import RepeatedModels
from fedabm.views import Action, Outcome, OwnerView, Reports, ServerView
from tests.conftest import assert_equal_frames, run


@dataclass(frozen=True)
class Loyalty(Mechanism):
    """Pay `rate` for every round in which an owner has contributed before, above the mean of the others."""

    rate: float = 0.1

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        rounds = self.rounds(reports)
        reward = self.rate * (rounds - mean_of_others(rounds))
        return full_access(accuracy, reports.contribution, Line(reward, np.zeros(len(reward))))

    def settle(self, view: ServerView) -> Outcome:
        reports, known = view.reports, view.reports.memory or {}
        rounds = self.rounds(reports) + (reports.contribution > 0)
        assert reports.owners is not None
        now = dict(zip(reports.owners.tolist(), rounds.tolist(), strict=True))
        return replace(super().settle(view), memory={**known, **now})

    def rounds(self, reports: Reports) -> Array:
        known, owners = reports.memory or {}, reports.owners
        numbers = range(len(reports.size)) if owners is None else owners.tolist()
        return np.array([known.get(owner, 0.0) for owner in numbers])


@dataclass(frozen=True)
class Leaves(Strategy):
    """Gives half, and leaves after some steps."""

    after: int

    def act(self, view: OwnerView) -> Action:
        action = FixedShare(0.5).act(view)
        return replace(action, stay=action.stay & (view.step <= self.after))


def scenario(*strategies: Strategy, joins: tuple[int, ...] = (1, 1, 1), **changes: object) -> Scenario:
    chosen = strategies or (FixedShare(0.5), FixedShare(0.0), FixedShare(1.0))
    owners = population([0.01] * len(chosen), 10.0, list(chosen))
    owners = tuple(replace(owner, joins=step) for owner, step in zip(owners, joins, strict=True))
    return replace(Scenario(owners, PowerLaw(), Loyalty(), steps=4, tolerance=0.0), **changes)


def payments(model: Federation) -> np.ndarray:
    return model.frames().owners.pivot(index="step", columns="owner", values="payment").to_numpy()


def steps(model: Federation, number: int) -> Federation:
    for _ in range(number):
        model.step()
    return model


def test_a_round_is_settled_by_what_was_remembered():
    """Owner 1 never contributes: after k rounds the others have k to its 0, so that it pays rate * k."""
    model = steps(Federation(scenario()), 4)
    np.testing.assert_allclose(payments(model), np.outer(range(4), [0.05, -0.1, 0.05]), atol=1e-12)
    assert model.server.memory == {0: 4.0, 1: 0.0, 2: 4.0}


@pytest.mark.parametrize("activation", [Sequential(), None])
def test_owners_are_offered_what_will_be_settled(activation):
    """What a strategy is told that it will be paid is what it then is paid."""
    told: list[float] = []

    @dataclass(frozen=True)
    class Listens(Strategy):
        def act(self, view: OwnerView) -> Action:
            told.extend(view.payoff.offers.payment.value(view.capacity).tolist())
            return view.truthful(view.capacity)

    changes = {} if activation is None else {"activation": activation}
    model = steps(Federation(scenario(FixedShare(0.0), Listens(), FixedShare(0.5), **changes)), 4)
    np.testing.assert_allclose(told, payments(model)[:, 1], atol=1e-12)


def test_owners_that_come_and_go_are_told_apart_by_their_numbers():
    model = steps(Federation(scenario(Leaves(2), Honest(), Honest(), joins=(1, 1, 3))), 4)
    assert model.server.memory == {0: 2.0, 1: 4.0, 2: 2.0}
    # In the fourth round the newcomer has one round behind it and owner 1 three; owner 0 is gone.
    np.testing.assert_allclose(payments(model)[-1], [0.0, 0.2, -0.2], atol=1e-12)


def test_nothing_survives_through_the_scenario_and_equal_seeds_give_equal_frames():
    restless = scenario(Random(), Quitter(Random(), chance=0.2), Honest(), joins=(1, 1, 2), steps=8)
    assert_equal_frames(run(restless, 5).frames(), run(restless, 5).frames())
    assert Federation(restless).server.memory is None


@pytest.mark.parametrize("mechanism", [Loyalty(), CFL(mean_below=9.0, max_above=0.1)], ids=["loyalty", "cfl"])
@pytest.mark.parametrize("stop", [1, 3])
def test_a_restored_run_remembers(tmp_path, mechanism, stop):
    accuracy = PowerLaw() if mechanism.promises else RepeatedModels(3)
    whole = scenario(Random(), Random(0.5), Honest(), joins=(1, 1, 2), steps=6, mechanism=mechanism, accuracy=accuracy)
    part = checkpoint.restore(checkpoint.save(steps(Federation(whole, 5), stop), tmp_path / "run"), whole)
    assert part.server.memory
    assert_equal_frames(part.run().frames(), run(whole, 5).frames())


def test_a_mechanism_that_remembers_nothing_finds_nothing():
    model = steps(Federation(scenario(mechanism=NoPayments())), 2)
    reports, _ = model.announce(model.population.present)
    assert model.server.memory is None
    assert reports.memory is None


def test_a_game_is_solved_as_in_the_first_round():
    one, other = (solve(Game(PowerLaw(), [0.1, 0.25], 100, rule)) for rule in (Loyalty(), NoPayments()))
    np.testing.assert_allclose(one.profile, other.profile)
