"""The command for the owner of a GPU, tried without one; and that it notices what is wrong."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import torch

from fedabm.learning import Engine
from tests import gpu


@pytest.fixture
def little(monkeypatch):
    """One network, two federations and one benchmark."""
    monkeypatch.setattr(gpu, "NETWORKS", {"logistic": (20,)})
    monkeypatch.setattr(gpu, "MEASURED", {"logistic": 20})
    monkeypatch.setattr(gpu, "FEDERATIONS", {name: gpu.FEDERATIONS[name] for name in ("FedAvg", "ModelMarket")})
    monkeypatch.setattr(gpu, "find_spec", lambda name: name == "torch" or None)  # a language model takes its time


def test_without_a_gpu_one_line_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gpu, "gpus", list)
    assert gpu.main(["--out", str(tmp_path / "record.json")]) == 2
    assert capsys.readouterr().out.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("devices", [["cpu"], ["cpu", "cpu"]])
def test_the_record_of_a_trial_is_whole_and_says_what_was_found(devices, little, tmp_path, capsys):
    out = tmp_path / "record.json"
    assert gpu.main(["--device", *devices, "--quick", "--out", str(out)]) == 0
    assert "MISSED" not in capsys.readouterr().out
    record = json.loads(out.read_text())
    bare = {name: value for name, value in record.items() if name not in ("format", "sha256")}
    assert gpu.sealed(bare) == record
    assert record["met"]
    assert [row["case"] for row in record["verified"]] == ["logistic", "FedAvg", "ModelMarket"]
    assert all(row["cpu"] == row["device"] for row in record["verified"])
    assert 0 < record["verified"][1]["pulled"] <= gpu.IN_A_ROUND
    assert record["versions"]["torch"] == torch.__version__
    assert [one["device"] for one in record["devices"]] == devices
    (row,) = record["benchmarks"]
    assert set(row["seconds"]) == {"cpu", "bfloat16"} | ({"all"} if len(devices) > 1 else set())
    assert all(seconds > 0 for seconds in row["seconds"].values())


def test_a_device_that_computes_something_else_is_noticed(little, tmp_path, monkeypatch, capsys):
    made = []

    class Wrong(Engine):
        """Every second engine, which stands for the device, begins elsewhere."""

        def initial(self, seed):
            if self not in made:
                made.append(self)
            return super().initial(seed) * (1.05 if made.index(self) % 2 else 1.0)

    monkeypatch.setattr(gpu, "Engine", Wrong)
    out = tmp_path / "record.json"
    assert gpu.main(["--device", "cpu", "--quick", "--out", str(out)]) == 1
    assert "MISSED: logistic" in capsys.readouterr().out
    assert not json.loads(out.read_text())["met"]


def test_a_device_that_is_not_there_is_told_in_one_line(little, tmp_path, capsys):
    assert gpu.main(["--device", "cuda:97", "--out", str(tmp_path / "record.json")]) == 2
    assert "not available" in capsys.readouterr().err


def test_copies_to_and_from_a_device_are_counted():
    with gpu.Crossings() as crossed:
        there = torch.ones(3).to("meta")
        there += torch.zeros(3, device="meta")
        torch.ones(4).clone()
    assert crossed.row() == {"to_host": 0, "to_host_bytes": 0, "to_device": 1, "to_device_bytes": 12, "waits": 0}
    with gpu.Crossings() as crossed, pytest.raises((RuntimeError, NotImplementedError)):
        there.nonzero()
    crossed._note(there, torch.ones(3))
    assert (crossed.to_host, crossed.to_host_bytes) == (1, 12)


def test_tables_lie_as_far_apart_as_their_farthest_cells():
    def frames(values, names=("a", "b")):
        table = pd.DataFrame({"share": values, "name": list(names)})
        return dict.fromkeys(gpu.FRAMES, table)

    one = frames([1.0, float("nan")])
    assert gpu.difference(one, frames([1.0, float("nan")])) == (0.0, "")
    assert gpu.difference(one, frames([1.5, float("nan")])) == (0.5, "runs.share")
    assert gpu.difference(frames([100.0, 1.0]), frames([101.0, 1.0]))[0] == pytest.approx(0.01)
    for other in (frames([1.0, 2.0]), frames([1.0, float("nan")], ("a", "c")), frames([1.0, float("inf")])):
        assert gpu.difference(one, other)[0] == float("inf")
