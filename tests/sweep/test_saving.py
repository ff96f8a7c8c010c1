"""Finished runs of a batch that is not finished are safe: soon after they end, and at once on Ctrl-C."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path

import pytest

from fedabm.results.sweeps import states
from fedabm.sweep import Cells, Sweep, runner, saving
from fedabm.sweep.plan import Interrupted
from fedabm.sweep.saving import Saver
from fedabm.sweep.worker import Batch
from tests.sweep.targets import trouble
from tests.waiting import until

FORK = multiprocessing.get_context("fork")
#: five runs that end at once, then five that do not end
LONG = Sweep(trouble, Cells({"short": {}, "long": {"kind": "hang"}}), 5)


def lead(folder, said, executor):
    """The whole sweep as one batch."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored
    runner.Runner._next = lambda self: Batch("0" * 32, tuple(self._queue.popleft() for _ in range(len(self._queue))))
    with Path(said).open("w") as sys.stderr:
        try:
            LONG.run(folder, executor, 1, checkpoint=None, together=False, repeat="fedabm sweep long")
        except Interrupted:
            sys.exit(130)


def kept(folder):
    return len(states(folder)) if (folder / "parts").is_dir() else 0


@pytest.fixture(params=["serial", "local"])
def at_the_long_run(request, tmp_path):
    """A leader whose only batch has come to the run that does not end."""
    child = FORK.Process(target=lead, args=(tmp_path / "sweep", tmp_path / "said", request.param))
    child.start()
    key = LONG.jobs[5].key
    note = tmp_path / "sweep" / "running" / f"{'0' * 32}.json"
    until(lambda: note.exists() and key in note.read_text())
    yield child, tmp_path / "sweep", tmp_path / "said"
    child.kill()
    child.join()


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
