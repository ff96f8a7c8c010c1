"""Processors are counted as this process may use them."""

import os
import subprocess
import sys

import pytest

from fedabm.common.cores import cores
from fedabm.sweep.places import executor_of


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system ties no process to processors")
def test_a_process_tied_to_one_processor_has_one() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from fedabm.common.cores import cores; print(cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_sweep_takes_no_more_workers_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 3)
    assert cores() == 3
    assert executor_of("local").workers == 3  # type: ignore[attr-defined]
