"""Rounds of federated averaging against a plain loop: who takes part, how long, with what, and how it is mixed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedabm.learning import FedAvg, FedProx
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import federate
from tests.learning.plain import MakeOptimiser, plain_round, random_data

DATA = random_data((6,), sizes=(9, 2, 12, 5), tests=(1, 1, 1, 1))
WITH: dict[str, tuple[MakeOptimiser, SGD | Adam]] = {
    "plain": (lambda p: torch.optim.SGD(p, lr=0.05), SGD(0.05)),
    "momentum": (lambda p: torch.optim.SGD(p, 0.02, 0.9, weight_decay=0.1), SGD(0.02, 0.9, 0.1)),
    "adam": (lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-3), Adam(0.01, epsilon=1e-3)),
}
#: everybody, some with less than a mini-batch, some with nothing, and one alone
PROFILES = [(9, 2, 12, 5), (8, 0, 12, 3), (0, 1, 0, 0)]


@pytest.mark.parametrize("how", [{"epochs": 2}, {"steps": 5}, {"epochs": 1, "proximal": 0.5}], ids=str)
@pytest.mark.parametrize("counts", PROFILES)
@pytest.mark.parametrize("optimiser", WITH)
def test_rounds_equal_a_plain_loop(optimiser: str, counts: tuple[int, ...], how: dict) -> None:
    """Momentum and moments begin anew in every round, as the owners get a new model."""
    make, ours = WITH[optimiser]
    engine = Engine("mlp", DATA, device="cpu")
    rule = FedProx(how["proximal"], FedAvg(0.7)) if "proximal" in how else FedAvg(0.7)
    long = {name: how[name] for name in ("epochs", "steps") if name in how}
    recipe = Recipe(batch=4, optimiser=ours, rule=rule, **long)
    found, dropped = federate(engine, np.array(counts), recipe, rounds=3, seed=5)
    share = torch.tensor(counts).float()[:, None] / sum(counts)
    model = engine.initial(5)
    for number in range(3):
        rows = plain_round("mlp", DATA, model, counts, make, batch=4, seed=5, round_=number, **how)
        model = model + 0.7 * (share * (rows - model)).sum(0)
    assert not dropped.any()
    assert not torch.allclose(found, engine.initial(5), atol=1e-3)
    torch.testing.assert_close(found, model, rtol=0.0, atol=1e-5)


def test_who_contributes_nothing_sends_nothing_and_nobody_leaves_the_model_as_it_is() -> None:
    engine = Engine("mlp", DATA, device="cpu")
    start = engine.initial(0)
    updates = Recipe(batch=4).train(engine, start, np.array([9, 0, 12, 0]), seed=0, round=0)
    assert updates.shape == (4, engine.size)
    assert updates.any(dim=1).tolist() == [True, False, True, False]
    assert torch.equal(federate(engine, np.zeros(4), Recipe(), rounds=2, seed=0)[0], start)
