"""A run that was killed goes on from its last checkpoint, with every generator and model restored."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, InputError, load
from fedabm.simulation import checkpoint
from fedabm.sweep import Grid, Sweep
from fedabm.sweep.executors import LocalExecutor
from fedabm.sweep.jobs import do
from tests.sweep.helpers import assert_same_frames
from tests.sweep.long import STEPS, closed, trained
from tests.sweep.targets import build


def test_a_restored_run_ends_like_one_never_interrupted(tmp_path):
    for cut in (1, 2):
        model = Federation(build(5, owners=4), 5)
        for _ in range(cut):
            model.step()
        checkpoint.save(model, tmp_path / "saved")
        restored = checkpoint.restore(tmp_path / "saved")
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
        checkpoint.restore(tmp_path / "saved")
    assert "\n" not in str(caught.value)


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
