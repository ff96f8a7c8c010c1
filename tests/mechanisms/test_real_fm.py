"""Curved payoffs: by hand for two owners, and shaping that leaves owners what they have alone."""

import numpy as np
import pytest

from fedabm import Game, InputError, solve
from fedabm.accuracy import CurvedPayoff, LinearPayoff, PowerLaw, Valued
from fedabm.mechanisms import ContributionSubsidy, NoPayments, RealFM, ShapleyShare, ValueShaping
from fedabm.solving import alone_utilities
from fedabm.testing import check_accuracy

#: 1 - a = (1 + S)^-1/4, so that phi = w (sqrt(1 + S) - 1)
ROOT = PowerLaw(exponent=0.25)


def test_a_curved_payoff_of_this_power_law_is_a_square_root():
    worth = Valued(ROOT, CurvedPayoff([0.5, 2.0]))
    assert worth.values(np.array([[3.0, 5.0]]))[0] == pytest.approx([0.5 * 2.0, 2.0 * 2.0])
    payoff = CurvedPayoff(3.0)
    assert payoff.inverse_of(payoff.of(np.array([0.0, 0.3, 0.99]))) == pytest.approx([0.0, 0.3, 0.99])
    assert np.isfinite(payoff.of(np.ones(1)))


@pytest.mark.parametrize("payoff", [CurvedPayoff(0.7), LinearPayoff(3.0)])
@pytest.mark.parametrize("inner", [ROOT, PowerLaw(scale=1.4, exponent=0.5)])
def test_the_contract_of_accuracies_holds(payoff, inner):
    check_accuracy(Valued(inner, payoff), seeds=1)


def test_the_equilibrium_by_hand():
    """Alone w / (2 sqrt(1 + m)) = c; then w sqrt(1 + m*) + c (m - m*) = w sqrt(1 + 2 m) for two equal owners."""
    w, c = 1.0, 0.2
    alone = (w / (2 * c)) ** 2 - 1.0
    base = w * np.sqrt(1 + alone) - c * alone
    root = np.roots([c * c, 2 * c * base - 2 * w * w, base**2 - w * w])
    expected = max(root.real)
    game = Game(Valued(ROOT, CurvedPayoff(w)), [c, c], 1000.0, RealFM())
    found = solve(game)
    assert found.profile == pytest.approx([expected, expected], rel=1e-5)
    assert expected > alone
    assert found.utilities == pytest.approx(alone_utilities(game.accuracy, [c, c], 1000.0), rel=1e-5)
    handed = RealFM().accuracies(game.accuracy, game.reports(found.profile))
    assert handed == pytest.approx(1 - (1 + 2 * expected) ** -0.25, rel=1e-5)


def test_with_a_linear_payoff_it_is_value_shaping_in_another_unit():
    rules = Game(Valued(PowerLaw(), LinearPayoff(2.0)), [0.02, 0.04], 50.0, RealFM())
    plain = Game(PowerLaw(), [0.01, 0.02], 50.0, ValueShaping())
    assert solve(rules).profile == pytest.approx(solve(plain).profile, rel=1e-6)


@pytest.mark.parametrize("rule", [NoPayments(), ContributionSubsidy(0.05), ShapleyShare()])
def test_every_rule_is_played_with_payoffs_that_differ(rule):
    game = Game(Valued(ROOT, CurvedPayoff([1.0, 1.5, 2.0])), [0.3, 0.3, 0.3], 20.0, rule)
    found = solve(game)
    assert found.gain < 1e-6
    assert found.profile[2] > 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="weight of a payoff must be"):
        CurvedPayoff(0.0)
    with pytest.raises(InputError, match="give one weight per owner"):
        Valued(Valued(PowerLaw(), LinearPayoff([1.0, 2.0])), LinearPayoff([1.0]))
