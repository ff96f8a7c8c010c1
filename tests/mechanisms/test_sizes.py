"""Rules that cannot be large say up to which size, and why, before memory is gone."""

import re
import tracemalloc

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.errors import MOST_IN_TABLE, InputError
from fedabm.games import efficient
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import PowerCost
from fedabm.games.efficient import welfare_without_each
from fedabm.mechanisms import BanzhafShare, Clarke, NoPayments, ProportionalShapley
from fedabm.views import Reports

OWNERS = 20_000


class Own(Accuracy):
    """A user's accuracy that tells nothing but values."""

    monotone = True

    def values(self, profiles):
        return 1.0 - 1.0 / (1.0 + np.broadcast_to(profiles.sum(axis=-1, keepdims=True), profiles.shape))


@pytest.mark.parametrize(
    ("rule", "accuracy"),
    [
        (Clarke(), PowerLaw()),
        (Clarke(), GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 1) * (OWNERS // 2))),
        (BanzhafShare(), PowerLaw()),
        (ProportionalShapley(0.5), Own()),
        (NoPayments(), Own()),
    ],
    ids=["Clarke", "Clarke by groups", "Banzhaf", "own accuracy by Shapley values", "own accuracy"],
)
def test_too_many_owners_are_refused_in_one_line_while_there_is_memory(rule, accuracy):
    people = population(np.full(OWNERS, 0.01), 10.0, starts=np.linspace(1.0, 5.0, OWNERS))
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as refused:
            Federation(Scenario(people, accuracy, rule, steps=1, record=None)).step()
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()
    said = re.fullmatch(r".+ looks at all pairs of owners, up to (\d+) for memory, got 20000; .+", str(refused.value))
    assert said, refused.value
    assert int(said[1]) ** 2 <= MOST_IN_TABLE


def test_pivots_in_blocks_are_those_at_once(monkeypatch):
    cost, capacity = PowerCost(np.linspace(0.01, 0.3, 7)), np.linspace(1.0, 4.0, 7)
    whole = welfare_without_each(PowerLaw(), cost, capacity)
    monkeypatch.setattr(efficient, "_BLOCK", 14)  # two owners at a time
    np.testing.assert_allclose(welfare_without_each(PowerLaw(), cost, capacity), whole, rtol=1e-14)


def test_what_the_others_cost_does_not_depend_on_the_own_cost():
    """Clarke's payment is the others' utilities, to the last digit, whatever the own cost."""
    claimed, size = np.array([1.0, 2.0, 3.0]), np.full(3, 9.0)
    rules = [
        Clarke().offers(PowerLaw(), Reports(claimed, size, PowerCost(np.array([own, 0.1, 0.2])))) for own in (0.01, 0.3)
    ]
    paid = [offers.payment.value(claimed)[0] for offers in rules]
    assert paid[0] == paid[1]
