"""Killed sweeps lose nothing: SIGKILL on the leader and on single workers, at random moments and at every file."""

import contextlib
import multiprocessing
import multiprocessing.forkserver
import os
import random
import signal
import threading

import pytest

from fedabm import load
from fedabm.results import parts
from fedabm.sweep import Grid, Sweep, executors, runner, watch
from fedabm.sweep.executors import LocalExecutor
from tests.killing import watched
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import PAUSE, Walk, build, slow

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["fedabm.sweep.plan", "tests.sweep.targets"])
SWEEP = Sweep(slow, Grid(rate=[0.1, 0.2, 0.3]), 16)


@pytest.fixture(scope="module", autouse=True)
def server():
    """Starts children that have imported everything already, and in which slow runs take their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PAUSE, "0.2")
        multiprocessing.forkserver.ensure_running()


def lead(folder, pause, executor, workers=None):
    """What the child does: many small batches, so that there is much to interrupt."""
    runner.BATCH_SECONDS, os.environ[PAUSE] = 0.05, str(pause)
    SWEEP.run(folder, executor, workers, quiet=True)


def kill_until_done(wait, least, folder, *how):
    """Start the sweep, kill it, start it again; at the end let it finish."""
    rng, kills = random.Random(7), 0
    while True:
        child = SERVER.Process(target=lead, args=(folder, *how))
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
    kill_until_done((0.0, 0.45), 10, tmp_path / "killed", 0.02, "serial")
    SWEEP.run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")
    left = [path.name for path in (tmp_path / "killed").rglob("*") if path.is_file()]
    assert len(left) < 64


def test_a_leader_of_processes_killed_at_random_moments_loses_nothing(tmp_path):
    kill_until_done((0.5, 2.5), 2, tmp_path / "killed", 0.1, "local", 2)
    SWEEP.run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(tmp_path / "killed", tmp_path / "whole")


def test_a_leader_killed_at_any_operation_on_files_goes_on_by_the_same_command(tmp_path, monkeypatch):
    """With a part for each run, of which two are merged, and a checkpoint of each."""
    monkeypatch.setattr(runner, "BATCH_SECONDS", 1e-9)
    monkeypatch.setattr(parts, "MANY", 2)
    sweep = Sweep(build, Grid(rate=[0.1]), 2, steps=2)

    def run(folder):
        sweep.run(folder, "serial", checkpoint=1e-9, quiet=True)

    with watched(tmp_path / "whole") as whole:
        run(tmp_path / "whole")
    assert whole.count > 25
    for allowed in range(whole.count):
        folder = tmp_path / str(allowed)
        with watched(folder, allowed) as cut:
            run(folder)
        assert cut.count > allowed
        run(folder)
        assert_same_frames(folder, tmp_path / "whole")
        assert not list((folder / "running").iterdir())


def test_a_folder_stranded_before_its_manifest_is_taken_up(tmp_path):
    sweep = Sweep(build, Grid(rate=[0.1]))
    sweep.run(tmp_path, "serial", quiet=True)
    (tmp_path / "sweep.json").unlink()
    assert sweep.run(tmp_path, "serial", quiet=True).done == 1
    assert len(load(tmp_path).runs) == 1


@contextlib.contextmanager
def killing(pool, folder, most):
    """Kill one worker after the other, in turn at any moment and when one is at a run; gives the list of the killed."""
    rng, killed, noted, ended = random.Random(3), [], set(), threading.Event()

    def at_work():
        fresh = {path.name for path in (folder / "running").glob("*.json")} - noted
        noted.update(fresh)
        return fresh

    def kill():
        while len(killed) < most and not ended.wait(rng.uniform(0.0, 0.5)):
            while len(killed) % 2 and not at_work() and not ended.wait(0.01):
                pass
            if living := pool.processes():
                killed.append(rng.choice(living))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def test_workers_killed_at_random_moments_lose_nothing(tmp_path, monkeypatch):
    """A run that was hit too often is a failed row, and done when it is tried again.

    The workers are copies of the server, so that a new one is there at once.
    """
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.05)
    monkeypatch.setattr(executors, "_FRESH", SERVER)
    folder, left = tmp_path / "killed", True
    with LocalExecutor(2) as pool, killing(pool, folder, most=11) as killed:
        while left:
            left = SWEEP.run(folder, pool, retry_failed=True, quiet=True).failed
    assert len(killed) >= 10
    SWEEP.run(tmp_path / "whole", "serial", quiet=True)
    assert_same_frames(folder, tmp_path / "whole")


def test_a_worker_that_is_stopped_between_two_runs_loses_none(tmp_path, monkeypatch):
    """It is at no run: whatever it had in hand is done again."""
    monkeypatch.setattr(watch, "IDLE", 5.0)
    monkeypatch.setattr(executors, "_FRESH", SERVER)
    with LocalExecutor(1) as pool:
        stopped = pool.submit(os.getpid).result()
        os.kill(stopped, signal.SIGSTOP)
        count = Sweep(build, Grid(rate=[0.1]), 2).run(tmp_path, pool, time_limit=1.0, quiet=True)
        assert pool.processes() != [stopped]
    assert (count.done, count.failed, count.left) == (2, 0, 0)


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
