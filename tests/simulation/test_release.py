"""Runs that are thrown away are gone."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from fedabm import Federation
from tests.conftest import mixed, two_owners

ROOT = Path(__file__).parents[2]

#: builds and throws away 500 runs, then prints the mean resident memory of the first and of the last hundred
MANY_RUNS = """
import numpy as np, psutil
from tests.conftest import mixed, run
process, seen = psutil.Process(), []
scenario = mixed(steps=2)
for seed in range(520):
    model = run(scenario, seed)
    if seed % 10 == 0:
        model.frames()
    seen.append(process.memory_info().rss)
first, last = np.mean(seen[20:120]), np.mean(seen[-100:])
print(first, last)
"""


@pytest.mark.parametrize("scenario", [mixed(steps=3), two_owners()])
def test_a_model_is_released_when_nobody_holds_it(scenario):
    model = Federation(scenario).run()
    model.frames()
    traces = [weakref.ref(thing) for thing in (model, model.population, next(iter(model.owners)), model.server)]
    del model
    gc.collect()
    assert [trace() for trace in traces] == [None] * 4


def test_five_hundred_runs_leave_no_trace():
    finished = subprocess.run(
        [sys.executable, "-c", MANY_RUNS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    first, last = map(float, finished.stdout.split())
    assert abs(last / first - 1) < 0.05, f"{first / 2**20:.1f} MB became {last / 2**20:.1f} MB"
