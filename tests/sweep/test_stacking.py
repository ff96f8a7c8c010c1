"""Runs of one kind are done together: the same frames, and failures stay rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fedabm import Scenario, load, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare
from fedabm.results.columns import Column
from fedabm.results.design import ALONE, read_manifest
from fedabm.results.round import Round
from fedabm.simulation import stack
from fedabm.strategies import BestResponse
from fedabm.sweep import Grid, Sweep, runner, stacking
from fedabm.sweep.preview import preview
from fedabm.sweep.stacking import groups_of
from fedabm.sweep.worker import Batch
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import lasting

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
    groups, alone = groups_of(sweep.jobs, lambda job: None)
    assert [len(group.jobs) for group in groups] == [6, 6, 6]
    assert alone == {"ShapleyShare cannot be stacked": 6}
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

    sweep = Sweep(small, Grid(mechanism=[NoPayments()]), 12)
    sweep.run(tmp_path / "together", "serial", quiet=True)
    monkeypatch.setattr(stack.StackedRuns, "step", fails)
    count = sweep.run(tmp_path / "alone", "serial", quiet=True)
    assert count.done == 12
    assert set(count.alone) == {"FloatingPointError: somewhere in all runs; mend what raised it"}
    assert load(tmp_path / "together").runs["stacked"].any()
    assert not load(tmp_path / "alone").runs["stacked"].any()
    assert_same_frames(tmp_path / "together", tmp_path / "alone")


def whole(self) -> Batch:
    """All jobs as one batch."""
    return Batch("0" * 32, tuple(self._queue.popleft() for _ in range(len(self._queue))))


def test_runs_that_a_stack_handed_over_before_it_failed_are_done_again(tmp_path, monkeypatch):
    def fails(self):
        if self.steps == 4:
            raise FloatingPointError("somewhere in all runs")
        step(self)

    step = stack.StackedRuns.step
    sweep = Sweep(lasting, Grid(resting=[True, False]), 2, steps=8)
    sweep.run(tmp_path / "apart", "serial", quiet=True, together=False)
    monkeypatch.setattr(runner.Runner, "_next", whole)
    monkeypatch.setattr(stacking, "_LOOK", 0.0)
    monkeypatch.setattr(stack.StackedRuns, "step", fails)
    count = sweep.run(tmp_path / "failed", "serial", quiet=True)
    assert (count.done, count.failed, count.alone.total()) == (4, 0, 4)
    (part,) = (tmp_path / "failed" / "parts").iterdir()
    assert sorted(pq.read_table(part)["attempt"].to_pylist()) == [0, 0, 0, 0, 1, 1]  # two runs were handed over before
    assert not load(tmp_path / "failed").runs["stacked"].any()
    assert_same_frames(tmp_path / "failed", tmp_path / "apart")


def test_a_stack_ends_when_it_is_asked_to_and_hands_over_what_has_ended():
    (group,), _ = groups_of(Sweep(lasting, Grid(resting=[True, False]), 3).jobs, lambda job: None)
    handed, asked = [], iter([False] * 3 + [True])
    group.do(lambda jobs, table: handed.append((jobs, table)), lambda: next(asked))
    ((jobs, table),) = handed
    assert [job.parameters for job in jobs] == [{"resting": True}] * 3
    assert table["steps"].to_pylist() == [2] * 3


def largest(round: Round) -> np.ndarray:
    """The largest contribution of each run."""
    return round.contribution.max(axis=-1)


def mixed_up(round: Round) -> np.ndarray:
    """Of one run its largest contribution; of several, that of all of them: a column that knows of one run only."""
    return np.broadcast_to(round.contribution.max(), round.shape)


def by_hand(round: Round) -> float:
    """From the federation, which only a run that is stepped by itself has."""
    return round.model.population.contribution.max()


def with_column(seed: int, value: str) -> Scenario:
    """A small run with a column of the steps and one of the owners."""
    own = Column("steps", "largest", {"largest": largest, "mixed_up": mixed_up, "by_hand": by_hand}[value])
    doubled = Column("owners", "doubled", lambda round: 2 * round.contribution)
    return replace(small(seed), columns=(own, doubled))


def test_columns_of_ones_own_are_stacked_to_the_same_frames(tmp_path):
    sweep = Sweep(with_column, Grid(value=["largest"]), 12)
    assert sweep.run(tmp_path / "together", "serial", quiet=True).alone == {}
    sweep.run(tmp_path / "alone", "serial", quiet=True, together=False)
    assert_same_frames(tmp_path / "together", tmp_path / "alone")
    frames = load(tmp_path / "together")
    assert frames.runs["stacked"].sum() >= 6  # the first batches are of one run
    found = frames.owners.groupby(["run", "step"])["contribution"].max()
    np.testing.assert_array_equal(frames.steps["largest"], found)
    np.testing.assert_array_equal(frames.owners["doubled"], 2 * frames.owners["contribution"])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("mixed_up", "column 'largest' mixes runs; reduce along the last axis"),
        ("by_hand", "round.model belongs to a run that is stepped by itself"),
    ],
)
def test_what_cannot_be_stacked_is_right_and_the_summary_says_why(tmp_path, capsys, value, why):
    sweep = Sweep(with_column, Grid(value=[value]), 12)
    count = sweep.run(tmp_path / "one", "serial")
    assert count.done == 12
    (reason, runs), *others = count.alone.items()
    assert not others
    assert why in reason
    assert runs >= 6
    assert f"{runs} runs were stepped one by one" in (said := " ".join(capsys.readouterr().err.split()))
    assert why in said
    assert read_manifest(tmp_path / "one")[ALONE] == {reason: runs}
    frames = load(tmp_path / "one")
    assert not frames.runs["stacked"].any()
    np.testing.assert_array_equal(frames.steps["largest"], load_largest(tmp_path / "other"))
    # it is still known when there is nothing left to do
    assert sweep.run(tmp_path / "one", "serial", quiet=True).alone == {reason: runs}


def load_largest(folder: Path) -> pd.Series:
    """What the column is if runs are stepped together."""
    Sweep(with_column, Grid(value=["largest"]), 12).run(folder, "serial", quiet=True)
    return load(folder).steps["largest"]


@pytest.mark.parametrize("limit", [{"time_limit": 60.0}, {"memory_limit": 2**32}])
def test_a_limit_holds_for_one_run_so_nothing_is_stacked(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(stack.StackedRuns, "step", lambda self: pytest.fail("stacked"))
    assert Sweep(small, Grid(mechanism=[NoPayments()]), 3).run(tmp_path, "serial", quiet=True, **limit).done == 3


def numbered(rate: float, exponent: float = 1.0, kind: str = "subsidy", seed: int = 0) -> Scenario:
    """A rule and a curve with numbers of their own."""
    rule = {"subsidy": ContributionSubsidy(rate), "shared": CostSharing(rate), "shapley": ShapleyShare()}[kind]
    return replace(small(seed, rule), accuracy=PowerLaw(exponent=exponent))


def test_a_dry_run_says_which_runs_go_together_and_why_others_do_not(tmp_path, capsys):
    design = Grid(rate=[0.1, 0.2], exponent=[1.0, 2.0], kind=["subsidy"])
    preview(Sweep(numbered, design, 1), tmp_path, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert "Of 4 cells that were tried, 4 are of one kind, whose runs are stepped together." in said
    preview(Sweep(numbered, Grid(rate=[0.1, 0.2], kind=["subsidy", "shared", "shapley"]), 1), tmp_path, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert "4 are of 2 kinds (2, 2 cells), and runs of one kind are stepped together" in said
    assert "2 are done run by run, because of: ShapleyShare (2)." in said
    groups, _ = groups_of(Sweep(numbered, design, 1).jobs, lambda job: None)
    assert [len(group.jobs) for group in groups] == [4]
