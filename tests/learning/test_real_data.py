"""Whole trainings on real pictures reach what a plain loop over owners reaches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import federate
from tests.learning.plain import plain_round, plain_scores

FOLDER = Path(os.environ.get("FEDABM_DATA") or "no-such-folder")


def needs(place: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (FOLDER / place).exists(), reason=f"{place} is not there; set FEDABM_DATA")


def pictures(name: str, owners: int, samples: int, tests: int) -> FederatedData:
    """Owners with `samples` pictures of the training part and `tests` of the test part, drawn at random."""
    whole, rng = load_dataset(name, FOLDER), np.random.default_rng(0)
    train = rng.choice(np.flatnonzero(~whole.split), owners * samples, replace=False)
    test = rng.choice(np.flatnonzero(whole.split), owners * tests, replace=False)
    bounds = np.arange(owners + 1)
    return FederatedData(
        name, whole.x[train], whole.y[train], samples * bounds, whole.x[test], whole.y[test], tests * bounds, 10
    )


def both(network: str, data: FederatedData, rounds: int, rate: float, momentum: float = 0.0) -> tuple[float, float]:
    """Mean accuracy after federated averaging with this engine, and with a plain loop from the same start."""
    engine = Engine(network, data, device="cpu")
    recipe = Recipe(epochs=1, batch=10, optimiser=SGD(rate, momentum))
    ours, dropped = federate(engine, data.capacities, recipe, rounds, seed=0)
    assert not dropped.any()
    plain, full = engine.initial(0), data.capacities.tolist()

    def make(parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=rate, momentum=momentum)

    for number in range(rounds):
        plain = plain_round(network, data, plain, full, make, batch=10, epochs=1, round_=number).mean(0)
    scores = plain_scores(network, data, torch.stack([ours, plain]))[1].mean(axis=1)
    assert engine.evaluate(ours).accuracy.mean().item() == pytest.approx(scores[0], abs=1e-6)
    return float(scores[0]), float(scores[1])


@needs("mnist")
def test_mnist_with_a_small_network_in_20_rounds() -> None:
    ours, plain = both("small_cnn", pictures("mnist", owners=10, samples=100, tests=100), rounds=20, rate=0.05)
    assert plain > 0.91
    assert ours == pytest.approx(plain, abs=0.01)


@needs("cifar-10-batches-bin")
def test_cifar_in_20_rounds_with_momentum() -> None:
    data = pictures("cifar10", owners=5, samples=200, tests=400)
    ours, plain = both("simple_cnn", data, rounds=20, rate=0.02, momentum=0.9)
    assert plain > 0.25
    assert ours == pytest.approx(plain, abs=0.03)
