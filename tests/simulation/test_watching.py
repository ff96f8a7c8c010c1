"""Every step of a run can be watched: in files, and in the trackers' own formats, read back by their own libraries."""

import json
import math
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from fedabm import Federation, MissingExtraError, Scenario, load, population
from fedabm.cli import main
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ShapleyShare
from fedabm.results.columns import Column
from fedabm.simulation.trackers import MLflow, TensorBoard, WeightsAndBiases, watcher
from fedabm.simulation.watching import RunBegun, Watcher
from fedabm.simulation.writers import CsvWriter, JsonLinesWriter
from fedabm.strategies import Random
from tests.waiting import until

ROOT = Path(__file__).parents[2]
LARGEST = Column("steps", "largest", lambda round: round.contribution.max(axis=-1))
SCENARIO = Scenario(
    population([0.1, 0.2], 5.0, Random(), names=["St. Mary", ""]),
    PowerLaw(),
    ShapleyShare(),
    steps=3,
    columns=(LARGEST,),
)


def watched(*watchers: Watcher) -> pd.DataFrame:
    """Run the scenario with them; the frame of its steps is what they must have seen."""
    return Federation(SCENARIO).run(*watchers).frames().steps.drop(columns="run")


def test_files_hold_what_the_frames_hold_own_columns_too(tmp_path):
    steps = watched(CsvWriter(tmp_path), JsonLinesWriter(tmp_path))
    assert len(steps) == 3
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "001-ShapleyShare.csv"), steps, check_dtype=False)
    lines = [json.loads(line) for line in (tmp_path / "001-ShapleyShare.jsonl").read_text().splitlines()]
    assert [line["largest"] for line in lines] == steps["largest"].tolist()
    assert {line["reciprocity"] for line in lines} == {None}  # JSON has no NaN


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_run_that_goes_on_goes_on_in_its_file(tmp_path, kind):
    writer = watcher(kind, tmp_path)
    writer.begin(RunBegun("mine", 0))
    for step in (1, 2, 3):
        writer.step({"step": step, "welfare": 0.5})
    writer.end()
    path = tmp_path / f"001-mine.{kind}"
    path.write_text(path.read_text() + "4,0.")  # the process was killed here
    writer.begin(RunBegun("mine", 0, done=2))
    writer.step({"step": 3, "welfare": 0.25})
    writer.end()
    frame = pd.read_csv(path) if kind == "csv" else pd.read_json(path, lines=True)
    assert frame["step"].tolist() == [1, 2, 3]
    assert frame["welfare"].tolist() == [0.5, 0.5, 0.25]


def test_who_watches_is_told_of_begin_steps_and_end_also_when_a_run_breaks_off():
    told = []

    class Loud(Watcher):
        def begin(self, run):
            told.append(run.label)

        def step(self, values):
            told.append(values["step"])
            if values["step"] == 2:
                raise KeyboardInterrupt

        def end(self):
            told.append("end")

    with pytest.raises(KeyboardInterrupt):
        Federation(SCENARIO).run(Loud())
    assert told == ["ShapleyShare", 1, 2, "end"]


def test_tensorboard_reads_it(tmp_path):
    pytest.importorskip("tensorboardX")
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    steps = watched(TensorBoard(tmp_path))
    events = reader.EventAccumulator(str(tmp_path / "001-ShapleyShare")).Reload()
    seen = events.Scalars("largest")
    assert [one.step for one in seen] == [1, 2, 3]
    assert [one.value for one in seen] == pytest.approx(steps["largest"].tolist())
    assert "reciprocity" not in events.Tags()["scalars"]
    owner = [one.value for one in events.Scalars("accuracy/St._Mary")]
    assert owner == pytest.approx(steps["accuracy"].tolist())  # all share one model
    assert {"contribution/1", "utility/St._Mary", "payment/1"} <= set(events.Tags()["scalars"])


def test_mlflow_reads_it(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("alembic")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    steps = watched(MLflow(tmp_path))
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/mlflow.db")
    experiment = client.get_experiment_by_name("fedabm")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["mechanism"].startswith("ShapleyShare")
    seen = client.get_metric_history(run.info.run_id, "largest")
    assert [(one.step, one.value) for one in seen] == list(zip([1, 2, 3], steps["largest"], strict=True))
    owner = client.get_metric_history(run.info.run_id, "accuracy/St._Mary")
    assert [one.value for one in owner] == steps["accuracy"].tolist()


def told(tracker: Watcher, begun: RunBegun, *steps: int) -> None:
    tracker.begin(begun)
    for step in steps:
        tracker.step({"step": step, "welfare": 10.0 * step, "gap": math.inf, "reciprocity": math.nan})


def killed_while_told(kind: str, folder: Path, begun: RunBegun, *steps: int) -> None:
    """A process that tells a tracker and is killed before it can write what is left."""
    words = f"told(watcher({kind!r}, Path({str(folder)!r})), {begun!r}, *{steps!r}); signal.raise_signal(9)"
    code = f"from tests.simulation.test_watching import *; {words}"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == -signal.SIGKILL


def by_tensorboard(folder: Path) -> list[tuple[int, float]]:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    seen = reader.EventAccumulator(str(folder / "001-mine")).Reload()
    assert len(seen.Scalars("gap")) == len(seen.Scalars("welfare"))
    return [(one.step, one.value) for one in seen.Scalars("welfare")]


def by_mlflow(folder: Path) -> list[tuple[int, float]]:
    client = pytest.importorskip("mlflow").MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("fedabm").experiment_id])
    return [(one.step, one.value) for one in client.get_metric_history(run.info.run_id, "welfare")]


@pytest.mark.parametrize(("kind", "read"), [("tensorboard", by_tensorboard), ("mlflow", by_mlflow)])
def test_a_tracker_has_every_step_once_after_kills(tmp_path, kind, read, monkeypatch):
    pytest.importorskip("tensorboardX" if kind == "tensorboard" else "mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    killed_while_told(kind, tmp_path, RunBegun("mine", 0), 1, 2)  # before the first checkpoint
    killed_while_told(kind, tmp_path, RunBegun("mine", 0), 1, 2, 3, 4, 5)
    tracker = watcher(kind, tmp_path)
    told(tracker, RunBegun("mine", 0, done=4), 5, 6)
    tracker.end()
    assert read(tmp_path) == [(step, 10.0 * step) for step in (1, 2, 3, 4, 5, 6)]


def records(path) -> Iterator[bytes]:
    """The records of a small .wandb file: a log of LevelDB after seven bytes, each with checksum, length and kind."""
    content = path.read_bytes()
    assert content.startswith(b":W&B")
    assert len(content) < 2**15  # one block
    place = 7
    while place + 7 <= len(content):
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        assert kind == 1  # whole
        if place + 7 + length > len(content):
            break  # still being written
        yield content[place + 7 : place + 7 + length]
        place += 7 + length


def test_weights_and_biases_keeps_it_and_nothing_is_sent(tmp_path, monkeypatch):
    """The library no longer reads its own files in Python, so that its messages are parsed by its own protocol here."""
    pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.delenv("WANDB_MODE", raising=False)
    steps = watched(WeightsAndBiases(tmp_path))
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")

    def seen() -> list[tuple[int, float]]:
        found = []
        for data in records(path):
            history = wandb_internal_pb2.Record.FromString(data).history
            items = {item.key or "/".join(item.nested_key): item.value_json for item in history.item}
            found += [(int(items["_step"]), float(items["largest"]))] if items else []
        return found

    # The library writes in a process of its own, which may come late where all processors are busy.
    until(lambda: len(seen()) >= len(steps))
    assert seen() == list(zip([1, 2, 3], steps["largest"], strict=True))


def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtraError, match=r"needs tensorboardX; .*pip install 'fedabm\[tensorboard\]'"):
        TensorBoard(tmp_path)
    with pytest.raises(ValueError, match="unknown watcher 'cvs'; did you mean 'csv'"):
        watcher("cvs", tmp_path)


def test_the_command_writes_beside_the_results(tmp_path, capsys):
    out = tmp_path / "run"
    command = ["run", "free_riding", "--steps", "2", "--set", "owners=3", "--out", str(out), "--watch", "csv"]
    assert main([*command, "--watch", "jsonl"]) == 0
    assert f"Watched: {out / 'watch'}" in capsys.readouterr().out.replace("\n", "")
    labels = load(out).runs["label"]
    assert len(list((out / "watch" / "csv").iterdir())) == len(list((out / "watch" / "jsonl").iterdir())) == len(labels)
