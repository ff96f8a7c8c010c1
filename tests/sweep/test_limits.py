"""Limits of single runs, and what a sweep says about its time."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from fedabm.sweep import limits
from fedabm.sweep.executors import LocalExecutor
from fedabm.sweep.limits import TimeLimit, memory_limit, time_limit
from fedabm.sweep.messages import Messages
from fedabm.sweep.runner import Count

#: fills memory under a limit on a system of which only the most that was ever held is known
ELSEWHERE = """
from pathlib import Path
from fedabm.sweep import limits
limits._STATUS = Path("nowhere")
before = limits._held()
with limits.memory_limit(2**25):
    kept = bytearray(2**24)
try:
    with limits.memory_limit(2**25):
        held = []
        while limits._held() < before + 2**29:
            held.append(bytearray(2**20))
except MemoryError as error:
    print(error)
"""


def test_memory_is_limited_also_where_only_its_peak_is_known():
    said = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "the run took more than 32 MiB of memory"


def test_what_is_held_counts_and_not_what_was_held_before():
    kept = bytearray(2**26)
    with memory_limit(2**25):
        del kept
        again = bytearray(2**26)
        time.sleep(3 * limits.WATCH)
    assert len(again) == 2**26


def test_a_run_within_its_limits_is_left_alone():
    with time_limit(5.0), memory_limit(2**30):
        assert sum(range(10)) == 45
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    with pytest.raises(TimeLimit, match=r"longer than 0\.05 s"), time_limit(0.05):
        time.sleep(5)


def test_a_limit_that_is_swallowed_comes_again(monkeypatch):
    """As by a destructor, whose errors Python only reports."""

    def deaf():
        with contextlib.suppress(TimeLimit):
            time.sleep(5)
        time.sleep(5)

    monkeypatch.setattr(limits, "AGAIN", 0.05)
    with pytest.raises(TimeLimit), time_limit(0.05):
        deaf()


def test_a_limit_on_its_way_out_is_not_raised_again(monkeypatch):
    """However long the body takes to clean up."""
    monkeypatch.setattr(limits, "AGAIN", 0.01)
    cleaned = []

    def slow_to_leave():
        try:
            time.sleep(5)
        finally:
            time.sleep(0.2)
            cleaned.append(True)

    with pytest.raises(TimeLimit), time_limit(0.05):
        slow_to_leave()
    assert cleaned == [True]


def test_nobody_hears_of_a_limit_that_a_destructor_swallowed(monkeypatch):
    """It comes again, so that the one line of the failed run is enough; other faults of destructors are reported."""
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: heard.append(found.exc_type))
    monkeypatch.setattr(limits, "AGAIN", 0.05)

    class Slow:
        def __del__(self):
            time.sleep(5)

    class Faulty:
        def __del__(self):
            raise ValueError("of another kind")

    def clean_up():
        Faulty()
        Slow()
        time.sleep(5)

    with pytest.raises(TimeLimit), time_limit(0.05):
        clean_up()
    assert heard == [ValueError]


def test_a_worker_that_is_starting_does_not_hear_ctrl_c():
    with LocalExecutor(1) as pool:
        answer = pool.submit(os.getpid)
        while not pool.processes():
            time.sleep(0.001)
        first = pool.processes()[0]
        while not answer.done():
            os.kill(first, signal.SIGINT)
            time.sleep(0.01)
        assert answer.result() == first


def test_the_bar_tells_the_time_left_also_of_runs_that_take_minutes():
    """One run in five minutes, and seven to go."""
    now, shown = [0.0], io.StringIO()
    messages, count = Messages(), Count(10)
    messages._console = Console(file=shown, force_terminal=True, width=120, get_time=lambda: now[0])
    with messages.progress(count) as tell:
        for done in (1, 2, 3):
            now[0], count.done = 300.0 * done, done
            tell(count)
    assert "3 done, 0 failed, 7 left" in shown.getvalue()
    assert "0:35:00" in shown.getvalue()
