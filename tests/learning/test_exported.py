"""Exported models are plain modules of PyTorch, and judge samples as the run did."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fedabm
from fedabm import Federation, InputError, Scenario, UnreadableError, population
from fedabm.accuracy import PowerLaw
from fedabm.cli import main
from fedabm.data import Dirichlet, FederatedData, SizeSkew, from_partition, load_dataset
from fedabm.learning import Engine, Learning, Personal, Rounds, Trained, load_model, save_model
from fedabm.mechanisms import FedAMP, NoPayments, ProportionalData
from fedabm.strategies import Honest
from tests.learning.plain import random_data

#: what somebody with PyTorch and safetensors, but without fedabm, does with the model and the test parts
OUTSIDE = """
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
parts = np.load(sys.argv[1])
for name in sys.argv[2:]:
    model.load_state_dict(load_file(name))
    for owner in range(len(parts) // 2):
        guesses = model(torch.from_numpy(parts[f"x{owner}"]) / 127.5 - 1).argmax(1)  # digits are bytes
        print(float((guesses == torch.from_numpy(parts[f"y{owner}"])).float().mean()))
assert "fedabm" not in sys.modules
"""


def test_the_model_of_first_training_is_as_accurate_outside(tmp_path: Path, capsys) -> None:
    """Four runs, three owners, by plain PyTorch on the samples that each owner has held out."""
    small = ["owners=3", "free_riders=1", "interval=800", "rounds=1"]
    out, words = tmp_path / "run", [word for one in small for word in ("--set", one)]
    assert main(["run", "first_training", "--steps", "3", "--save-models", "--out", str(out), *words]) == 0
    data = from_partition(load_dataset("digits"), Dirichlet(3, 1.0), seed=0, test_share=0.2)
    tests = {f"{part}{i}": array for i in range(3) for part, array in zip("xy", data.test(i), strict=True)}
    np.savez(tmp_path / "tests.npz", **{name: np.asarray(array) for name, array in tests.items()})
    ends = fedabm.load(out).at_end("owners")
    assert ends["accuracy"].min() > 0.5
    models = [str(out / f"model-{run}.safetensors") for run in range(4)]
    words = [sys.executable, "-c", OUTSIDE, str(tmp_path / "tests.npz"), *models]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    expected = ends.sort_values(["run", "owner"], kind="stable")["accuracy"]
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], expected, atol=1e-6)
    assert len(expected) == 4 * 3
    assert load_model(out / "model-2.safetensors").facts["label"] == "best response"


@pytest.fixture(scope="module")
def data() -> FederatedData:
    return random_data((6,))


def accuracies(model: nn.Module, data: FederatedData) -> list[float]:
    """On every owner's test part, by PyTorch alone."""
    parts = [data.test(owner) for owner in range(data.owners)]
    return [float((model(torch.from_numpy(x)).argmax(1).numpy() == y).mean()) for x, y in parts]


def ended(data: FederatedData, source, mechanism=NoPayments(), steps: int = 3) -> Federation:  # noqa: B008
    names = [f"clinic {number}" for number in range(data.owners)]
    people = population([0.0] * data.owners, data.capacities, Honest(), names=names)
    return Federation(Scenario(people, source, mechanism, steps=steps), seed=1).run()


@pytest.mark.parametrize("kind", [Learning, Rounds, Trained])
def test_every_training_of_a_shared_model_exports_the_one_that_it_judged(kind, data) -> None:
    run = ended(data, kind(Engine("tiny_mlp", data, device="cpu")))
    np.testing.assert_allclose(accuracies(run.export_model(), data), run.population.accuracy, atol=1e-6)
    whose = run.export_model("clinic 1").state_dict()
    assert all(torch.equal(value, whose[name]) for name, value in run.export_model(1).state_dict().items())
    assert run.own_models == []


def test_who_was_promised_less_has_a_worse_model_of_its_own() -> None:
    """Those with 300 samples get the full model, who has 30 one with noise that is worth a third or a little less."""
    data = from_partition(load_dataset("digits"), SizeSkew(3, sigma=1.0), seed=0, test_share=0.2)
    least = int(np.argmin(data.capacities))
    run = ended(data, Learning(Engine("logistic", data, device="cpu")), ProportionalData(0.5))
    assert least in run.own_models
    assert len(run.own_models) < 3
    own = [accuracies(run.export_model(owner), data)[owner] for owner in range(3)]
    np.testing.assert_allclose(own, run.population.accuracy, atol=1e-6)
    assert own[least] < accuracies(run.export_model(), data)[least]


def test_where_everybody_has_a_model_the_shared_one_is_asked_for_in_vain(data) -> None:
    run = ended(data, Personal(Engine("logistic", data, device="cpu")), FedAMP())
    models = [run.export_model(owner) for owner in range(data.owners)]
    assert not torch.equal(models[0][1].weight, models[1][1].weight)
    assert run.own_models == list(range(data.owners))
    with pytest.raises(InputError, match="everybody has a model of its own here; say whose"):
        run.export_model()


def test_who_is_not_there_and_closed_forms_have_none(data) -> None:
    run = ended(data, PowerLaw())
    with pytest.raises(InputError, match="PowerLaw makes no model to export"):
        run.export_model()
    for nobody in ("clinic 9", 9, -1, 0.5):
        with pytest.raises(InputError, match="give the number or the name"):
            run.export_model(nobody)


class Scaled(nn.Module):
    """A network of somebody's own, with a parameter outside any layer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((6,), 2.0))
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x * self.scale)


def test_files_are_read_again_with_the_network_where_it_has_no_name(data, tmp_path: Path) -> None:
    engine = Engine(Scaled(), data, device="cpu")
    path = save_model(engine.module(engine.initial(3)), tmp_path / "own.safetensors")
    again = load_model(path, Scaled())
    assert torch.equal(torch.cat([value.flatten() for value in again.parameters()]), engine.initial(3))
    with pytest.raises(InputError, match="does not name its network"):
        load_model(path)
    with pytest.raises(InputError, match=r"does not fit the network: bias differs"):
        load_model(path, nn.Linear(6, 3))
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UnreadableError, match="cannot be read as safetensors"):
        load_model(path)


@pytest.mark.parametrize("scaling", [None, ((100.0,), (50.0,))])
def test_images_of_bytes_are_scaled_as_in_training(scaling, tmp_path: Path) -> None:
    plain = random_data((1, 12, 12))
    images = {name: getattr(plain, name) for name in ("x_train", "x_test")}
    spoilt = {name: np.clip(x * 40 + 128, 0, 255).astype(np.uint8) for name, x in images.items()}
    data = replace(plain, **spoilt, scaling=scaling)
    engine = Engine("mlp", data, device="cpu")
    row = engine.initial(0)
    expected = engine.evaluate(row).numpy()[1][0]
    module = engine.module(row)
    np.testing.assert_allclose(accuracies(module, data), expected, atol=1e-6)
    again = load_model(save_model(module, tmp_path / "bytes.safetensors"))
    np.testing.assert_array_equal(accuracies(again, data), accuracies(module, data))
