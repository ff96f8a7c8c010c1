"""Coalition models against models that are really averaged, and the values on disk."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fedabm.common.errors import InputError
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.first_layer import FirstLayer, Members
from fedabm.learning.oracles.averaged import AveragedModels
from tests.learning.plain import plain_scores, random_data

CASES = {
    "logistic": random_data((6,), tests=(9, 4, 5)),
    "mlp": random_data((1, 5, 4), bytes_=True),
    "quadratic": random_data((4,)),
    "small_cnn": random_data((1, 28, 28), tests=(60, 50, 3)),
    "resnet20": random_data((3, 8, 8)),
    "resmlp": random_data((5,), classes=None),
    "char_lstm": random_data((4,), tokens=7),
}
EVERY = np.array(list(itertools.product([False, True], repeat=3)))
WEIGHTS = np.array([1.0, 2.0, 5.0])


def game(name: str, **options) -> tuple[AveragedModels, torch.Tensor]:  # type: ignore[no-untyped-def]
    engine = Engine(name, CASES[name], device="cpu")
    rows = torch.stack([engine.initial(seed) for seed in range(4)])
    return AveragedModels(engine, rows[0], rows[1:], WEIGHTS, **options), rows


@pytest.mark.parametrize("measure", ["accuracy", "loss"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_averaged_models(name: str, measure: str) -> None:
    coalitions, rows = game(name, measure=measure)
    models = []
    for who in EVERY:
        share = np.where(who, WEIGHTS, 0.0)
        mean = torch.from_numpy(share / max(share.sum(), 1.0)).float() @ rows[1:]
        models.append(mean if who.any() else rows[0])
    loss, accuracy = plain_scores(name, CASES[name], torch.stack(models))
    np.testing.assert_allclose(coalitions.values(EVERY), accuracy if measure == "accuracy" else loss, atol=1e-5)


PICTURES = {
    "odd windows": nn.Sequential(nn.Conv2d(1, 3, 4), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3)),
    "pool before rectifying": nn.Sequential(
        nn.Conv2d(1, 3, 4), nn.ReLU(), nn.MaxPool2d((3, 1)), nn.Flatten(), nn.Linear(81, 3)
    ),
    "overlapping windows": nn.Sequential(
        nn.Conv2d(1, 3, 4), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(48, 3)
    ),
    "bordered windows": nn.Sequential(nn.Conv2d(1, 3, 4), nn.MaxPool2d(2, padding=1), nn.Flatten(), nn.Linear(75, 3)),
    "no pool": nn.Sequential(nn.Conv2d(1, 3, 4), nn.ReLU(), nn.Flatten(), nn.Linear(243, 3)),
    "convolution only": nn.Sequential(nn.Conv2d(1, 3, 12), nn.Flatten()),
    "two convolutions": nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 2, groups=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24, 3),
    ),
}


@pytest.mark.parametrize("device", ["cpu", "grouped"])
@pytest.mark.parametrize("name", PICTURES)
def test_first_convolutions_are_mixed_whatever_follows(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if device == "grouped":  # what other devices do
        monkeypatch.setattr(FirstLayer, "outputs", grouped)
    data, network = random_data((1, 12, 12), tests=(5, 120, 1)), PICTURES[name]
    engine = Engine(network, data, device="cpu")
    rows = torch.stack([engine.initial(seed) for seed in range(4)])
    coalitions = AveragedModels(engine, rows[0], rows[1:], WEIGHTS, measure="loss")
    assert coalitions._first is not None
    models = torch.from_numpy(coalitions.mixing(EVERY)).float() @ rows
    np.testing.assert_allclose(coalitions.values(EVERY), plain_scores(network, data, models)[0], atol=1e-5)


def test_a_first_convolution_in_groups_is_everybodys_own() -> None:
    data = random_data((2, 8, 8), tests=(4, 3, 5))
    network = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))
    engine = Engine(network, data, device="cpu", path="batched")
    rows = torch.stack([engine.initial(seed) for seed in range(4)])
    coalitions = AveragedModels(engine, rows[0], rows[1:], WEIGHTS, measure="loss")
    assert coalitions._first is not None
    models = torch.from_numpy(coalitions.mixing(EVERY)).float() @ rows
    np.testing.assert_allclose(coalitions.values(EVERY), plain_scores(network, data, models)[0], atol=1e-5)


def grouped(first: FirstLayer, mixing: torch.Tensor, members: Members, rest: list[torch.Tensor]) -> torch.Tensor:
    return first.forward_all(first.mixed(mixing, members), rest)


def test_a_broken_model_counts_as_the_start_and_judges_can_be_chosen() -> None:
    coalitions, rows = game("mlp", judges=[2, 0], measure="loss")
    rows[2, 5] = float("nan")
    broken = AveragedModels(
        Engine("mlp", CASES["mlp"], device="cpu"), rows[0], rows[1:], WEIGHTS, judges=[2, 0], measure="loss"
    )
    alone = broken.values(np.array([[False, True, False], [False, False, False]]))
    np.testing.assert_allclose(alone[0], alone[1])
    np.testing.assert_allclose(alone[1], coalitions.values(np.zeros((1, 3), bool))[0])


def test_values_are_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coalitions, _ = game("mlp", folder=tmp_path)
    some = coalitions.values(EVERY[:5])
    (file,) = tmp_path.iterdir()
    again, _ = game("mlp", folder=tmp_path)
    asked: list[np.ndarray] = []
    compute = again._compute
    monkeypatch.setattr(again, "_compute", lambda who: asked.append(who) or compute(who))
    every = again.values(EVERY)
    np.testing.assert_array_equal(every[:5], some)
    assert np.array_equal(np.concatenate(asked), EVERY[5:])
    assert np.array_equal(game("mlp", folder=tmp_path)[0].values(EVERY), every)
    game("mlp", folder=tmp_path, judges=[0])[0].values(EVERY)
    assert len(list(tmp_path.iterdir())) == 3
    file.write_bytes(file.read_bytes()[:100])
    third, _ = game("mlp", folder=tmp_path)
    assert len(third._memory) == 3
    assert np.array_equal(third.values(EVERY), every)


def exact(worth, owners: int) -> np.ndarray:  # type: ignore[no-untyped-def]
    gains = np.zeros((math.factorial(owners), owners, worth(np.ones((1, owners), bool)).shape[1]))
    for row, order in zip(gains, itertools.permutations(range(owners)), strict=True):
        who = np.zeros(owners, bool)
        for owner in order:
            before = worth(who[None])[0]
            who[owner] = True
            row[owner] = worth(who[None])[0] - before
    return gains.mean(axis=0)


def curved(who: np.ndarray) -> np.ndarray:
    size = who @ np.array([1.0, 2.0, 3.0, 4.0])
    return np.column_stack([1 - 1 / (1 + size), np.sqrt(size)])


def test_bad_coalitions_are_told(tmp_path: Path) -> None:
    coalitions, _ = game("logistic")
    assert coalitions.values(np.zeros((0, 3), bool)).shape == (0, 3)
    with pytest.raises(InputError, match="3 columns"):
        coalitions.values(np.ones((2, 4), bool))
    with pytest.raises(InputError, match="measure must be"):
        game("logistic", measure="gain")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="choose another folder"):
        game("logistic", folder=tmp_path / "file")[0].values(EVERY)
