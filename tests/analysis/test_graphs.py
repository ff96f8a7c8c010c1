"""Money graphs, collaboration graphs and cycles: one arrow per pair, one run each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import FancyArrowPatch

from fedabm import Frames, InputError
from fedabm.analysis import figures
from fedabm.analysis.cycles import period
from fedabm.analysis.rows import last_step
from fedabm.strategies import FreeRider
from tests.analysis.marks import legend
from tests.conftest import run, two_owners


def test_the_money_graph_has_an_arrow_per_payer_and_payee(one: Frames) -> None:
    ax = figures.money_graph(one.transfers, one.owners)
    pairs = one.transfers[["payer", "payee"]].drop_duplicates()
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == len(pairs) > 0
    assert {"server", *map(str, range(6))} <= {text.get_text() for text in ax.texts}
    assert set(one.owners["strategy"].astype(str)) <= legend(ax)
    assert any(entry.startswith("paid") for entry in legend(ax))


def test_one_scale_makes_arrows_of_several_panels_comparable(one: Frames) -> None:
    def widest(heaviest: float | None) -> float:
        ax = figures.money_graph(one.transfers, one.owners, heaviest=heaviest)
        return max(patch.get_linewidth() for patch in ax.patches if isinstance(patch, FancyArrowPatch))

    most = one.transfers.groupby(["payer", "payee"])["amount"].sum().max()
    assert widest(None) == widest(most) > widest(10 * most)


def test_money_by_strategy_has_an_arrow_for_each_that_pays_or_is_paid(one: Frames) -> None:
    last = last_step(one.owners)
    ax = figures.money_by_strategy(last)
    means = last.groupby(last["strategy"].astype(str))["payment"].mean()
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == (means.abs() > 1e-12).sum() > 0
    assert [text.get_text() for text in ax.texts] == [f"{mean:+.2f}" if abs(mean) >= 0.005 else "0" for mean in means]


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


def test_no_name_covers_an_owner(one: Frames) -> None:
    """Markers of 230 square points are 7.6 points high above their middle; text ends farther away."""
    named = one.owners.assign(name=one.owners["owner"].map("County Hospital {}".format))
    ax = figures.collaboration_graph(named, np.ones((6, 6)) - np.eye(6))
    ax.figure.canvas.draw()
    dots = [part.get_offsets()[0] for part in ax.collections]
    unit = ax.figure.dpi / 72
    for text, dot in zip(ax.texts, dots, strict=True):
        (x, y), box = ax.transData.transform(dot), text.get_window_extent()
        away = np.hypot(max(box.x0 - x, 0, x - box.x1), max(box.y0 - y, 0, y - box.y1))
        assert away >= 7.6 * unit, text.get_text()


def test_owners_with_models_of_their_own_need_an_adjacency(one: Frames) -> None:
    with pytest.raises(
        InputError,
        match=r"import each other's models.*got no adjacency; give fedabm.results.market_graphs.import_table",
    ):
        figures.collaboration_graph(one.owners.assign(imports=1))


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
