"""Runs of one kind are done together: the same frames, and failures stay rows."""

from __future__ import annotations

import numpy as np
import pytest

from fedabm import Scenario, load, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare
from fedabm.simulation import stack
from fedabm.strategies import BestResponse
from fedabm.sweep import Grid, Sweep
from fedabm.sweep.together import groups_of
from tests.sweep.helpers import assert_same_frames

NOTHING = NoPayments()


def small(seed: int, mechanism=NOTHING, broken: int = -1) -> Scenario:
    """A small run; of an odd seed it can be one that nobody can make."""
    if broken >= 0 and seed % 2 == broken:
        raise ValueError("no such market")
    rates = np.random.default_rng(seed).uniform(0.05, 0.2, 4)
    return Scenario(population(rates, 10.0, BestResponse(0.5)), PowerLaw(), mechanism, steps=5)


def test_a_sweep_finds_groups_and_keeps_the_frames(tmp_path):
    rules = [NoPayments(), ContributionSubsidy(0.05), CostSharing(), ShapleyShare()]
    sweep = Sweep(small, Grid(mechanism=rules), 6)
    groups = groups_of(sweep.jobs, lambda job: None)
    assert [len(group.jobs) for group in groups] == [6, 6, 6]
    sweep.run(tmp_path / "together", "serial", quiet=True)
    sweep.run(tmp_path / "alone", "serial", quiet=True, together=False)
    assert_same_frames(tmp_path / "together", tmp_path / "alone")


def test_what_cannot_be_made_is_a_row_and_takes_nobody_with_it(tmp_path):
    sweep = Sweep(small, Grid(broken=[-1, 1]), [0, 1, 2, 3])
    count = sweep.run(tmp_path, "serial", quiet=True)
    assert (count.done, count.failed) == (6, 2)
    assert load(tmp_path).failed["seed"].tolist() == [1, 3]


def test_what_goes_wrong_in_a_stack_is_done_one_by_one(tmp_path, monkeypatch):
    def fails(self):
        raise FloatingPointError("somewhere in all runs")

    sweep = Sweep(small, Grid(mechanism=[NoPayments()]), 3)
    sweep.run(tmp_path / "together", "serial", quiet=True)
    monkeypatch.setattr(stack.Stack, "run", fails)
    assert sweep.run(tmp_path / "alone", "serial", quiet=True).done == 3
    assert_same_frames(tmp_path / "together", tmp_path / "alone")


@pytest.mark.parametrize("limit", [{"time_limit": 60.0}, {"memory_limit": 2**32}])
def test_a_limit_holds_for_one_run_so_nothing_is_stacked(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(stack.Stack, "run", lambda self: pytest.fail("stacked"))
    assert Sweep(small, Grid(mechanism=[NoPayments()]), 3).run(tmp_path, "serial", quiet=True, **limit).done == 3
