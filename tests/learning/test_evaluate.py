"""Scores against a plain loop, and what the server does with broken updates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedabm.common.errors import InputError
from fedabm.learning.engine import elsewhere
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.evaluate import by_owner, judge
from fedabm.learning.rules.aggregate import aggregate, screen
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


def test_one_owners_broken_sample_is_its_own_affair() -> None:
    data = random_data((6,), sizes=(2, 2, 2), tests=(4, 3, 5))
    engine = Engine("logistic", data, device="cpu")
    usable = engine.evaluate(engine.initial(0)).numpy()
    x = data.x_test.copy()
    x[5] = np.inf
    loss, accuracy = Engine("logistic", replace(data, x_test=x), device="cpu").evaluate(engine.initial(0)).numpy()
    assert not np.isfinite(loss[0, 1])
    for found, before in zip((loss, accuracy), usable, strict=True):
        np.testing.assert_array_equal(found[:, [0, 2]], before[:, [0, 2]])


def test_outputs_that_are_no_numbers_hit_nothing() -> None:
    outputs = torch.tensor([[[float("nan")] * 3, [2.0, 1.0, 0.0]]])
    loss, hit = judge(outputs, torch.tensor([0, 0]))
    assert hit.tolist() == [[0.0, 1.0]]
    assert loss.isnan().tolist() == [[True, False]]


def test_huge_outputs_lose_as_much_as_small_ones() -> None:
    """Three equal outputs are a guess among three, however large they are: ln 3; and a wrong one costs the distance."""
    outputs = torch.tensor([[[1e37] * 3, [1e6, 1e6 - 2.0, 0.0]]])
    loss, _ = judge(outputs, torch.tensor([1, 1]))
    np.testing.assert_allclose(loss.numpy(), [[np.log(3), 2 + np.log1p(np.exp(-2))]], rtol=1e-6)


def test_means_are_taken_owner_by_owner() -> None:
    found = by_owner(torch.tensor([[1.0, 2.0, 6.0], [0.0, 4.0, 4.0]]), torch.tensor([0, 1, 3]))
    assert found.tolist() == [[1.0, 4.0], [0.0, 4.0]]
    assert found.dtype == torch.float64


def test_broken_updates_are_dropped_and_named() -> None:
    updates = torch.tensor([[1.0, 2.0], [float("nan"), 0.0], [3.0, 4.0], [float("inf"), 1.0]])
    assert screen(updates).tolist() == [True, False, True, False]
    mixed = aggregate(torch.tensor([[0.25] * 4, [0.0, 0.5, 0.0, 0.5], [0.6, 0.0, 0.4, 0.0]]), updates)
    torch.testing.assert_close(mixed, torch.tensor([[2.0, 3.0], [0.0, 0.0], [1.8, 2.8]]))
    with pytest.raises(InputError, match="cannot mix"):
        aggregate(torch.ones(1, 3), updates)


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = torch.randn(4, 11, generator=torch.Generator().manual_seed(0))
    updates[1, 7], updates[2, 10] = float("nan"), -float("inf")
    mixing = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.0, 0.0]])
    whole = aggregate(mixing, updates)
    # Only owners 0 and 3 count, one with more than its own weight.  Two products added in another order, or in one
    # instruction, differ by two roundings of their sizes at most.
    sizes = mixing.sum(dim=1, keepdim=True) * updates[[0, 3]].abs().sum(dim=0)
    for size in (1, 8, 20):
        monkeypatch.setattr(elsewhere, "PIECE", size)
        assert screen(updates).tolist() == [True, False, False, True]
        off = (aggregate(mixing, updates) - whole).abs()
        assert torch.all(off <= 2 * torch.finfo(torch.float32).eps * sizes)
