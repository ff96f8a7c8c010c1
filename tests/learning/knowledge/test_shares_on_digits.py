"""Shapley shares by a measured curve against retraining all coalitions, on digits: 4 owners, 2 of 5 seeds.

Shares are those of the mean accuracy, 0.2 on average.  All errors of all seeds beside the bands that the server states:

    python -m tests.learning.knowledge.test_shares_on_digits
"""

from typing import NamedTuple

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID, Dirichlet, Partition, Shards, SizeSkew
from fedabm.learning import SGD, Engine, Learning, Recipe, Trained
from fedabm.learning.knowledge import Measured
from fedabm.mechanisms import ShapleyShare
from fedabm.shapley import shapley
from fedabm.strategies import FixedShare

ROUNDS = 8
RECIPE = Recipe(steps=8, batch=16, optimiser=SGD(0.1))
PARTS: dict[str, Partition] = {
    "equal": IID(4),
    "unequal, 1/k": SizeSkew(4, exponent=1.0),
    "unequal, log-normal": SizeSkew(4, sigma=1.0),
    "label skew, Dirichlet": Dirichlet(4, 0.3),
    "label skew, shards": Shards(4),
}
#: the largest error of any share, where data of all owners are alike
MOST = {"equal": 0.015, "unequal, 1/k": 0.045, "unequal, log-normal": 0.045}


class Shares(NamedTuple):
    """Shares (n,) by exact retraining and by the rule's payments, and the error that the server states."""

    exact: np.ndarray
    paid: np.ndarray
    stated: float

    @property
    def error(self) -> float:
        """The largest of any share."""
        return float(np.abs(self.exact - self.paid).max())


def shares(partition: Partition, seed: int) -> Shares:
    data = from_partition(load_dataset("digits"), partition, seed, 0.5, one_class="allow")
    engine, full = Engine("logistic", data, device="cpu"), data.capacities.astype(float)
    owners = population([0.001] * 4, full, FixedShare(1.0), starts=full)
    rule, knowledge = ShapleyShare(), Measured(rounds=ROUNDS)
    model = Federation(Scenario(owners, Learning(engine, RECIPE), rule, steps=1, knowledge=knowledge), seed).run()
    worth = model.known.worth
    paid = model.population.payment + worth.values(full[None])[0] - worth.at_zero(4)
    exact = shapley(Trained(engine, ROUNDS, RECIPE, seed), full, "enumeration")
    return Shares(np.asarray(exact) / 4, paid / 4, model.known.error)


@pytest.mark.parametrize("parts", PARTS)
def test_measured_shares_are_close_to_retraining_and_the_stated_band_contains_their_error(parts):
    found = [shares(PARTS[parts], seed) for seed in range(2)]
    assert np.mean([one.exact for one in found]) == pytest.approx(0.2, abs=0.02)
    assert max(one.error for one in found) <= MOST.get(parts, np.inf)
    for one in found:
        assert one.error <= one.stated <= 0.3


if __name__ == "__main__":
    for name, partition in PARTS.items():
        print(name, *(f"{one.error:.4f} (stated {one.stated:.4f})" for one in (shares(partition, s) for s in range(5))))
