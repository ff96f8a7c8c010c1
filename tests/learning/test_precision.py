"""Gradients in bfloat16, weights in float32: nearly the same models, and results say how they were trained."""

import json

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, Scenario, load, population
from fedabm.cli import main
from fedabm.common.device import in_precision, precision
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.oracles import Learning
from fedabm.learning.rules.recipe import Recipe
from tests.learning.test_engine import CASES

COUNTS = 3


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
@pytest.mark.parametrize("name", ["logistic", "mlp", "small_cnn", "femnist_cnn", "resmlp"])
def test_steps_are_those_of_float32_up_to_five_percent(name, path):
    data = CASES[name]
    engines = [Engine(name, data, device="cpu", path=path, precision=kind) for kind in ("float32", "bfloat16")]
    start = engines[0].initial(3)
    counts = np.minimum(np.diff(data.offsets), COUNTS)
    full, low = (engine.train(start, counts, steps=1, optimiser=SGD(0.05)) - start for engine in engines)
    assert low.dtype == torch.float32
    assert not torch.equal(full, low)
    assert torch.linalg.norm(low - full) < 0.05 * torch.linalg.norm(full)


def test_small_steps_are_not_lost_in_rounding():
    """Weights near 1 in bfloat16 change by 1/256 at least; in float32 also by a thousandth of that."""
    engine = Engine("logistic", CASES["logistic"], device="cpu", precision="bfloat16")
    start = torch.ones(engine.size)
    moved = engine.train(start, [2, 2, 2][: CASES["logistic"].owners], steps=1, optimiser=SGD(1e-5)) - start
    assert 0 < moved.abs().max() < 1 / 256


def digits(kind, optimiser):
    """The mean accuracy of one model for ten owners after some rounds of averaging."""
    data = from_partition(load_dataset("digits"), IID(10), 0)
    engine = Engine("mlp", data, device="cpu", precision=kind)
    model, sizes = engine.initial(0), np.diff(data.offsets)
    for number in range(8):
        model = engine.train(model, sizes, epochs=1, optimiser=optimiser, seed=0, round=number).mean(0)
    return float(engine.evaluate(model).numpy()[1].mean())


@pytest.mark.parametrize("optimiser", [SGD(0.1), Adam(0.002)])
def test_digits_are_learned_nearly_as_well(optimiser):
    full, low = (digits(kind, optimiser) for kind in ("float32", "bfloat16"))
    assert full > 0.85
    assert low > full - 0.02


def test_frames_and_engines_say_which_precision():
    data = from_partition(load_dataset("digits"), IID(3), 0)
    people = population([0.001] * 3, np.diff(data.offsets).astype(float))
    for kind in ("float32", "bfloat16"):
        with in_precision(kind):
            engine = Engine("logistic", data, device="cpu")
        scenario = Scenario(people, Learning(engine, Recipe(steps=1)), steps=1)
        (told,) = Federation(scenario).run().frames().runs["machine"]
        assert told == f"cpu, torch {torch.__version__}, {kind}"
    assert precision() == "float32"
    other = Engine("logistic", data, device="cpu", precision="float32")
    assert other.content != engine.content


def test_results_of_bfloat16_are_not_taken_for_those_of_float32():
    engines = [Engine("logistic", CASES["logistic"], device="cpu", precision=kind) for kind in ("float32", "bfloat16")]
    assert engines[0].content != engines[1].content


def test_unknown_precisions_are_refused():
    with pytest.raises(InputError, match="float32 or bfloat16"):
        Engine("logistic", CASES["logistic"], precision="float16")


def test_the_command_says_so_in_manifest_and_frames(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ["--set", "rounds=1", "--set", "interval=700", "--steps", "2"]
    main(["run", "first_training", *short, "--precision", "bfloat16", "--quiet", "--out", "out"])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["precision"] == "bfloat16"
    assert "--precision bfloat16" in manifest["repeat"]
    assert load(tmp_path / "out").runs["machine"].str.endswith("bfloat16").all()
