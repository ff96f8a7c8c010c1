"""Payments on updates: they balance, charge what is amplified, and without the penalty pay for nothing sent."""

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.learning import Learning, Recipe, UpdateNorms
from fedabm.learning.knowledge.update_norms import norm_scores
from fedabm.mechanisms import ScorePayments
from fedabm.strategies import Attacker, Honest
from tests.knowledge.worlds import RECIPE, engine
from tests.learning.knowledge.test_from_updates import large


def paid(attack=None, scale=None, alike=True, **how):
    """What four owners are paid in the first round; their updates agree if they have much data."""
    trained = large()[0] if alike else engine()
    kinds = [*[Honest()] * 3, Honest() if attack is None else Attacker(Honest(), attack, scale)]
    people = population([0.001] * 4, trained.data.capacities.astype(float), kinds)
    learning = Learning(trained, Recipe(batch=32) if alike else RECIPE)
    world = Scenario(people, learning, ScorePayments(), steps=1, knowledge=UpdateNorms(**how))
    return Federation(world, seed=3).run().population.payment


def test_lengths_alone_balance_by_hand():
    """Squared lengths 1, 4, 9: -C (1 - 6.5), -C (4 - 5), -C (9 - 2.5)."""
    scores = norm_scores(np.array([1.0, 4.0, 9.0]), np.zeros(3), rate=2.0, penalty=0.0)
    assert scores == pytest.approx([11.0, 2.0, -13.0])
    assert scores.sum() == pytest.approx(0.0)
    assert paid(penalty=0.0).sum() == pytest.approx(0.0, abs=1e-9)


def test_the_optimal_amplification_is_none_at_a_high_enough_rate():
    """An owner whose update u is a times longer loses C (a^2 - 1) |u|^2: more than any linear gain beyond some C."""
    honest = norm_scores(np.array([1.0, 1.0, 1.0]), np.zeros(3), rate=1.0, penalty=0.0)[0]
    amplified = [norm_scores(np.array([a**2, 1.0, 1.0]), np.zeros(3), rate=1.0, penalty=0.0)[0] for a in (1, 2, 3)]
    assert amplified == pytest.approx([honest, honest - 3.0, honest - 8.0])


def test_without_the_penalty_free_riders_are_paid_and_with_it_they_lose():
    assert paid("free_ride", penalty=0.0)[3] > max(0.0, paid(penalty=0.0)[3])
    assert paid("free_ride")[3] < min(0.0, paid()[3])


def test_where_honest_updates_do_not_agree_the_penalty_does_not_help():
    assert paid("free_ride", alike=False)[3] > paid(alike=False)[3]


@pytest.mark.parametrize("attack", ["scaled", "sign_flip"])
def test_scaled_and_manipulated_updates_cost(attack):
    assert paid(attack, 3.0)[3] < paid()[3]


def test_a_dropped_row_is_paid_nothing_and_the_others_are_compared_with_each_other():
    found = paid("nan", penalty=0.0)
    assert found[3] == 0.0
    assert found[:3].sum() == pytest.approx(0.0, abs=1e-9)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="penalty"):
        UpdateNorms(penalty=-1.0)
