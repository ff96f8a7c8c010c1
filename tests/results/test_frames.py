import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, Frames, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import CostSharing, NoPayments
from fedabm.results.frames import COLUMNS
from fedabm.strategies import FixedShare, Liar
from tests.conftest import mixed, run, two_owners


@pytest.mark.parametrize("mechanism", [NoPayments(), CostSharing(0.2)])
def test_columns_are_exactly_the_documented_ones(mechanism):
    frames = run(mixed(mechanism=mechanism)).frames()
    for name, described in COLUMNS.items():
        assert list(getattr(frames, name).columns) == list(described)
        assert all(described.values())


def test_types_do_not_depend_on_what_happened():
    many, few = run(mixed()).frames(), run(mixed(mechanism=NoPayments(), steps=1)).frames()
    for name in COLUMNS:
        one, two = getattr(many, name).dtypes, getattr(few, name).dtypes
        pd.testing.assert_series_equal(one.drop("strategy", errors="ignore"), two.drop("strategy", errors="ignore"))
    assert many.owners["strategy"].dtype == "category"
    assert many.owners["stayed"].dtype == bool
    assert many.owners["owner"].dtype == many.steps["step"].dtype == np.int64


@pytest.mark.parametrize(
    ("record", "kept"), [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6, 7]), (7, [7]), (9, [7]), (None, [7])]
)
def test_thinning_keeps_the_right_steps_and_always_the_last(record, kept):
    full = run(mixed(steps=7)).frames()
    thin = run(mixed(steps=7, record=record)).frames()
    assert thin.steps["step"].tolist() == kept
    assert sorted(set(thin.owners["step"])) == kept
    assert sorted(set(thin.transfers["step"])) == kept
    for name in ("steps", "owners", "transfers"):
        whole = getattr(full, name)
        expected = whole[whole["step"].isin(kept)].reset_index(drop=True)
        pd.testing.assert_frame_equal(getattr(thin, name), expected, check_exact=True)
    assert thin.runs["gap"].tolist() == full.runs["gap"].tolist()


def test_thinning_bounds_what_is_kept():
    model = run(mixed(steps=40, record=None, tolerance=0.0))
    assert len(model.recorder._kept) == 0
    assert len(model.ledger._entries) == 0


def test_frames_may_be_asked_for_at_any_time():
    model = Federation(mixed(steps=5, record=2))
    assert model.frames().runs["steps"].tolist() == [0]
    assert np.isnan(model.frames().runs["gap"].iloc[0])
    seen = []
    while model.running:
        model.step()
        seen.append(model.frames().steps["step"].tolist())
    assert seen == [[1], [2], [2, 3], [2, 4], [2, 4, 5]]


@pytest.mark.parametrize("record", [1, 2, None])
@pytest.mark.parametrize("phase", ["decide", "learn", "settle", "record", "receive", "watch"])
def test_a_step_that_breaks_off_leaves_the_frames_of_the_step_before(record, phase, monkeypatch):
    model, twin = Federation(mixed(steps=9, record=record)), Federation(mixed(steps=9, record=record))
    for _ in range(3):
        model.step()
        twin.step()
    whole = getattr(Federation, phase)

    def broken(self, *arguments):
        whole(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Federation, phase, broken)
    with pytest.raises(KeyboardInterrupt):
        model.step()
    frames, expected = model.frames(), twin.frames()
    for name in ("steps", "owners", "transfers"):
        pd.testing.assert_frame_equal(getattr(frames, name), getattr(expected, name), check_exact=True)
    assert frames.runs["status"].tolist() == ["interrupted"]
    assert frames.runs["steps"].tolist() == [3]
    assert frames.runs["gap"].isna().all()


def test_reported_and_true_values_are_both_there():
    liar = Liar(FixedShare(0.5), cost_factor=3.0, size_factor=2.0, contribution_factor=1.5)
    frames = run(Scenario(population([0.1, 0.2], 10.0, liar), PowerLaw(), CostSharing(0.2), steps=2)).frames()
    rows = frames.owners
    assert rows["contribution"].tolist() == [5.0] * 4
    assert rows["reported_contribution"].tolist() == [7.5] * 4
    assert rows["reported_size"].tolist() == [20.0] * 4
    np.testing.assert_allclose(rows["reported_unit_cost"], [0.3, 0.6] * 2)
    np.testing.assert_allclose(rows["cost"], [0.5, 1.0] * 2)


def test_costs_nobody_asked_for_are_not_reported():
    assert run(mixed()).frames().owners["reported_unit_cost"].isna().all()


def test_steps_summarise_owners():
    frames = run(mixed()).frames()
    by_step = frames.owners.groupby("step")
    steps = frames.steps.set_index("step")
    for one, two in (("contribution", "contribution"), ("cost", "cost"), ("welfare", "utility"), ("present", "stayed")):
        np.testing.assert_allclose(steps[one], by_step[two].sum(), rtol=1e-12)
    np.testing.assert_allclose(steps["accuracy"], by_step["accuracy"].mean(), rtol=1e-12)
    received = frames.owners["payment"].clip(lower=0).groupby(frames.owners["step"]).sum()
    np.testing.assert_allclose(steps["transferred"], received, rtol=1e-12)


def test_a_run_is_described_by_its_row():
    frames = run(two_owners(name="pair"), 3).frames("first", {"b": 2, "a": (1, 2)})
    (row,) = frames.runs.to_dict("records")
    assert (row["run"], row["label"], row["scenario"], row["seed"], row["owners"]) == (0, "first", "pair", 3, 2)
    assert json.loads(row["parameters"]) == {"a": [1, 2], "b": 2}
    assert (row["mechanism"], row["status"], row["converged"]) == ("NoPayments()", "converged", True)
    assert row["gap"] < 1e-12
    assert row["wall_time"] > 0
    assert all(row[package] for package in ("fedabm", "mesa", "numpy", "python"))


def test_runs_are_joined_under_their_numbers():
    parts = [
        run(mixed(steps=3), 1).frames(),
        run(two_owners()).frames(),
        run(mixed(steps=2, mechanism=NoPayments())).frames(),
    ]
    joined = Frames.join(parts)
    assert joined.runs["run"].tolist() == [0, 1, 2]
    for number, part in enumerate(parts):
        for name in ("steps", "owners", "transfers"):
            rows = getattr(joined, name)
            rows = rows[rows["run"] == number].drop(columns=["run", "strategy"], errors="ignore").reset_index(drop=True)
            alone = getattr(part, name).drop(columns=["run", "strategy"], errors="ignore")
            pd.testing.assert_frame_equal(rows, alone, check_exact=True)
    assert joined.owners["strategy"].astype(str).tolist() == [
        label for part in parts for label in part.owners["strategy"].astype(str)
    ]


def test_no_runs_are_empty_frames_with_all_columns():
    empty = Frames.join([])
    for name, described in COLUMNS.items():
        assert list(getattr(empty, name).columns) == list(described)
        assert len(getattr(empty, name)) == 0


def test_changing_a_frame_does_not_change_the_run():
    model = run(replace(mixed(), steps=2))
    owners = model.frames().owners
    owners.loc[:, "capacity"] = 0.0
    assert (model.frames().owners["capacity"] > 0).all()
    assert np.all(model.population.capacity > 0)
