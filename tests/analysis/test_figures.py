"""Figures show what the frames say: what is drawn for whom, labels, legends, number of marks; never pixels."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

import fedabm
from fedabm import Frames, InputError, Scenario, population
from fedabm.analysis import figures
from fedabm.analysis.boxes import lying_box
from fedabm.analysis.looks import strategy_looks
from fedabm.analysis.over_time import FLOOR
from fedabm.analysis.rows import how_many, last_step
from fedabm.common.confidence import confidence
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, NoPayments, ValueShaping
from fedabm.strategies import FreeRider, Honest
from tests.analysis.marks import SUBSIDY, legend, marks
from tests.conftest import run


def test_lines_over_time_are_the_means_by_strategy(frames: Frames) -> None:
    ax = figures.contributions_over_time(frames)
    means = frames.owners.groupby(["strategy", "step"], observed=True)["contribution"].mean()
    names = sorted(set(frames.owners["strategy"].astype(str)))
    drawn = [line for line in ax.lines if len(line.get_xdata())]
    assert legend(ax) == set(names)
    assert len(drawn) == len(names)
    for name, line in zip(names, drawn, strict=True):
        assert line.get_ydata() == pytest.approx(means[name].to_numpy())
        assert to_hex(line.get_color()) == strategy_looks([name])[name].colour
    assert "n = 6 owners in each of 4 runs" in ax.get_xlabel()
    assert "samples" in ax.get_ylabel()


def test_convergence_shows_moves_and_the_certified_gap_at_the_end(one: Frames) -> None:
    ax = figures.convergence(one)
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 5]
    assert line.get_ydata() == pytest.approx(np.maximum(one.steps["moved"], FLOOR))
    assert ax.get_yscale() == "log"
    (cross,) = [part for part in ax.collections if isinstance(part, PathCollection)]
    assert cross.get_offsets()[0].tolist() == pytest.approx([5, max(one.runs["gap"].iloc[0], FLOOR)])
    gaps = replace(one, steps=one.steps.assign(gap=[1.0, 0.5, 0.25, 0.125, 0.0]))
    (line,) = [line for line in figures.convergence(gaps).lines if len(line.get_xdata()) == 5]
    assert line.get_ydata() == pytest.approx([1.0, 0.5, 0.25, 0.125, FLOOR])


def test_every_owner_has_one_mark_against_its_contribution(frames: Frames) -> None:
    ax = figures.against_contribution(frames, "payment")
    final = last_step(frames.owners)
    drawn = np.vstack([np.asarray(part.get_offsets()) for part in ax.collections if isinstance(part, PathCollection)])
    assert len(drawn) == len(final) == 24
    assert sorted(drawn[:, 0]) == pytest.approx(sorted(final["contribution"]))
    assert sorted(drawn[:, 1]) == pytest.approx(sorted(final["payment"]))
    assert "payment" in ax.get_ylabel()


def test_the_few_do_not_hide_the_many_where_they_coincide() -> None:
    owners = population([0.1] * 4, 10.0, [Honest(), Honest(), Honest(), FreeRider()])
    frames = run(Scenario(owners, PowerLaw(), NoPayments(), steps=1)).frames()
    same = replace(frames, owners=frames.owners.assign(contribution=1.0, utility=1.0))
    (dots,) = [part for part in figures.against_contribution(same).collections if isinstance(part, PathCollection)]
    assert len(dots.get_offsets()) == 4
    assert list(dots.get_sizes()) == sorted(dots.get_sizes(), reverse=True)  # drawn in this order
    assert dots.get_sizes()[0] > 2 * dots.get_sizes()[-1]


def test_welfare_against_a_parameter_has_means_and_bands(frames: Frames) -> None:
    halves = replace(frames, runs=frames.runs.assign(rate=[0.1, 0.1, 0.1, 0.1]))
    ax = figures.welfare_against(halves, "rate")
    final = last_step(frames.steps).set_index("run")["welfare"]
    expected = {"NoPayments": final[[0, 2]].mean(), "ContributionSubsidy": final[[1, 3]].mean()}
    drawn = {float(line.get_ydata()[0]) for line in ax.lines if len(line.get_ydata())}
    assert sorted(drawn) == pytest.approx(sorted(expected.values()))
    assert legend(ax) == set(expected)
    assert "n = 4 runs, 2 per point" in ax.get_xlabel()
    low, high = confidence(final[[0, 2]])
    assert np.isnan([low, high]).all()  # two runs are too few for a band
    assert "95% interval: from 10 runs on" in ax.get_ylabel()
    low, high = confidence(final[[0, 2]], noise="normal")
    half = 12.706 * final[[0, 2]].std() / np.sqrt(2)
    assert (low, high) == pytest.approx((final[[0, 2]].mean() - half, final[[0, 2]].mean() + half), rel=1e-4)
    assert np.isnan(confidence(pd.Series([1.0]))).all()


def test_whole_numbers_have_whole_ticks(frames: Frames) -> None:
    ax = figures.welfare_against(replace(frames, runs=frames.runs.assign(owners=[6, 6, 12, 12])), "owners")
    assert all(tick == int(tick) for tick in ax.get_xticks())


def test_welfare_against_words_is_refused(frames: Frames) -> None:
    with pytest.raises(InputError, match="must hold numbers, got 'none'; use mechanism_bars"):
        figures.welfare_against(frames, "label")


def test_bars_are_means_over_runs_with_their_spread(frames: Frames) -> None:
    runs, steps = (
        pd.concat([frame.assign(run=frame["run"] + 4 * k) for k in range(6)], ignore_index=True)
        for frame in (frames.runs, frames.steps)
    )
    many = replace(frames, runs=runs, steps=steps.assign(welfare=np.random.default_rng(0).normal(3.0, size=len(steps))))
    ax = figures.mechanism_bars(many)
    final = last_step(many.steps).merge(many.runs[["run", "label"]], on="run").groupby("label", sort=False)["welfare"]
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx(final.mean().to_list())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["none", SUBSIDY]
    spreads = [np.ptp(part.get_segments()[0][:, 1]) for part in ax.collections if hasattr(part, "get_segments")]
    assert spreads == pytest.approx([np.ptp(confidence(part)) for _, part in final])
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert "n = 24 runs, 12 per bar" in ax.get_xlabel()
    assert "95% interval" in ax.get_ylabel()
    assert "from 10 runs on" in figures.mechanism_bars(frames).get_ylabel()


def test_bars_of_single_runs_do_not_speak_of_intervals(one: Frames) -> None:
    assert "interval" not in figures.mechanism_bars(one).get_ylabel()


def sweep(frames: Frames) -> Frames:
    """Four runs on a grid of two parameters, with welfare 1 to 4; the cell at rate 0.1 and size 10 is empty."""
    steps = frames.steps.assign(welfare=1.0 + frames.steps["run"])
    runs = frames.runs.assign(rate=[0.0, 0.0, 0.1, 0.0], size=[10, 20, 20, 20])
    return replace(frames, runs=runs, steps=steps)


def test_a_heat_map_has_the_mean_of_every_cell_and_leaves_empty_ones_empty(frames: Frames) -> None:
    ax = figures.heat_map(sweep(frames), "rate", "size")
    values = ax.collections[0].get_array()
    assert values.filled(-1.0).tolist() == [[1.0, -1.0], [3.0, 3.0]]  # rows are sizes; (2 + 4) / 2 = 3
    assert [text.get_text() for text in ax.texts] == ["1", "3", "3"]
    assert [[tick.get_text() for tick in ticks] for ticks in (ax.get_xticklabels(), ax.get_yticklabels())] == [
        ["0", "0.1"],
        ["10", "20"],
    ]
    assert "1 to 2 per cell" in ax.get_xlabel()
    with pytest.raises(InputError, match="two parameters, got 'rate' twice"):
        figures.heat_map(frames, "rate", "rate")


def test_a_heat_map_of_a_continuous_design_has_bins(frames: Frames) -> None:
    """400 points of a square: as many cells as there are bins, each the mean of its own, and the axes say so."""
    rng = np.random.default_rng(0)
    rate, size = rng.uniform(0.0, 1.2, 400), rng.uniform(0.0, 12.0, 400)
    rate[:2], size[:2] = (0.0, 1.2), (0.0, 12.0)
    runs = pd.concat([frames.runs.iloc[:1]] * 400, ignore_index=True).assign(run=range(400), rate=rate, size=size)
    steps = pd.concat([frames.steps.iloc[:1]] * 400, ignore_index=True).assign(run=range(400), welfare=np.floor(size))
    ax = figures.heat_map(replace(frames, runs=runs, steps=steps), "rate", "size")
    values = ax.collections[0].get_array()
    assert values.shape == (12, 12)
    assert all(np.ptp(row.compressed()) == 0 for row in values[:-1])  # the last bin has the upper end in it
    assert [row.compressed()[0] for row in values[:-1]] == list(range(11))
    assert "rate (12 bins)" in ax.get_xlabel()
    assert ax.get_ylabel() == "size (12 bins)"


def test_heat_maps_side_by_side_have_one_scale(frames: Frames) -> None:
    figure = figures.heat_maps(sweep(frames), "rate", "size")
    maps = [ax.collections[0] for ax in figure.axes[:2]]
    assert [ax.get_title() for ax in figure.axes[:2]] == ["NoPayments", "ContributionSubsidy"]
    assert {one.get_clim() for one in maps} == {(1.0, 3.0)}
    assert [one.get_array().filled(-1.0).tolist() for one in maps] == [
        [[1.0, -1.0], [-1.0, 3.0]],
        [[-1.0, -1.0], [3.0, -1.0]],
    ]
    assert len(figure.axes) == 3  # and one bar of colours
    assert figures.heat_maps(Frames.join([]), "seed", "owners").axes


def test_boxes_hold_the_middle_half_and_whiskers_nine_tenths(frames: Frames) -> None:
    ax = plt.subplots()[1]
    lying_box(ax, 0.0, np.arange(101.0), "0.5")
    box = ax.patches[0]
    assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((25.0, 75.0))
    ends = [line.get_xdata()[-1] for line in ax.lines]
    assert ends == pytest.approx([50.0, 5.0, 5.0, 95.0, 95.0])


def test_ellipses_are_one_standard_deviation(frames: Frames) -> None:
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    owners = frames.owners.iloc[:4].assign(run=0, step=1, owner=range(4), utility=points[:, 0], accuracy=points[:, 1])
    ax = figures.accuracy_utility(replace(frames, owners=owners))
    (ellipse,) = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert ellipse.get_center() == pytest.approx((1.0, 0.5))
    assert sorted([ellipse.width, ellipse.height]) == pytest.approx([2 * np.sqrt(1 / 3), 2 * np.sqrt(4 / 3)])
    assert marks(ax) == 4


def test_no_ellipse_around_two_owners(one: Frames) -> None:
    ax = figures.accuracy_utility(replace(one, owners=one.owners[one.owners["owner"] < 2]))
    assert not [patch for patch in ax.patches if isinstance(patch, Ellipse)]


def test_utilities_are_boxes_with_dots_by_label(frames: Frames) -> None:
    ax = figures.utility_distribution(frames)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["none", SUBSIDY]
    assert marks(ax) == 24
    assert "12 per box" in ax.get_xlabel()


def test_the_heat_map_shows_the_numbers(frames: Frames) -> None:
    table = figures.gain_table(frames, "none")
    assert table.loc[0, ["contribution gain", "accuracy gain", "welfare gain"]].tolist() == [1.0, 1.0, 1.0]
    final = last_step(frames.steps).set_index("run")["contribution"]
    assert table["contribution gain"].iloc[1] == pytest.approx(final[[1, 3]].sum() / final[[0, 2]].sum())
    assert table["runs"].tolist() == [2, 2]
    ax = figures.heat_table(table, "label", ["welfare gain"])
    assert [text.get_text() for text in ax.texts] == [f"{value:.3g}" for value in table["welfare gain"]]
    with pytest.raises(InputError, match=r"no runs are called 'nonne'; did you mean 'none'"):
        figures.gain_table(frames, "nonne")


def test_a_heat_map_survives_infinite_and_missing_numbers() -> None:
    table = pd.DataFrame({"rule": ["a", "b", "c"], "gain": [1.0, np.inf, np.nan], "same": 2.0})
    ax = figures.heat_table(table, "rule")
    assert [text.get_text() for text in ax.texts] == ["1", "2", "inf", "2", "nan", "2"]


def test_offers_run_between_alone_and_together() -> None:
    """Karimireddy et al. 2022, Figure 3: what is returned lies between what an owner has alone and the full model."""
    game = fedabm.Game(PowerLaw(exponent=0.5), [0.01, 0.02], 60.0, ValueShaping())
    profile = fedabm.solve(game).profile
    curves = figures.offer_frame(ValueShaping(), game.accuracy, profile, np.linspace(0, 60, 31), costs=game.costs)
    wide = curves.pivot(index="contribution", columns="curve", values="value")
    returned = wide["returned by the mechanism"]
    assert (returned >= wide["alone"] - 1e-12).all()
    assert (returned <= wide["with everybody's data"] + 1e-12).all()
    ax = figures.value_shaping(curves)
    assert legend(ax) == set(wide.columns) == {"alone", "with everybody's data", "returned by the mechanism"}
    paid = figures.offer_frame(ContributionSubsidy(0.1), PowerLaw(), [1.0, 3.0], [0.0, 5.0])
    assert paid.loc[paid["curve"] == "payment", "value"].tolist() == pytest.approx([-0.3, 0.2])


def test_panels_side_by_side_share_one_legend(frames: Frames) -> None:
    figure = figures.side_by_side(frames, figures.contributions_over_time)
    assert isinstance(figure, Figure)
    assert [ax.get_title() for ax in figure.axes] == ["none", SUBSIDY]
    assert not any(ax.get_legend() for ax in figure.axes)
    (shared,) = figure.legends
    assert {text.get_text() for text in shared.get_texts()} == set(frames.owners["strategy"].astype(str))
    few = figures.side_by_side(frames, figures.contributions_over_time, by="run", most=3)
    assert "3 of 4 shown" in few.axes[0].get_title()


def test_owner_bars_have_one_bar_per_owner_run_and_quantity(frames: Frames) -> None:
    figure = figures.owner_bars(frames, {"contribution": "contribution (samples)", "utility": "utility"})
    assert len(figure.axes) == 8
    assert [len(ax.patches) for ax in figure.axes] == [6] * 8
    assert "n = 6 owners" in figure.axes[-1].get_xlabel()
    assert len(figures.owner_bars(Frames.join([]), {"utility": "utility"}).axes) == 1


def test_at_most_twelve_owners_are_named_below_the_bars(large: Frames) -> None:
    (ax,) = figures.owner_bars(large, {"utility": "utility"}).axes
    assert len(ax.patches) == 1000
    assert len(ax.get_xticks()) <= 12


def test_how_many_counts_owners_and_runs() -> None:
    rows = pd.DataFrame({"run": [0, 0, 1], "owner": [0, 1, 0]})
    assert how_many(rows) == "n = 3 owners of 2 runs"
    assert how_many(rows[rows["run"] == 1]) == "n = 1 owner"
    assert how_many(rows[["run"]]) == "n = 2 runs"
