"""Where models train: by command, by spec and by worker; and how much memory each worker plans with."""

import json

import pytest
import torch

from fedabm import load
from fedabm.cli import main
from fedabm.common.device import as_worker, chosen, on_device
from fedabm.learning.engine import engine as engines
from fedabm.learning.engine import host, sizing
from fedabm.learning.engine.engine import Engine
from fedabm.sweep.spec import read_sweep
from tests.learning.plain import random_data

FREE = 10 * 2**30


@pytest.fixture
def two_gpus(monkeypatch):
    """A computer with two GPUs, as far as anybody asks before a tensor is made."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (FREE, 2 * FREE))
    monkeypatch.setattr(engines.torch, "empty", lambda *sizes, device: None)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_workers_take_the_gpus_in_turn_and_plan_with_their_part_of_what_is_free(workers, two_gpus):
    planned = {0: 0.0, 1: 0.0}
    for number in range(workers):
        with as_worker(number, workers), on_device("auto"):
            device = engines._device("auto")
            assert device == torch.device(f"cuda:{number % 2}")
            planned[device.index] += sizing.default_memory(device)
    assert all(part == pytest.approx(0.8 * FREE) for part in planned.values() if part)


def test_a_device_can_be_named_in_a_spec(tmp_path):
    for text, device in (('device = "cuda:1"\n', "cuda:1"), ("", "auto")):
        (tmp_path / "sweep.toml").write_text(f'scenario = "first_training"\n{text}[design]\nowners = [3, 4]\n')
        assert read_sweep(tmp_path / "sweep.toml").device == device


def test_a_run_says_where_it_trained_in_manifest_and_frames(tmp_path):
    short = ["--set", "rounds=1", "--set", "interval=700", "--steps", "1"]
    main(["run", "first_training", *short, "--device", "cpu", "--quiet", "--out", str(tmp_path / "out")])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["devices"]["cpu"] == torch.__version__
    assert "--device cpu" in manifest["repeat"]
    assert set(load(tmp_path / "out").runs["machine"]) == {f"cpu, torch {torch.__version__}, float32"}


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
def test_nothing_leaves_the_device_while_owners_train_in_bfloat16(path):
    data = random_data((4,), sizes=(7, 5, 9))
    trained = Engine("logistic", data, device="meta", path=path, precision="bfloat16")
    with host.counted() as count:
        models = trained.train(trained.initial(0), [7, 2, 9], steps=3, batch=3)
        trained.evaluate(models)
    assert count.times == 0
    assert models.dtype == torch.float32


def test_auto_leaves_the_device_at_what_was_asked_for_before(monkeypatch):
    monkeypatch.setenv("FEDABM_DEVICE", "cpu")
    with on_device("auto"):
        assert chosen() == "cpu"
    with on_device("meta"):
        assert chosen() == "meta"
    assert chosen() == "cpu"
