"""A run that was killed goes on from its last checkpoint, with every generator and model restored."""

import errno
import multiprocessing
import os
import pickle
import re
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, InputError, load, population
from fedabm.simulation import checkpoint
from fedabm.simulation.stopping import Never
from fedabm.strategies import Honest
from fedabm.study.study import Study
from fedabm.sweep import Grid, Sweep
from fedabm.sweep.executors import LocalExecutor
from fedabm.sweep.jobs import do
from fedabm.sweep.worker import clear_leftovers
from tests.conftest import assert_equal_frames
from tests.sweep.helpers import assert_same_frames
from tests.sweep.long import STEPS, closed, trained
from tests.sweep.targets import build


def test_a_restored_run_ends_like_one_never_interrupted(tmp_path):
    for cut in (1, 2):
        model = Federation(build(5, owners=4), 5)
        for _ in range(cut):
            model.step()
        checkpoint.save(model, tmp_path / "saved")
        restored = checkpoint.restore(tmp_path / "saved", build(5, owners=4))
        assert restored.steps == cut
        assert restored.owners.get("contribution") == list(restored.population.contribution)
        again, whole = restored.run().frames(), Federation(build(5, owners=4), 5).run().frames()
        for name in ("steps", "owners", "transfers"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(whole, name), check_exact=True)
        varying = ["wall_time"]
        pd.testing.assert_frame_equal(again.runs.drop(columns=varying), whole.runs.drop(columns=varying))
        with pytest.raises(ValueError, match="read-only"):
            restored.population._cohorts[0].facts.capacity[0] = np.inf


class Killed(BaseException):
    """Ends a study from within."""


def test_a_script_goes_on_with_the_run_it_was_at(tmp_path, monkeypatch):
    """Its second run is broken off in the second step; the first is not made again."""
    made, step = [], Federation.step

    def counted(model):
        made.append(model.steps)
        if len(made) == broken:
            raise Killed
        step(model)

    monkeypatch.setattr(Federation, "step", counted)
    broken, job = 0, Sweep("free_riding", Grid(owners=[4]), [5], steps=4).jobs[0]
    whole = do(job)
    assert made == [1, 2] * 2
    broken = 4 + 4
    with pytest.raises(Killed):
        do(job, tmp_path / "run.checkpoint", 1e-9)
    del made[:]
    again = do(job, tmp_path / "run.checkpoint", 1e-9)
    assert made == [2]
    for one, other in zip(whole, again, strict=True):
        for name in ("steps", "owners", "transfers"):
            pd.testing.assert_frame_equal(one[name], other[name], check_exact=True)


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_damaged_checkpoint_gets_one_line(tmp_path, content):
    (tmp_path / "saved").write_bytes(content)
    with pytest.raises(InputError, match="no whole checkpoint") as caught:
        checkpoint.restore(tmp_path / "saved", build(5))
    assert "\n" not in str(caught.value)


def kept(path, identity, seed=5, **changes):
    """A run of one step that a keeper has saved."""
    keeper = checkpoint.Keeper(path, 1e-9, identity)
    model = Federation(replace(build(seed, owners=4), **changes), seed)
    model.step()
    keeper.keep(model)
    return keeper


def test_one_flipped_bit_anywhere_sets_a_checkpoint_aside(tmp_path, capsys):
    path = tmp_path / "run.checkpoint"
    content = kept(path, "mine").path.read_bytes()
    for place in np.linspace(0, len(content) - 1, 60).astype(int):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert checkpoint.Keeper(path, 1.0, "mine").found(build(5, owners=4)) is None
        said = capsys.readouterr().err
        assert "bad checkpoint set aside as" in said
        assert said.count("\n") == 1
        assert [file.name for file in tmp_path.iterdir()] == ["run.checkpoint.corrupt"]
        (tmp_path / "run.checkpoint.corrupt").unlink()
    path.write_bytes(content)
    assert checkpoint.Keeper(path, 1.0, "mine").found(build(5, owners=4)).steps == 1
    assert capsys.readouterr().err == ""


def test_a_checkpoint_of_another_run_is_not_taken_for_ones_own(tmp_path, capsys):
    kept(tmp_path / "one", "first")
    kept(tmp_path / "two", "second", seed=6)
    (tmp_path / "one").replace(tmp_path / "two")
    assert checkpoint.Keeper(tmp_path / "two", 1.0, "second").found(build(6, owners=4)) is None
    assert "it is of another run" in capsys.readouterr().err
    assert checkpoint.restore(tmp_path / "two.corrupt", build(5, owners=4)).seed == 5
    assert (tmp_path / "two.corrupt").exists()


def test_checkpoints_of_a_study_that_were_swapped_do_not_change_its_frames(tmp_path, capsys):
    def study():
        made = Study("x", 5, quiet=True)
        made.saved = tmp_path / "run.checkpoint"
        made.save_every = 1e-9
        for rate in (0.1, 0.2):
            made.simulate(build(5, rate))
        return made.frames

    whole = study()
    first, second = tmp_path / "run-1.checkpoint", tmp_path / "run-2.checkpoint"
    first.replace(tmp_path / "aside")
    second.replace(first)
    (tmp_path / "aside").replace(second)
    again = study()
    assert capsys.readouterr().err.count("set aside") == 2
    for name in ("steps", "owners", "transfers"):
        pd.testing.assert_frame_equal(getattr(whole, name), getattr(again, name), check_exact=True)


def test_streamed_rows_go_with_their_checkpoints_and_nothing_else_does(tmp_path):
    done, left, batch = ("a" * 32, "b" * 32, "c" * 32)
    for key in (done, left):
        rows = tmp_path / "running" / f"{key}-1.checkpoint.rows"
        rows.mkdir(parents=True)
        (rows / "owners-000000001.parquet").touch()
        rows.with_suffix("").touch()
    for name in (f"{batch}.json", "notes.rows", f"{done}.mine"):
        (tmp_path / "running" / name).touch()
    clear_leftovers(tmp_path, {done})
    found = {path.name for path in (tmp_path / "running").iterdir()}
    assert found == {f"{left}-1.checkpoint", f"{left}-1.checkpoint.rows", "notes.rows", f"{done}.mine"}
    assert (tmp_path / "running" / f"{left}-1.checkpoint.rows" / "owners-000000001.parquet").exists()


def test_a_pickle_in_place_of_a_checkpoint_is_not_run(tmp_path, capsys):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "sprung").touch, ()

    path = tmp_path / "run.checkpoint"
    path.write_bytes(pickle.dumps(Trap()))
    assert checkpoint.Keeper(path, 1.0, "mine").found(build(5, owners=4)) is None
    assert "it does not begin like one" in capsys.readouterr().err
    assert not (tmp_path / "sprung").exists()


def test_no_part_of_the_package_reads_pickles_from_folders():
    """CIFAR's own files are pickles, read by a reader that knows arrays only; contracts pickle what they look at.

    A network goes to workers as one, as all does that Ray sends; it is never in a file.
    """
    package = Path(checkpoint.__file__).parents[1]
    words = re.compile(
        r"import (cloud)?pickle|torch\.load|allow_pickle=True|read_pickle|import (dill|shelve|marshal|joblib)"
    )
    found = {path.stem for path in package.rglob("*.py") if words.search(path.read_text())}
    assert found == {"cifar", "contract", "network"}
    sent = (package / "learning" / "shards" / "network.py").read_text()
    assert not re.search(r"\bopen\(|Path|\.read", sent)


class Chatty(Honest):
    """A strategy that, against its contract, keeps something in itself."""

    def act(self, view):
        self.__dict__.setdefault("heard", []).append(view.step)
        return super().act(view)


def test_a_run_that_cannot_be_saved_goes_on_and_says_so_once(tmp_path, capsys):
    scenario = replace(build(5), owners=population([0.1, 0.2], 10.0, Chatty()), tolerance=0.0)
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 1e-9, "mine")
    assert keeper.found(scenario) is None
    model = Federation(scenario, 5)
    while model.running:
        model.step()
        keeper.keep(model)
    said = capsys.readouterr().err
    assert said.count("cannot be saved (its scenario has changed while it ran); if it is cut short") == 1
    assert not keeper.path.exists()


def test_a_full_disk_costs_checkpoints_not_the_run_and_is_tried_again(tmp_path, capsys, monkeypatch):
    scenario = replace(build(5, owners=4), stopping=Never(), steps=6)
    full = True

    def fsync(number):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 1e-9, "mine")
    model = keeper.begun(scenario, 5)
    for full in (True, True, False, True, False):
        model.step()
        keeper.keep(model)
        if not full:
            assert checkpoint.restore(keeper.path, scenario, "mine").steps == model.steps
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[2].partition(":")[0] for line in said] == [
        f" no checkpoint at step {k}" for k in (1, 4)
    ]
    assert all("No space left on device; free some space" in line for line in said)
    assert all("the run goes on and tries again later" in line for line in said)
    while model.running:
        model.step()
    assert_equal_frames(model.frames(), Federation(scenario, 5).run().frames())


def test_a_checkpoint_is_not_gone_on_with_after_the_scenario_has_changed(tmp_path, capsys):
    keeper = kept(tmp_path / "run.checkpoint", "mine")
    assert keeper.found(build(5, 0.2, owners=4)) is None
    assert "it is of another scenario" in capsys.readouterr().err


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """The file whose size is the number of steps made so far, in any process."""
    file = tmp_path / "steps"
    file.touch()
    monkeypatch.setenv(STEPS, str(file))
    return file


def lead(target, folder, executor="serial"):
    Sweep(target, Grid(steps=[40]), [3]).run(folder, executor, checkpoint=0.05, quiet=True)


def wait_for(steps, count, alive):
    while steps.stat().st_size < count and alive():
        time.sleep(0.005)


def check(steps, target, folder, whole):
    """The run went on where it was, to the frames of one never interrupted."""
    assert steps.stat().st_size < 40 + 15, "the run began again"
    steps.write_text("")
    lead(target, whole)
    assert steps.stat().st_size == 40
    assert_same_frames(folder, whole)
    assert not list((folder / "running").iterdir())


def test_a_run_whose_leader_was_killed_goes_on_from_its_checkpoint(tmp_path, steps):
    folder = tmp_path / "killed"
    child = multiprocessing.get_context("spawn").Process(target=lead, args=(closed, folder))
    child.start()
    wait_for(steps, 25, child.is_alive)
    child.kill()
    child.join()
    assert 25 <= steps.stat().st_size < 40
    lead(closed, folder)
    check(steps, closed, folder, tmp_path / "whole")


def test_a_trained_run_whose_worker_was_killed_goes_on_from_its_checkpoint(tmp_path, steps):
    folder = tmp_path / "killed"
    with LocalExecutor(1) as pool:
        thread = threading.Thread(target=lead, args=(trained, folder, pool))
        thread.start()
        wait_for(steps, 25, thread.is_alive)
        os.kill(pool.processes()[0], signal.SIGKILL)
        made = steps.stat().st_size
        thread.join()
    assert 25 <= made < 40
    assert load(folder).runs["status"].tolist() == ["stopped"]
    check(steps, trained, folder, tmp_path / "whole")
