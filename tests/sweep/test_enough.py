"""A sweep whose seeds are decided by the data."""

import pytest

from fedabm import load
from fedabm.common.confidence import ConfidenceIntervals
from fedabm.common.errors import InputError
from fedabm.results.design import ENOUGH, read_manifest
from fedabm.sweep import Grid, Sweep
from fedabm.sweep.spec import sweep_of
from tests.sweep.targets import build


def test_all_cells_get_as_many_seeds_as_the_noisiest_needs_and_a_second_run_finds_them(tmp_path):
    plan = Sweep(build, Grid(rate=[0.05, 0.2]), "until 0.2 of contribution, from 10, at most 30")
    plan.run(tmp_path, "serial", quiet=True)
    told, found = read_manifest(tmp_path)[ENOUGH], load(tmp_path)
    seeds = told["stages"][-1]
    assert found.runs.groupby("cell")["seed"].nunique().tolist() == [seeds, seeds]
    ends = found.at_end("steps").merge(found.runs[["run", "cell"]])
    intervals = ConfidenceIntervals(first=told["stages"][0])
    halves = [intervals.half(part) for _, part in ends.groupby("cell")["contribution"]]
    assert max(halves) == pytest.approx(told["half_width"])
    assert told["reached"] == (max(halves) <= 0.2)
    again = plan.run(tmp_path, "serial", quiet=True)
    assert (again.done, len(load(tmp_path).runs)) == (2 * seeds, 2 * seeds)


def test_a_file_says_until_when_and_what_is_known():
    table = {"scenario": "free_riding", "design": {"rate": [0.1]}, "seeds": "until 0.1 from 5", "noise": "normal"}
    assert len(sweep_of(table).jobs) == 5
    with pytest.raises(InputError, match="at least 10"):
        sweep_of({**table, "noise": "unknown"})
    with pytest.raises(InputError, match="until when"):
        sweep_of({**table, "seeds": "many"})


def test_columns_that_are_not_there_are_named(tmp_path):
    with pytest.raises(InputError, match="steps have no numbers 'joy'"):
        Sweep(build, Grid(rate=[0.05]), "until 1 of joy").run(tmp_path, "serial", quiet=True)
