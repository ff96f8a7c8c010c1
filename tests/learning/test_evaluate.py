"""Scores against a plain loop, and what the server does with broken updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedabm.errors import InputError
from fedabm.learning.aggregate import aggregate, federated_average, screen
from fedabm.learning.engine import Engine
from tests.learning.plain import plain_scores, random_data

CASES = {
    "logistic": random_data((6,)),
    "mlp": random_data((1, 5, 4), bytes_=True),
    "quadratic": random_data((4,)),
    "small_cnn": random_data((1, 28, 28), tests=(60, 50, 3)),
    "resnet20": random_data((3, 8, 8)),
    "femnist_net": random_data((1, 14, 14)),
    "resmlp": random_data((5,), classes=None),
}


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
@pytest.mark.parametrize("name", CASES)
def test_scores_equal_a_plain_loop(name: str, path: str) -> None:
    if (name, path) == ("femnist_net", "vmap"):
        path = "auto"
    data = CASES[name]
    engine = Engine(name, data, device="cpu", path=path)
    models = torch.stack([engine.initial(seed) for seed in range(4)])
    loss, accuracy = engine.evaluate(models).numpy()
    plain_loss, plain_accuracy = plain_scores(name, data, models)
    np.testing.assert_allclose(loss, plain_loss, atol=1e-5)
    np.testing.assert_allclose(accuracy, plain_accuracy, atol=1e-5)
    some = engine.evaluate(models[1:3], owners=[2, 0]).numpy()
    np.testing.assert_allclose(some[0], plain_loss[1:3][:, [2, 0]], atol=1e-5)


def test_training_parts_can_be_judged_too() -> None:
    data = CASES["logistic"]
    engine = Engine("logistic", data, device="cpu")
    found = engine.evaluate(engine.initial(0), part="train").accuracy.numpy()[0]
    x, y = data.train(1)
    outputs = torch.from_numpy(x) @ engine.initial(0)[:18].view(3, 6).T + engine.initial(0)[18:]
    assert found[1] == pytest.approx((outputs.argmax(1).numpy() == y).mean())
    with pytest.raises(InputError, match="part must be test or train"):
        engine.evaluate(engine.initial(0), part="all")


def test_broken_updates_are_dropped_and_named() -> None:
    updates = torch.tensor([[1.0, 2.0], [float("nan"), 0.0], [3.0, 4.0], [float("inf"), 1.0]])
    assert screen(updates).tolist() == [True, False, True, False]
    mixed = aggregate(torch.tensor([[0.25] * 4, [0.0, 0.5, 0.0, 0.5], [0.6, 0.0, 0.4, 0.0]]), updates)
    assert mixed.kept.tolist() == [True, False, True, False]
    torch.testing.assert_close(mixed.rows, torch.tensor([[2.0, 3.0], [0.0, 0.0], [1.8, 2.8]]))
    with pytest.raises(InputError, match="cannot mix"):
        aggregate(torch.ones(1, 3), updates)


def test_federated_average_weighs_by_contributions_and_keeps_the_start_if_nobody_is_left() -> None:
    start = torch.tensor([1.0, 1.0])
    models = torch.tensor([[2.0, 1.0], [5.0, 1.0], [float("nan"), 0.0]])
    torch.testing.assert_close(federated_average(start, models, torch.tensor([3, 1, 9])).rows, torch.tensor([2.75, 1]))
    half = federated_average(start, models, torch.tensor([3, 1, 9]), server_rate=0.5)
    torch.testing.assert_close(half.rows, torch.tensor([1.875, 1.0]))
    for nobody in (torch.zeros(3), torch.tensor([0, 0, 5])):
        assert torch.equal(federated_average(start, models, nobody).rows, start)
