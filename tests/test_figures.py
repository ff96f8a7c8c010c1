"""Figures show what the frames say: what is drawn for whom, labels, legends, number of marks; never pixels."""

from __future__ import annotations

import doctest
import importlib
import inspect
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch

import fedabm
from fedabm import Frames, InputError, Scenario, mechanisms, population, strategies
from fedabm.accuracy import PowerLaw
from fedabm.analysis import figures
from fedabm.analysis.cycles import period
from fedabm.analysis.looks import kind_of, mechanism_looks, strategy_looks
from fedabm.analysis.outcomes import confidence
from fedabm.analysis.over_time import FLOOR
from fedabm.analysis.rows import how_many, last_step
from fedabm.mechanisms import ContributionSubsidy, NoPayments, ValueShaping
from fedabm.names import kinds
from fedabm.strategies import BestResponse, FreeRider, GradientResponse, Honest, Liar, Quitter, Random
from tests.conftest import run, two_owners

SUBSIDY = "subsidy"
STRATEGIES = (
    *(BestResponse(0.5), FreeRider(), Honest(), Liar(BestResponse(), contribution_factor=2.0)),
    *(Quitter(GradientResponse(1.0), tolerance=10.0), Random()),
)


@pytest.fixture(scope="module")
def frames() -> Frames:
    """Two mechanisms, two seeds each, on the same six owners."""
    owners = population(np.linspace(0.01, 0.05, 6), 10.0, list(STRATEGIES))
    parts = []
    for seed in (0, 1):
        for label, mechanism in (("none", NoPayments()), (SUBSIDY, ContributionSubsidy(0.01))):
            scenario = Scenario(owners, PowerLaw(), mechanism, steps=5)
            parts.append(run(scenario, seed).frames(label))
    joined = Frames.join(parts)
    return replace(joined, runs=joined.runs.assign(rate=[0.0, 0.1, 0.2, 0.3]))


@pytest.fixture(scope="module")
def one(frames: Frames) -> Frames:
    return figures.of_runs(frames, [1])


#: every figure of frames: how to draw it
DRAWN: dict[str, Any] = {
    "contributions_over_time": figures.contributions_over_time,
    "convergence": figures.convergence,
    "against_contribution": figures.against_contribution,
    "against_contribution, payments": lambda f: figures.against_contribution(f, "payment"),
    "welfare_against": lambda f: figures.welfare_against(f, "rate"),
    "mechanism_bars": figures.mechanism_bars,
    "accuracy_utility": figures.accuracy_utility,
    "utility_distribution": figures.utility_distribution,
    "money_graph": lambda f: figures.money_graph(f.transfers, f.owners),
    "collaboration_graph": lambda f: figures.collaboration_graph(f.owners),
    "best_response_cycle": lambda f: figures.best_response_cycle(f.owners),
    "heat_table": lambda f: figures.heat_table(f.runs, "label", ["gap", "steps"]),
    "value_shaping": lambda f: figures.value_shaping(f.owners.assign(curve="alone", value=f.owners["accuracy"])),
}
#: these show one run
SINGLE = ("money_graph", "collaboration_graph", "best_response_cycle", "value_shaping")


def words(ax: Axes) -> str:
    """All that stands on and around the axes."""
    return " ".join([ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), *(text.get_text() for text in ax.texts)])


def legend(ax: Axes) -> set[str]:
    shown = ax.get_legend()
    return {text.get_text() for text in shown.get_texts()} if shown else set()


def marks(ax: Axes) -> int:
    """How many dots scatter plots have."""
    return sum(len(part.get_offsets()) for part in ax.collections if isinstance(part, PathCollection))


# What holds for every figure


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_returns_axes_that_say_what_unit_and_how_many(name: str, frames: Frames, one: Frames) -> None:
    ax = DRAWN[name](one if name in SINGLE else frames)
    assert isinstance(ax, Axes)
    assert "n = " in words(ax)
    if ax.axison:
        assert ax.get_xlabel()
        assert ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_takes_the_axes_it_is_given(name: str, one: Frames) -> None:
    given = plt.subplots()[1]
    module = {"against_contribution, payments": "against_contribution"}.get(name, name)
    arguments = {
        "welfare_against": (one, "rate"),
        "money_graph": (one.transfers,),
        "collaboration_graph": (one.owners,),
        "best_response_cycle": (one.owners,),
        "heat_table": (one.runs, "label"),
        "value_shaping": (one.owners.assign(curve="alone", value=one.owners["accuracy"]),),
    }.get(module, (one,))
    assert getattr(figures, module)(*arguments, ax=given) is given


@pytest.mark.parametrize("name", DRAWN)
def test_empty_frames_give_axes_that_say_so(name: str) -> None:
    empty = Frames.join([])
    ax = DRAWN[name](replace(empty, runs=empty.runs.assign(rate=[])))
    assert "n = 0" in words(ax)
    assert marks(ax) == 0
    assert not ax.lines


@pytest.mark.parametrize("name", DRAWN)
def test_one_run_of_one_owner_and_step_is_enough(name: str) -> None:
    frames = run(replace(two_owners(steps=1), owners=two_owners().owners[:1])).frames("alone")
    ax = DRAWN[name](replace(frames, runs=frames.runs.assign(rate=0.1)))
    ax.figure.canvas.draw()
    assert "n = " in words(ax)


@pytest.mark.parametrize("name", DRAWN)
def test_ten_thousand_rows_are_drawn(name: str, large: Frames) -> None:
    ax = DRAWN[name](large)
    ax.figure.canvas.draw()
    assert "n = " in words(ax)


@pytest.fixture(scope="module")
def large() -> Frames:
    """One run of 1,000 owners over ten steps: 10,000 rows of owners and of transfers."""
    rng, n, steps = np.random.default_rng(0), 1000, 10
    size = n * steps
    base = run(two_owners(steps=steps)).frames("large")
    owners = pd.DataFrame({name: rng.uniform(0, 1, size) for name in base.owners})
    owners["run"], owners["capacity"], owners["stayed"] = 0, 1.0, True
    owners["step"], owners["owner"] = np.repeat(np.arange(1, steps + 1), n), np.tile(np.arange(n), steps)
    owners["strategy"] = pd.Categorical(np.tile(rng.choice(["honest", "liar(honest)", "new_one"], n), steps))
    transfers = pd.DataFrame({"run": 0, "step": owners["step"], "payer": owners["owner"], "payee": -1})
    transfers["payee"] = (owners["owner"] + 1) % n
    transfers = transfers.assign(amount=owners["utility"], reason="test")
    steps_frame = (
        base.steps.iloc[:1].drop(columns="step").merge(pd.DataFrame({"step": range(1, steps + 1)}), how="cross")
    )
    return Frames(base.runs.assign(rate=0.5), steps_frame.assign(moved=0.1), owners, transfers)


@pytest.mark.parametrize("name", DRAWN)
def test_frames_that_lack_columns_are_refused_in_one_line(name: str, one: Frames) -> None:
    bare = Frames(*(getattr(one, part)[["run"]] for part in ("runs", "steps", "owners", "transfers")))
    draw = (lambda frames: figures.value_shaping(frames.owners)) if name == "value_shaping" else DRAWN[name]
    with pytest.raises(InputError, match=r"lacks .*it has .*fedabm\.load") as caught:
        draw(bare)
    assert "\n" not in str(caught.value)


def test_frames_of_another_version_say_which(one: Frames) -> None:
    old = replace(one, runs=one.runs.assign(fedabm="0.0.1"), owners=one.owners.drop(columns="utility"))
    with pytest.raises(
        InputError, match=r"lacks utility.*written by fedabm 0\.0\.1.*with fedabm " + fedabm.__version__
    ):
        figures.utility_distribution(old)
    same = replace(one, owners=one.owners.drop(columns="utility"))
    with pytest.raises(InputError) as caught:
        figures.utility_distribution(same)
    assert "written by" not in str(caught.value)
    figures.utility_distribution(replace(one, runs=one.runs.assign(fedabm="0.0.1")))


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(InputError, match="owners must be a pandas frame, got NoneType"):
        figures.contributions_over_time({"owners": []})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="transfers must be a pandas frame, got list"):
        figures.money_graph([])  # type: ignore[arg-type]


def test_all_figures_of_the_module_are_tested_and_documented() -> None:
    tables = ("gain_table", "offer_frame", "last_step", "of_runs", "strategy_colours")
    helpers = (*tables, "mechanism_looks", "strategy_looks", "side_by_side", "owner_bars")
    assert {name.split(",")[0] for name in DRAWN} == set(figures.__all__) - set(helpers)
    assert all(inspect.getdoc(getattr(figures, name)) for name in figures.__all__)


@pytest.mark.parametrize("name", ["cycles", "looks", "outcomes", "rows"])
def test_examples_in_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"fedabm.analysis.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


# One look each


def test_looks_do_not_depend_on_who_else_is_there() -> None:
    for looks, names in ((strategy_looks, kinds(strategies)), (_by_mechanism, _mechanism_names())):
        together = looks(list(names))
        assert together == {name: looks([name])[name] for name in names}


def _by_mechanism(names: list[str]) -> dict[str, Any]:
    return mechanism_looks({name: name for name in names})


def _mechanism_names() -> list[str]:
    return [kind.__name__ for kind in kinds(mechanisms).values()]


@pytest.mark.parametrize("looks", [strategy_looks(kinds(strategies)), _by_mechanism(_mechanism_names())])
def test_looks_differ_in_colour_and_without_colour(looks: dict[str, Any]) -> None:
    assert len({look.colour for look in looks.values()}) == len(looks)
    assert len({(look.dashes, look.hatch, look.marker) for look in looks.values()}) == len(looks)


def test_colours_can_be_told_apart_by_colour_blind_readers() -> None:
    """The first colours of both palettes, seen with protanopia and deuteranopia (Vienot et al. 1999), stay apart."""
    protan = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    deutan = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    names = ["best_response", "gradient_response", "honest", "free_rider", "liar"]
    colours = np.array([to_rgb(look.colour) for look in strategy_looks(names).values()]) ** 2.2
    for matrix in (protan, deutan):
        seen = np.clip(colours @ matrix.T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(len(names), 1)]
        assert apart.min() > 0.08


def test_a_wrapper_has_the_look_of_its_kind_and_relatives_differ() -> None:
    assert strategy_looks(["liar(honest)"])["liar(honest)"] == strategy_looks(["liar"])["liar"]
    two = strategy_looks(["liar(honest)", "liar(best_response)"])
    assert len(set(two.values())) == 2
    rates = mechanism_looks({f"subsidy {r}": f"ContributionSubsidy(rate={r})" for r in range(9)})
    assert len({look.marker for look in rates.values()}) == 9
    assert kind_of("ContributionSubsidy(rate=0.1)") == "ContributionSubsidy"


def test_unknown_names_have_looks_too() -> None:
    assert strategy_looks(["my_own"]) == strategy_looks(["my_own"])
    assert len(set(strategy_looks([f"mine_{k}" for k in range(20)]).values())) == 20


# What is drawn for whom


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
    half = 12.706 * final[[0, 2]].std() / np.sqrt(2)
    assert (low, high) == pytest.approx((final[[0, 2]].mean() - half, final[[0, 2]].mean() + half), rel=1e-4)
    assert np.isnan(confidence(pd.Series([1.0]))).all()


def test_welfare_against_words_is_refused(frames: Frames) -> None:
    with pytest.raises(InputError, match="must hold numbers, got 'none'; use mechanism_bars"):
        figures.welfare_against(frames, "label")


def test_bars_are_means_over_runs_with_their_spread(frames: Frames) -> None:
    ax = figures.mechanism_bars(frames)
    final = (
        last_step(frames.steps).merge(frames.runs[["run", "label"]], on="run").groupby("label", sort=False)["welfare"]
    )
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx(final.mean().to_list())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["none", SUBSIDY]
    spreads = [np.ptp(part.get_segments()[0][:, 1]) / 2 for part in ax.collections if hasattr(part, "get_segments")]
    assert spreads == pytest.approx(final.std().to_list())
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert "n = 4 runs, 2 per bar" in ax.get_xlabel()


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


def test_the_money_graph_has_an_arrow_per_payer_and_payee(one: Frames) -> None:
    ax = figures.money_graph(one.transfers, one.owners)
    pairs = one.transfers[["payer", "payee"]].drop_duplicates()
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == len(pairs) > 0
    assert {"server", *map(str, range(6))} <= {text.get_text() for text in ax.texts}
    assert set(one.owners["strategy"].astype(str)) <= legend(ax)
    assert any(entry.startswith("paid") for entry in legend(ax))


def test_only_the_largest_accounts_of_a_big_market_are_drawn(large: Frames) -> None:
    ax = figures.money_graph(large.transfers, large.owners, most=10)
    assert len(ax.texts) == 10
    assert "n = 1,000 owners" in ax.get_title()
    assert "10 largest shown" in ax.get_title()


def test_the_collaboration_graph_follows_the_adjacency(one: Frames) -> None:
    adjacency = np.zeros((6, 6))
    adjacency[0, 1], adjacency[2, 1] = 0.5, 1.0
    ax = figures.collaboration_graph(one.owners, adjacency)
    assert len([patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]) == 2
    shared = figures.collaboration_graph(one.owners)
    giving = (last_step(one.owners)["contribution"] > 0).sum()
    assert len([patch for patch in shared.patches if isinstance(patch, FancyArrowPatch)]) == giving


def test_graphs_and_cycles_are_of_one_run(frames: Frames) -> None:
    with pytest.raises(InputError, match="one run, got 2 runs"):
        figures.money_graph(frames.transfers)
    with pytest.raises(InputError, match="one run, got 4"):
        figures.best_response_cycle(frames.owners)


@pytest.mark.parametrize(
    ("path", "length"),
    [([1, 2, 3, 3], 1), ([5, 1, 2, 1, 2], 2), ([1, 2, 3, 1, 2, 3], 3), ([1, 2, 3, 4], None), ([1], None)],
)
def test_the_period_of_a_path(path: list[float], length: int | None) -> None:
    assert period(np.array(path, dtype=float)[:, None]) == length


def test_a_cycle_is_framed_and_told() -> None:
    base = run(two_owners(steps=6, strategies=FreeRider())).frames().owners.iloc[:1]
    turns = [base.assign(step=s, owner=i, contribution=10.0 * ((s + i) % 2)) for s in range(1, 7) for i in (0, 1)]
    ax = figures.best_response_cycle(pd.concat(turns))
    assert "repeats the same 2 steps" in ax.get_title()
    (frame,) = ax.patches
    assert (frame.get_x(), frame.get_width(), frame.get_height()) == (4, 2, 2)
    rest = figures.best_response_cycle(pd.concat([part.assign(contribution=3.0) for part in turns]))
    assert rest.get_title() == "comes to rest"
    assert not rest.patches


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


def test_how_many_counts_owners_and_runs() -> None:
    rows = pd.DataFrame({"run": [0, 0, 1], "owner": [0, 1, 0]})
    assert how_many(rows) == "n = 3 owners of 2 runs"
    assert how_many(rows[rows["run"] == 1]) == "n = 1 owner"
    assert how_many(rows[["run"]]) == "n = 2 runs"


def test_figures_do_not_change_the_style_of_others(one: Frames) -> None:
    before = dict(plt.rcParams)
    figures.contributions_over_time(one)
    figures.side_by_side(one, figures.accuracy_utility)
    assert dict(plt.rcParams) == before


def test_best_responders_are_drawn_alike_everywhere() -> None:
    label = BestResponse().label
    assert figures.strategy_colours([label])[label] == pytest.approx(to_rgb(strategy_looks([label])[label].colour))
