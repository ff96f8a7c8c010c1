"""A planted box is found in noise, and what cannot be found is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from fedabm import Frames, InputError
from fedabm.cli import main
from fedabm.figures import breaking_box
from fedabm.results.frames import COLUMNS
from fedabm.sweep import where_it_breaks
from fedabm.sweep.breaking.prim import Box, Limit, find_box

EMPTY = {name: pd.DataFrame(columns=list(COLUMNS[name])) for name in ("owners", "transfers", "strategies", "imports")}


def frames_of(parameters: pd.DataFrame, welfare: np.ndarray) -> Frames:
    """Frames of a sweep with these parameters, which end with this welfare."""
    runs = pd.DataFrame({"run": range(len(parameters)), "seed": 0, "gap": 0.0, "wall_time": 0.1}).join(parameters)
    steps = pd.DataFrame({"run": runs["run"], "step": 3, "welfare": welfare})
    return Frames(runs=runs, steps=steps, **EMPTY)


def space(rng: np.random.Generator, count: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rate": 10 ** rng.uniform(-3, -1, count),
            "people": rng.integers(5, 51, count),
            "exponent": rng.uniform(0.3, 1.5, count),
            "rule": rng.choice(["a", "b", "c"], count),
            "idle": rng.normal(size=count),
        }
    )


def planted(seed: int, count: int = 2000, noise: float = 0.5) -> Frames:
    """Welfare is 2 where the rate is above 0.01 with at most 30 people and not under rule b, else 5, and noise."""
    rng = np.random.default_rng(seed)
    table = space(rng, count)
    inside = (table["rate"] > 0.01) & (table["people"] <= 30) & (table["rule"] != "b")
    return frames_of(table, 5.0 - 3.0 * inside + rng.normal(0.0, noise, count))


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_box_is_found_in_2000_noisy_runs(seed: int) -> None:
    found = where_it_breaks(planted(seed), "welfare < 3.5", seed)
    assert found.precision > 0.9
    assert found.recall > 0.9
    (box,) = found.boxes
    assert set(box.limits) == {"rate", "people", "rule"}  # and nothing that does not matter
    assert box.limits["rate"].low == pytest.approx(0.01, rel=0.1)
    assert box.limits["people"].high == pytest.approx(30, abs=1.5)
    assert box.limits["rule"].values == {"a", "c"}
    tree = found.table.set_index("what").loc["tree"]
    assert tree["precision"] > 0.9
    assert tree["recall"] > 0.9
    assert "rate >" in found.tree


def test_precision_and_recall_are_those_of_the_runs_that_were_held_out() -> None:
    found = where_it_breaks(planted(1, noise=1.5), "welfare < 3.5")
    held = found.runs[found.runs["held_out"]]
    inside = found.boxes[0].holds(held)
    row = found.table.iloc[0]
    assert len(held) == pytest.approx(2000 / 3, abs=1)
    assert row["precision"] == pytest.approx(held["breaks"][inside].mean())
    assert row["recall"] == pytest.approx(inside[held["breaks"]].mean())
    assert row["precision"] < 0.95  # much noise cannot be told apart by anybody


def test_cells_are_never_on_both_sides() -> None:
    rng = np.random.default_rng(0)
    table = space(rng, 100).loc[np.repeat(range(100), 5)].reset_index(drop=True)
    found = where_it_breaks(frames_of(table, rng.normal(size=500) - 2.0 * (table["rate"] > 0.01)), "welfare < -1")
    assert found.runs.groupby("rate")["held_out"].nunique().max() == 1


def test_chance_alone_has_no_good_box() -> None:
    rng = np.random.default_rng(2)
    found = where_it_breaks(frames_of(space(rng, 600), rng.normal(size=600)), "welfare < -0.7")
    share = found.runs["breaks"].mean()
    assert np.isnan(found.precision) or found.precision < share + 0.15


def test_two_boxes_are_found_one_after_the_other() -> None:
    rng = np.random.default_rng(4)
    table = space(rng, 1500)
    low, high = (table["exponent"] < 0.5) & (table["rate"] < 0.01), (table["exponent"] > 1.2) & (table["people"] > 25)
    found = where_it_breaks(frames_of(table, np.where(low | high, 0.0, 1.0)), "welfare < 0.5")
    assert len(found.boxes) == 2
    assert min(found.precision, found.recall) > 0.9


def test_a_box_worked_out_by_hand() -> None:
    table = pd.DataFrame({"x": np.arange(20.0), "y": np.tile([0.0, 1.0], 10)})
    hits = (table["x"] >= 12).to_numpy()
    assert find_box(table, hits) == Box({"x": Limit("x", low=12.0)})
    assert str(find_box(table, hits)) == "x >= 12"
    assert (
        str(Box({"x": Limit("x", 1.0, 2.0), "k": Limit("k", values=frozenset("ba"))}))
        == "x from 1 to 2 and k is a or b"
    )
    assert str(Box()) == "everywhere"


def test_runs_without_a_value_and_parameters_that_some_lack_are_told() -> None:
    frames = planted(0, 400)
    frames.steps.loc[:9, "welfare"] = np.nan
    frames.runs["other"] = [np.nan, *np.arange(399.0)]
    found = where_it_breaks(frames, "welfare < 3.5")
    assert any(note.startswith("10 of 400 runs have no value") for note in found.notes)
    assert any(note.startswith("other is missing in some runs") for note in found.notes)
    assert len(found.runs) == 390


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("welfare < -99", r"only 0 of \d+ runs meet 'welfare < -99'; at least 10 are needed"),
        ("welfare < 99", r"only 0 of \d+ runs do not meet"),
        ("wellfare < 3", "names no column of runs or steps"),
        ("welfare <", "cannot read the condition"),
        ("welfare + 1", "is neither true nor false"),
    ],
)
def test_conditions_that_cannot_be_looked_for_are_refused_in_one_line(condition: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        where_it_breaks(planted(0, 200), condition)
    assert "\n" not in str(caught.value)


def test_runs_that_differ_in_nothing_are_refused() -> None:
    frames = frames_of(pd.DataFrame({"rate": np.full(50, 0.1)}), np.arange(50.0))
    with pytest.raises(InputError, match="no parameter differs"):
        where_it_breaks(frames, "welfare < 25")


def test_the_box_is_drawn_with_its_runs() -> None:
    found = where_it_breaks(planted(3, 600), "welfare < 3.5")
    ax = breaking_box(found)
    assert isinstance(ax, Axes)
    assert "n = " in ax.get_title()
    assert {ax.get_xlabel(), ax.get_ylabel()} <= {"rate", "people", "rule"}
    assert len(ax.patches) == 1


def test_the_command_prints_boxes_and_tree_and_writes_them(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("fedabm.cli.boxes.load", lambda folder: planted(0, 600))
    words = ["boxes", str(tmp_path), "--where", "welfare < 3.5"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "of 600 runs meet 'welfare < 3.5'" in told
    assert "rate >= 0.0" in told
    assert "class: breaks" in told
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"boxes.csv", "boxes.png", "tree.txt"}
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["boxes"][0]["precision"] > 0.9
    assert main(["boxes", str(tmp_path), "--where", "nothing"]) == 2
