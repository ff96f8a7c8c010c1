"""Leave-one-out payments: what is best for all without knowing any cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Game, solve
from fedabm.games.accuracy import PowerLaw
from fedabm.games.welfare import welfare_optimum
from fedabm.mechanisms import Clarke, LeaveOneOut
from tests.mechanisms.test_clarke import ACCURACIES, CAPACITY, rates


@given(rates=rates, accuracy=st.sampled_from([ACCURACIES[0], *ACCURACIES[2:]]))
def test_what_is_best_for_all_is_the_equilibrium(rates, accuracy):
    game = Game(accuracy, rates, CAPACITY, LeaveOneOut())
    found = solve(game)
    assert found.converged
    plain = accuracy.values(found.profile[None])[0] - game.costs.value(found.profile)
    assert plain.mean() == pytest.approx(welfare_optimum(accuracy, rates, CAPACITY).welfare, abs=1e-9)
    assert np.all(found.payments >= 0)


def test_two_owners_by_hand():
    """a(S) = 1 - 1/(1 + S), s = (1, 2): without the first .75 becomes 2/3, without the second 1/2."""
    payments = Game(PowerLaw(), [0.1, 0.25], 100, LeaveOneOut(0.5)).payments([1.0, 2.0])
    assert payments == pytest.approx([0.5 / 12, 0.5 / 4])


def test_slopes_are_those_of_clarke_payments():
    one, two = (Game(PowerLaw(), [0.1, 0.25], 100, rule) for rule in (LeaveOneOut(), Clarke()))
    np.testing.assert_allclose(one.slopes([1.0, 2.0]), two.slopes([1.0, 2.0]))
