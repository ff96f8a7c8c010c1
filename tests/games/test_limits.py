"""Numbers whose powers and products overflow are refused in one line, before anything warns or fails inside."""

import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import JointQuadratic, PowerLaw, RandomDiscovery
from fedabm.games.costs import Linear, Tabulated
from fedabm.strategies import Honest, Liar
from fedabm.study import library


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PowerLaw(exponent=1e73), "accuracy exponent must be a single number up to 1000"),
        (lambda: RandomDiscovery([[0.5, 0.2], [0.3, 1e300]]), "sampling probabilities must be at most"),
        (lambda: JointQuadratic(target=(1.0, 1e154)), "largest target must lie between"),
        (lambda: Liar(Honest(), cost_factor=1.7e308), "cost_factor must be a single number up to"),
        (lambda: Linear(1e300).scaled(1e100), "cost rate must be zero or a positive number, got inf"),
        (lambda: Tabulated([0, 5e-324, 20], [0, 1, 9e89]), "slopes"),
        (lambda: library.find("a" * 5000), "unknown scenario"),
    ],
)
def test_what_would_overflow_is_refused(make, words):
    with pytest.raises(InputError, match=words) as error:
        make()
    assert "\n" not in str(error.value)
