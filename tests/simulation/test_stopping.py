"""Runs end by their stopping rule, and are called by what is proven about where they ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, InputError, Scenario, population
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.simulation.activation import Sequential, Simultaneous
from fedabm.simulation.stopping import AtRest, Never, Progress, Steady
from fedabm.strategies import BestResponse, FixedShare, GradientResponse, Honest, Liar, Quitter, Random
from tests.conftest import run, two_owners


def test_a_coin_flipper_is_never_called_converged():
    """Standing still by chance says nothing, also if any move is forgiven."""
    for seed in range(5):
        model = run(two_owners(strategies=Random(), tolerance=1e9, steps=40), seed)
        assert (model.steps, model.status, model.converged) == (40, "stopped", False)


def test_rest_away_from_equilibrium_has_its_own_word():
    model = run(two_owners(strategies=Honest()))
    assert (model.status, model.at_rest, model.converged) == ("at rest", True, False)
    assert model.gap > 1.0
    assert model.frames().runs["converged"].tolist() == [False]


def test_equilibrium_is_converged_and_the_gap_says_why():
    model = run(two_owners())
    assert (model.status, model.converged) == ("converged", True)
    assert model.gap <= model.scenario.gap_tolerance


def test_the_gap_that_counts_as_equilibrium_can_be_chosen():
    slow = two_owners(strategies=GradientResponse(0.5), tolerance=1e-3, activation=Simultaneous(), steps=5000)
    strict, lenient = run(replace(slow, gap_tolerance=1e-12)), run(replace(slow, gap_tolerance=1.0))
    assert (strict.status, lenient.status) == ("at rest", "converged")
    assert strict.gap == lenient.gap


def test_without_a_proof_nothing_is_converged():
    unproven = Custom(lambda profiles: 1.0 - 1.0 / (1.0 + profiles.sum(axis=-1, keepdims=True) + 0 * profiles))
    model = run(two_owners(accuracy=unproven))
    assert (model.status, model.gap) == ("at rest", np.inf)


def test_a_rule_that_never_stops_uses_up_the_steps():
    model = run(two_owners(stopping=Never(), steps=30))
    assert (model.steps, model.status) == (30, "converged")


def test_a_quitter_that_leaves_by_chance_rests_once_it_has_no_loss():
    quitter = Quitter(BestResponse(), chance=0.5)
    model = run(two_owners(strategies=quitter))
    assert model.status == "converged"


def test_a_liar_at_rest_is_at_rest():
    strategies = [Liar(FixedShare(0.1), contribution_factor=3.0), BestResponse()]
    assert run(two_owners(strategies=strategies)).status == "at rest"


# The statistical rule


def series(values: np.ndarray) -> list[Progress]:
    return [Progress(step, False, value, value) for step, value in enumerate(values, 1)]


@given(st.integers(0, 30))
def test_noise_around_a_level_is_steady_and_a_drift_is_not(seed):
    rng, steps = np.random.default_rng(seed), np.arange(200)
    rule = Steady(window=100, tolerance=0.0, z=4.0)
    assert rule.ends(series(5.0 + rng.normal(size=200)))
    assert not rule.ends(series(5.0 + rng.normal(size=200) + 0.05 * steps))
    assert not rule.ends(series(5.0 + rng.normal(size=199)))


def test_random_owners_end_by_the_statistical_rule_and_are_called_stopped():
    owners = population([0.01] * 20, 10.0, Random())
    model = run(Scenario(owners, PowerLaw(), steps=2000, stopping=Steady(window=20)))
    assert 40 <= model.steps < 2000
    assert model.status == "stopped"


def test_a_steady_rule_ends_at_rest_too():
    assert run(two_owners(stopping=Steady())).status == "converged"


@pytest.mark.parametrize(
    "wrong", [lambda: Steady(window=3), lambda: Steady(tolerance=-1.0), lambda: two_owners(stopping="never")]
)
def test_bad_rules_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()


def test_at_rest_is_the_default():
    assert two_owners().stopping == AtRest()
    assert Federation(two_owners(activation=Sequential())).run().steps < 200
