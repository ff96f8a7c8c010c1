"""What holds for every figure: axes that say what, unit and how many; empty, tiny, large and foreign frames."""

from __future__ import annotations

import doctest
import importlib
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

import fedabm
from fedabm import Frames, InputError
from fedabm.analysis import figures
from fedabm.comparison import Comparison
from tests.analysis.marks import marks, words
from tests.conftest import run, two_owners

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
    "money_by_strategy": lambda f: figures.money_by_strategy(f.owners),
    "collaboration_graph": lambda f: figures.collaboration_graph(f.owners),
    "best_response_cycle": lambda f: figures.best_response_cycle(f.owners),
    "heat_map": lambda f: figures.heat_map(f, "rate", "seed"),
    "heat_table": lambda f: figures.heat_table(f.runs, "label", ["gap", "steps"]),
    "value_shaping": lambda f: figures.value_shaping(f.owners.assign(curve="alone", value=f.owners["accuracy"])),
}
#: these show one run
SINGLE = ("money_graph", "collaboration_graph", "best_response_cycle", "value_shaping")


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
        "money_by_strategy": (one.owners,),
        "collaboration_graph": (one.owners,),
        "best_response_cycle": (one.owners,),
        "heat_map": (one, "rate", "seed"),
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
    helpers = (*tables, "mechanism_looks", "strategy_looks", "side_by_side", "owner_bars", "heat_maps")
    assert {name.split(",")[0] for name in DRAWN} == set(figures.__all__) - set(helpers)
    assert all(inspect.getdoc(getattr(figures, name)) for name in figures.__all__)


@pytest.mark.parametrize("name", ["cycles", "looks", "outcomes", "rows"])
def test_examples_in_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"fedabm.analysis.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_figures_do_not_change_the_style_of_others(one: Frames) -> None:
    before = dict(plt.rcParams)
    figures.contributions_over_time(one)
    figures.side_by_side(one, figures.accuracy_utility)
    assert dict(plt.rcParams) == before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*DRAWN, "side_by_side", "owner_bars", "heat_maps", "compare"])
def test_no_figure_uses_what_is_going_away(name: str, frames: Frames, one: Frames, tmp_path: Path) -> None:
    """Deprecations of Matplotlib, seaborn and pandas are errors here, also while the figure is written."""
    more = {
        "side_by_side": lambda f: figures.side_by_side(f, figures.contributions_over_time),
        "owner_bars": lambda f: figures.owner_bars(f, {"utility": "utility"}),
        "heat_maps": lambda f: figures.heat_maps(f, "rate", "seed"),
        "compare": lambda f: Comparison(f).figure(),
    }
    drawn = {**DRAWN, **more}[name](one if name in SINGLE else frames)
    figure = drawn.figure if isinstance(drawn, Axes) else drawn
    figure.savefig(tmp_path / "figure.png", dpi=30)
    plt.close(figure)
