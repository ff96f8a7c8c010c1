"""Whoever has paid all it has keeps nothing, and owes nothing that it could not pay."""

import numpy as np

from fedabm.simulation.treasury import Treasury
from fedabm.views import SERVER, Transfers


def test_money_never_falls_below_zero_by_rounding():
    """Three debts that are thirds of 0.1 sum to a rounding error more; the next stage then paid a negative amount."""
    rng = np.random.default_rng(0)
    treasury = Treasury(np.full(50, 0.1))
    for step in range(1, 20):
        amount = rng.uniform(0.1, 1.0, 150)
        debts = Transfers(np.repeat(np.arange(50), 3), np.full(150, SERVER), amount, "rule")
        paid = treasury.pay(treasury.demand(step, debts, last=False))
        assert np.all(paid.amount >= 0.0)
        assert np.all(treasury.money >= 0.0)
    assert np.all(treasury.money <= 1e-16)
