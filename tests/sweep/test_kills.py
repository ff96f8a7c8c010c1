"""Killed sweeps lose nothing: SIGKILL on the leader and on single workers, at random moments."""

import multiprocessing
import os
import random
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, checkpoint, load
from fedabm.sweep import Grid, Sweep, runner
from fedabm.sweep.executors import LocalExecutor
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import Walk, build, slow

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["fedabm.sweep.plan", "tests.sweep.targets"])


def lead(folder, executor, workers=None):
    """What the child does: many small batches, so that there is much to interrupt."""
    runner.BATCH_SECONDS = 0.05
    design(executor == "local").run(folder, executor, workers, quiet=True)


def design(long=False):
    return Sweep(slow, Grid(rate=[0.1, 0.2, 0.3], pause=[0.1 if long else 0.02]), 30)


def kill_until_done(folder, wait, least, executor, workers=None):
    """Start the sweep, kill it, start it again; at the end let it finish."""
    rng, kills = random.Random(7), 0
    while True:
        child = SERVER.Process(target=lead, args=(folder, executor, workers))
        child.start()
        child.join(rng.uniform(*wait) if kills < least else 120)
        if child.exitcode is not None:
            assert child.exitcode == 0
            assert kills >= least, "the sweep ended too soon to be killed often enough"
            return
        child.kill()
        child.join()
        kills += 1


def test_a_leader_killed_at_random_moments_loses_nothing(tmp_path):
    kill_until_done(tmp_path / "killed", (0.0, 0.45), 22, "serial")
    design().run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")
    left = [path.name for path in (tmp_path / "killed").rglob("*") if path.is_file()]
    assert len(left) < 64


def test_a_leader_of_processes_killed_at_random_moments_loses_nothing(tmp_path):
    kill_until_done(tmp_path / "killed", (0.5, 4.0), 3, "local", 2)
    design(long=True).run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")


def test_workers_killed_at_random_moments_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.05)
    sweep = Sweep(slow, Grid(rate=[0.1, 0.2, 0.3], pause=[0.1]), 30)
    pool, kills, ended = LocalExecutor(2), [], threading.Event()

    def murder():
        rng = random.Random(3)
        while not ended.wait(rng.uniform(0.5, 2.0)) and len(kills) < 6:
            living = pool.processes()
            if living:
                os.kill(rng.choice(living), signal.SIGKILL)
                kills.append(living)

    killer = threading.Thread(target=murder)
    killer.start()
    try:
        count = sweep.run(tmp_path / "killed", pool, quiet=True)
    finally:
        ended.set()
        killer.join()
        pool.shutdown(cancel_futures=True)
    assert count.failed == 0
    assert len(kills) >= 3
    sweep.run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")


def read(folder, ended, worst):
    """What another process sees: each run at most once, whole, and never fewer than before."""
    seen: set = set()
    while not ended.is_set():
        if not (folder / "sweep.json").exists():
            continue
        found = load(folder)
        runs = found.runs["run"].tolist()
        steps = found.steps.groupby("run").size()
        if len(runs) != len(set(runs)) or not seen <= set(runs) or sorted(steps.index) != runs:
            worst.set()
        seen = set(runs)


def test_another_process_can_read_at_any_moment(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 1e-9)
    ended, worst = SERVER.Event(), SERVER.Event()
    reader = SERVER.Process(target=read, args=(tmp_path, ended, worst))
    reader.start()
    Sweep(Walk, Grid(walkers=[1]), 150, steps=1).run(tmp_path, "serial", quiet=True)
    ended.set()
    reader.join()
    assert reader.exitcode == 0
    assert not worst.is_set()


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
            restored.population._cohorts[0].capacity[0] = np.inf


def long(seed, steps=40):
    """Many steps, each with a pause."""
    from dataclasses import replace

    return replace(build(seed), steps=steps, tolerance=0.0, accuracy=Weary())


class Weary(type(build(1).accuracy)):
    """Takes its time, and counts in a file how often it was asked."""

    def advance(self, contribution):
        time.sleep(0.02)
        with open(os.environ["FEDABM_TEST_STEPS"], "a") as file:
            file.write("x")
        return self


def lead_long(folder):
    Sweep(long, Grid(steps=[40]), 1).run(folder, "serial", checkpoint=0.05, quiet=True)


def test_a_killed_long_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    counted = tmp_path / "steps"
    counted.touch()
    monkeypatch.setenv("FEDABM_TEST_STEPS", str(counted))
    lead_long(tmp_path / "whole")
    assert counted.stat().st_size == 40
    counted.write_text("")
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=lead_long, args=(tmp_path / "killed",))
    child.start()
    while counted.stat().st_size < 25 and child.is_alive():
        time.sleep(0.005)
    child.kill()
    child.join()
    before = counted.stat().st_size
    assert 25 <= before < 40
    lead_long(tmp_path / "killed")
    repeated = counted.stat().st_size - 40
    assert repeated < 15, "the run began again"
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")
    assert not list((tmp_path / "killed" / "running").iterdir())
