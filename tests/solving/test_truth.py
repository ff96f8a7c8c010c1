"""Costs as reports: solving with lies, and whether truth is an equilibrium, ex post and Bayesian."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Game, InputError, solve
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.costs import Affine, Quadratic
from fedabm.games.curves import Line
from fedabm.games.offers import full_access
from fedabm.mechanisms import Clarke, CostSharing, Mechanism, NoPayments, ShapleyShare, ValueShaping
from fedabm.solving.truth import bayesian_truth, truth_ex_post
from fedabm.solving.uniqueness import uniqueness

MEAN = 0.15


@dataclass(frozen=True)
class Covariance(Mechanism):
    """p_i = c_i (c_j - mean) / 2: worth nothing on average over c_j, whatever i says; at given costs a lie gains."""

    asks_cost = True
    budget_balanced = False

    def offers(self, accuracy, reports):
        rate = reports.cost.unit(reports.contribution)
        return full_access(accuracy, reports.contribution, Line(0.5 * rate * (rate[::-1] - MEAN), np.zeros(2)))


def draw(rng):
    return rng.uniform(MEAN - 0.05, MEAN + 0.05, 2)


def test_solving_with_a_lie_by_hand():
    """Half of the reported cost is refunded: who says .4 in place of .2 has no cost left and gives all it has."""
    honest = solve(Game(PowerLaw(), [0.2, 0.25], 9, CostSharing(0.5)))
    lying = solve(Game(PowerLaw(), [0.2, 0.25], 9, CostSharing(0.5), reported=[0.4, 0.25]))
    assert honest.profile == pytest.approx([10**0.5 - 1, 0.0])
    assert lying.converged
    assert lying.profile == pytest.approx([9.0, 0.0])
    assert lying.payments == pytest.approx([0.5 * 0.4 * 9, -0.5 * 0.4 * 9])
    assert lying.utilities[0] == pytest.approx(0.9 + 1.8 - 1.8)


@settings(max_examples=5)
@given(rates=st.lists(st.floats(0.02, 0.4), min_size=3, max_size=3), after=st.sampled_from(["settled", "standing"]))
def test_truth_is_dominant_under_clarke_payments(rates, after):
    for accuracy in (PowerLaw(), GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 1, 1))):
        found = truth_ex_post(Game(accuracy, rates, 5.0, Clarke()), (0.25, 0.8, 1.3, 4.0), after)
        assert found.holds
        np.testing.assert_allclose(found.gains, 0.0, atol=1e-7)


def test_rules_that_do_not_ask_for_costs_cannot_be_lied_to_about_them():
    for rule in (NoPayments(), ShapleyShare()):
        found = truth_ex_post(Game(PowerLaw(), [0.1, 0.25], 9, rule), (0.5, 2.0))
        assert found.holds
        np.testing.assert_allclose(found.gains, 0.0, atol=1e-12)


def test_refunds_are_worth_lying_for():
    """With a refund of half the stated cost, stating k times the cost gains (k - 1) / 2 of it if nobody moves."""
    game = Game(PowerLaw(), [Affine(0.1, 0.3), Quadratic(0.05)], 4.0, CostSharing(0.5))
    found = truth_ex_post(game, (0.5, 1.0, 3.0), "standing")
    spent = game.costs.value(solve(game).profile)
    assert not found.holds
    assert found.lies.tolist() == [3.0, 3.0]
    assert np.all(found.gains >= spent - 1e-9)


def test_value_shaping_needs_verified_costs():
    found = truth_ex_post(Game(PowerLaw(exponent=0.5), [0.02, 0.03], 50.0, ValueShaping()), (0.5, 0.8, 1.25, 2.0))
    assert not found.holds


def test_truth_may_hold_on_average_and_fail_at_given_costs():
    rule = Covariance()
    lies = (0.5, 1.5)
    ex_post = truth_ex_post(Game(PowerLaw(), [0.15, 0.19], 2.0, rule), lies, "standing")
    assert ex_post.gains[0] == pytest.approx(0.5 * 0.5 * 0.15 * 0.04, rel=1e-4)
    assert not ex_post.holds
    options = {"lies": lies, "after": "standing", "samples": 40, "types": 1}
    average = bayesian_truth(PowerLaw(), draw, 2.0, rule, **options)
    assert average.holds
    assert np.all(average.errors > 0)
    refund = bayesian_truth(PowerLaw(), draw, 2.0, CostSharing(0.5), **options | {"samples": 8})
    assert not refund.holds
    assert refund.lies.tolist() == [1.5, 1.5]


def test_uniqueness_is_not_proven_where_costs_are_lied_about():
    honest, lying = (
        Game(PowerLaw(), [Quadratic(0.2), Quadratic(0.25)], 9, CostSharing(0.5), reported=told)
        for told in (None, [Quadratic(0.8), Quadratic(0.25)])
    )
    assert uniqueness(honest, solve(honest).profile).unique
    assert uniqueness(lying, solve(lying).profile).unique is None


def test_nothing_is_solved_where_nobody_asks_for_costs(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("solved")

    monkeypatch.setattr("fedabm.solving.truth.solve_many", refused)
    found = truth_ex_post(Game(PowerLaw(), [0.1, 0.25, 0.3], 9, ShapleyShare()))
    assert found.holds
    assert not np.any(found.gains)


def test_the_best_statement_is_the_truth_where_no_lie_gains():
    """A multiple of 1, not the first that was tried."""
    for rule in (ShapleyShare(), Clarke()):
        for after in ("settled", "standing"):
            found = truth_ex_post(Game(PowerLaw(), [0.1, 0.25], 9, rule), after=after)
            assert found.lies.tolist() == [1.0, 1.0]
            assert np.all((found.gains >= 0.0) & (found.gains <= found.tolerance))
    average = bayesian_truth(PowerLaw(), draw, 2.0, ShapleyShare(), samples=4, types=1)
    assert average.lies.tolist() == [1.0, 1.0]
    assert not np.any(average.gains)


def test_bad_input_is_told():
    game = Game(PowerLaw(), [0.1, 0.25], 9, Clarke())
    with pytest.raises(InputError, match="after must be 'settled' or 'standing', got 'now'"):
        truth_ex_post(game, after="now")
    with pytest.raises(InputError, match="3 reported costs but 2 owners; give one per owner"):
        Game(PowerLaw(), [0.1, 0.25], 9, Clarke(), reported=[0.1, 0.2, 0.3])
