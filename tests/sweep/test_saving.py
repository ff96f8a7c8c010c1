"""Finished runs of a batch that is not finished are safe: soon after they end, and at once on Ctrl-C."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path

import pytest

from fedabm.results.sweeps import load_sweep, states
from fedabm.sweep import Cells, Sweep, runner, saving
from fedabm.sweep.plan import Interrupted
from fedabm.sweep.saving import Saver
from fedabm.sweep.worker import Batch
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import lasting, trouble
from tests.waiting import until

FORK = multiprocessing.get_context("fork")
#: five runs that end at once, then five that do not end
LONG = Sweep(trouble, Cells({"short": {}, "long": {"kind": "hang"}}), 5)
#: four runs that end at once, in one stack with four that do not end
STACK = Sweep(lasting, Cells({"short": {}, "long": {"resting": False}}), 4)


def lead(sweep, folder, said, executor, together):
    """The whole sweep as one batch."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored
    runner.Runner._next = lambda self: Batch("0" * 32, tuple(self._queue.popleft() for _ in range(len(self._queue))))
    with Path(said).open("w") as sys.stderr:
        try:
            sweep.run(folder, executor, 1, checkpoint=None, together=together, repeat="fedabm sweep long")
        except Interrupted:
            sys.exit(130)


def kept(folder):
    return len(states(folder)) if (folder / "parts").is_dir() else 0


def led_to(key, sweep, executor, together, tmp_path):
    """A leader whose only batch has come to a run."""
    child = FORK.Process(target=lead, args=(sweep, tmp_path / "sweep", tmp_path / "said", executor, together))
    child.start()
    note = tmp_path / "sweep" / "running" / f"{'0' * 32}.json"
    until(lambda: note.exists() and key in note.read_text())
    yield child, tmp_path / "sweep", tmp_path / "said"
    child.kill()
    child.join()


@pytest.fixture(params=["serial", "local"])
def at_the_long_run(request, tmp_path):
    """A leader whose only batch has come to the run that does not end."""
    yield from led_to(LONG.jobs[5].key, LONG, request.param, together=False, tmp_path=tmp_path)


@pytest.fixture(params=["serial", "local"])
def in_the_long_stack(request, tmp_path):
    """A leader whose only stack is at its first runs."""
    yield from led_to(STACK.jobs[0].key, STACK, request.param, together=True, tmp_path=tmp_path)


def test_runs_that_are_finished_are_safe_soon_though_their_batch_goes_on(at_the_long_run):
    child, folder, _ = at_the_long_run
    until(lambda: kept(folder) == 5)
    child.kill()
    child.join()
    assert kept(folder) == 5


def test_ctrl_c_hands_over_what_is_finished_and_counts_it(at_the_long_run, monkeypatch):
    child, folder, said = at_the_long_run
    os.kill(child.pid, signal.SIGINT)
    child.join(600)
    assert child.exitcode == 130
    assert kept(folder) == 5
    assert "stopped; 5 done, 0 failed, 5 left, all kept in" in " ".join(said.read_text().split())


def test_runs_of_a_stack_that_have_ended_are_safe_soon_though_others_go_on(in_the_long_stack, tmp_path):
    child, folder, _ = in_the_long_stack
    until(lambda: kept(folder) == 4)
    child.kill()
    child.join()
    short = Sweep(lasting, Cells({"short": {}}), 4)
    assert short.run(folder, "serial", quiet=True).done == 4
    assert load_sweep(folder).runs["stacked"].all()  # none was done again
    short.run(tmp_path / "alone", "serial", quiet=True, together=False)
    assert_same_frames(folder, tmp_path / "alone")


def test_ctrl_c_hands_over_the_runs_of_a_stack_that_have_ended(in_the_long_stack):
    child, folder, said = in_the_long_stack
    until(lambda: kept(folder) == 4)  # soon
    os.kill(child.pid, signal.SIGINT)
    child.join(600)
    assert child.exitcode == 130
    assert kept(folder) == 4
    assert "stopped; 4 done, 0 failed, 4 left, all kept in" in " ".join(said.read_text().split())


def test_what_is_elsewhere_is_asked_for_before_all_is_said_to_be_handed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "_LOOK", 0.01)
    found = []
    with Saver(found.extend, tmp_path, "x") as saver:
        with saver.elsewhere():
            saver.add(1)
            assert not saver.asked
            saving.ask_to_stop(tmp_path)
            until(lambda: saver.asked and found == [1])
            assert not (tmp_path / "x.handed").exists()
            saver.add(2)
        until((tmp_path / "x.handed").exists)
        assert found == [1, 2]


def test_what_cannot_be_written_is_kept_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "SOON", 0.0)
    monkeypatch.setattr(saving, "_LOOK", 0.01)
    tries, found = [], []

    def save(items):
        tries.append(list(items))
        if len(tries) < 3:
            raise OSError("no space")
        found.extend(items)

    with Saver(save, tmp_path, "x") as saver:
        saver.add(1, 2)
        until(lambda: found)
        saver.add(3)
    assert found == [1, 2, 3]
    assert tries[:3] == [[1, 2]] * 3
