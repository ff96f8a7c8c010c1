"""The penalty keeps owners at their own optimum; truth is best among rivals around the own cost, and not otherwise."""

from fractions import Fraction

import numpy as np
import pytest

from fedabm import Game, solve
from fedabm.accuracy import PowerLaw
from fedabm.games import individual_optimum
from fedabm.mechanisms import FACT
from fedabm.mechanisms.fact import chance_of_the_middle
from fedabm.solving.truth import costs_of

COSTS = [0.02, 0.03, 0.05, 0.1]


def test_everyone_gives_what_it_would_alone():
    found = solve(Game(PowerLaw(), COSTS, 50.0, FACT()))
    alone = individual_optimum(PowerLaw(), costs_of(COSTS, 4), np.full(4, 50.0))[0]
    assert found.converged
    assert found.profile == pytest.approx(alone, rel=1e-6)


def test_chances_of_the_middle_count_every_draw_of_three():
    """Four unlike costs: the inner ones are in the middle of two of their three triples.  Equal costs share."""
    assert chance_of_the_middle(np.array([4.0, 1.0, 2.0, 3.0])) == pytest.approx([0, 0, 2 / 3, 2 / 3])
    assert chance_of_the_middle(np.ones(5)) == pytest.approx([1 / 3] * 5)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 3, 7).astype(float)
    assert chance_of_the_middle(drawn).mean() == pytest.approx(1 / 3)
    assert chance_of_the_middle(np.ones(2)).tolist() == [0, 0]


def test_among_rivals_around_the_own_cost_truth_wins_most_often():
    """Their public check: two rivals from a normal distribution around the own cost; half of the draws are won."""
    low, high = np.sort(np.random.default_rng(0).normal(1.0, 0.1, (20_000, 2)), axis=1).T
    said = np.linspace(0.8, 1.2, 9)
    wins = np.mean((low[:, None] < said) & (said < high[:, None]), axis=0)
    assert said[np.argmax(wins)] == pytest.approx(1.0)
    assert wins.max() == pytest.approx(0.5, abs=0.02)


def best(game, profile, owner):
    """The most that an owner can have by another contribution, with its true cost."""
    x = np.linspace(0.0, 50.0, 2001)
    benefit = game.offers(profile).take([owner]).benefit.value(x[None])[0]
    return np.max(benefit - COSTS[owner] * x)


def test_where_costs_differ_who_is_far_from_the_median_gains_by_a_cost_nearer_to_it():
    """The last owner never is the middle one of three, and says 0.04 instead of 0.1."""
    truth = Game(PowerLaw(), COSTS, 50.0, FACT())
    profile = solve(truth).profile
    lie = Game(PowerLaw(), COSTS, 50.0, FACT(), reported=[0.02, 0.03, 0.05, 0.04])
    assert best(truth, profile, 3) == pytest.approx(truth.utilities(profile)[3], abs=1e-3)
    assert best(lie, profile, 3) > best(truth, profile, 3) + 0.1


@pytest.mark.parametrize("owners", [2, 5])
def test_steep_costs_of_tiny_data_are_certified_in_spite_of_rounding(owners):
    """A thousandth of data costs up to 28.6: fines are large numbers, and differences of payments keep their digits."""
    rates, rule = [28_600.0, 2_200.0, 7_700.0, 9_000.0, 1_500.0][:owners], FACT()
    game = Game(PowerLaw(), rates, 1e-3, rule)
    assert np.all(np.isfinite(game.gains(np.full(owners, 4e-4))))
    reports = game.reports(np.full(owners, 4e-4))
    alone, offers = rule.terms(game.accuracy, reports.types)[0], game.offers(np.full(owners, 4e-4))
    steep = offers.accuracy.slope(alone)
    for owner, rate in enumerate(rates):
        height = Fraction(rule.penalty * rate**2)
        peak = Fraction(alone[owner]) + (Fraction(rate) - Fraction(steep[owner])) / (2 * height)
        points = [0.0, 1e-11, 3e-6, 1e-3]
        paid = offers.payment.take([owner]).value(np.array([points]))[0]
        exact = [-height * ((peak - Fraction(x)) ** 2 - peak**2) for x in points]
        rounding = 1e-15 * np.abs(paid).max()
        assert np.diff(paid) == pytest.approx(np.diff(np.array(exact, dtype=float)), rel=1e-9, abs=rounding)


def test_fines_are_on_the_scale_of_accuracy_whatever_data_are_counted_in():
    """A thousand images instead of ten units: the same curve, the same shares, the same payments."""
    small = Game(PowerLaw(), COSTS, 10.0, FACT())
    large = Game(PowerLaw(scale=100.0, offset=100.0), np.array(COSTS) / 100.0, 1000.0, FACT())
    for share in (0.1, 0.5, 1.0):
        few, many = np.full(4, 10.0 * share), np.full(4, 1000.0 * share)
        assert small.payments(few) == pytest.approx(large.payments(many), abs=1e-9)
    assert np.all(np.abs(large.payments(np.zeros(4))) < 1.0)
