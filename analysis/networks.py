"""Who pays whom, and who learns from whom, as graphs: iPFL 2025, Figure 5, for any run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from fedabm.analysis.looks import Look, new_panel, strategy_looks
from fedabm.analysis.rows import called, needed, nothing_to_show, numbers
from fedabm.common.errors import InputError, check_whole
from fedabm.games.curves import Array
from fedabm.results.frames import shorten
from fedabm.results.graphs import import_graph, payment_graph

__all__ = ["collaboration_graph", "money_by_strategy", "money_graph"]

_SERVER = Look("#333333", "h", "", "")
_PLAIN = Look("#0173b2", "o", "", "")


def money_graph(
    transfers: pd.DataFrame,
    owners: pd.DataFrame | None = None,
    most: int = 24,
    ax: Axes | None = None,
    heaviest: float | None = None,
) -> Axes:
    """Arrows from payer to payee over all recorded steps; the wider, the more money.

    `owners` of the same run gives everybody a place and the look of its strategy.  Of more than `most` owners those
    who move most money are shown.  An arrow of `heaviest` is the widest, by default the largest one; give the same to
    several panels to compare them.

    Parameters
    ----------
    transfers : pd.DataFrame
        The frame of transfers of one run.
    owners : pd.DataFrame | None, optional
        The frame of owners of the same run.
    most : int, optional
        How many owners are shown at most.
    ax : Axes | None, optional
        Where to draw; by default new axes.
    heaviest : float | None, optional
        The amount of the widest arrow.

    Returns
    -------
    Axes
        The axes.
    """
    needed(transfers, "transfers", ["run", "step", "payer", "payee", "amount", "reason"])
    graph = payment_graph(transfers)
    return _draw(graph, "amount", owners, most, ax, "money: arrows run from payer to payee", "paid", heaviest)


def money_by_strategy(owners: pd.DataFrame, heaviest: float | None = None, ax: Axes | None = None) -> Axes:
    """Arrows between the server and the owners of each strategy: the money of a step; numbers: what one owner receives.

    Means over the steps of the frame.  An arrow of `heaviest` is the widest, by default the largest one.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners of one run.
    heaviest : float | None, optional
        The amount of the widest arrow.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    needed(owners, "owners", ["step", "owner", "strategy", "payment"])
    ax = new_panel(ax, 5.6, 5.2)
    ax.set_axis_off()
    count = numbers(owners=owners["owner"].nunique())
    ax.set_title(f"money of a step, and what an owner receives\n{count}", fontsize="medium")
    if owners.empty:
        nothing_to_show(ax, "", "")
        return ax
    groups = owners.groupby(owners["strategy"].astype(str), sort=True)["payment"]
    sums = groups.sum() / owners["step"].nunique()
    looks = strategy_looks(sums.index)
    _spokes(ax, sums, heaviest or float(sums.abs().max()), looks | {"server": _SERVER})
    for name, mean in groups.mean().items():
        _figure_beside(ax, float(mean), _circle(list(sums.index))[name])
    _legend(ax, looks, 0.0, "")
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.35, 1.35), aspect="equal")
    return ax


def _spokes(ax: Axes, sums: pd.Series, heaviest: float, looks: Mapping[str, Look]) -> None:
    """An arrow from those who pay to the server, or from the server to those who are paid."""
    places = {**_circle(list(sums.index)), "server": (0.0, 0.0)}
    for name, place in places.items():
        look, face = looks[name], looks[name].colour if sums.get(name, 1.0) else "white"
        ax.scatter(*place, s=110, marker=look.marker, color=[face], edgecolor=[look.colour], zorder=2)
    for name, amount in sums[sums.abs() > 1e-9 * heaviest].items():
        payer, payee = (name, "server") if amount < 0 else ("server", name)
        _arrow(ax, places[payer], places[payee], looks[payer].colour, min(abs(amount) / heaviest, 1.0))


def _figure_beside(ax: Axes, amount: float, place: tuple[float, float]) -> None:
    text = f"{amount:+.2f}" if abs(amount) >= 0.005 else "0"
    ax.text(1.42 * place[0], 1.24 * place[1], text, ha="center", va="center", fontsize="small")


def collaboration_graph(
    owners: pd.DataFrame, adjacency: Array | None = None, most: int = 24, ax: Axes | None = None
) -> Axes:
    """Arrows from giver to importer: data to the server and models back, or models between owners.

    With an `adjacency` (importer i, giver j) owners exchange models; without one everybody shares the server's.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners of one run.
    adjacency : Array | None, optional
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.
    most : int, optional
        How many owners are shown at most.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    needed(owners, "owners", ["run", "step", "owner", "contribution", "accuracy", "stayed"])
    if adjacency is None and "imports" in owners and owners["imports"].sum() > 0:
        raise InputError(
            "these owners import each other's models, and their frame holds only how many, got no adjacency; give "
            "fedabm.results.market_graphs.import_table(frames.transfers, owners) where imports are paid"
        )
    last = owners[owners["step"] == owners["step"].max()]
    graph = import_graph(last, adjacency=adjacency) if len(last) else nx.DiGraph()
    if adjacency is None:  # everybody gets the model back; only what is given tells owners apart
        graph.remove_edges_from([(a, b) for a, b in list(graph.edges) if a == "server"])
    words = "models: arrows run from giver to importer" if adjacency is not None else "data given to the shared model"
    return _draw(graph, "weight", owners, most, ax, words, "gave")


def _draw(
    graph: nx.DiGraph,
    weight: str,
    owners: pd.DataFrame | None,
    most: int,
    ax: Axes | None,
    words: str,
    verb: str,
    heaviest: float | None = None,
) -> Axes:
    check_whole("most", most)
    ax = new_panel(ax, 5.6, 5.2)
    known = _everybody(graph, owners)
    ax.set_axis_off()
    if not known:
        nothing_to_show(ax, "", "")
        ax.set_title(f"{words}\nn = 0 owners")
        return ax
    shown = _largest(graph, known, weight, most)
    part = graph.subgraph([*shown, *(["server"] if "server" in graph else [])])
    places, names = _places(part, shown), _strategies(owners, shown)
    by_name = strategy_looks(dict.fromkeys(names.values()))
    looks = {node: by_name.get(names.get(node, ""), _PLAIN) for node in shown} | {"server": _SERVER}
    heaviest = heaviest or max((value for *_, value in part.edges(data=weight)), default=1.0)
    for giver, taker, value in sorted(part.edges(data=weight), key=lambda edge: edge[2]):
        _arrow(ax, places[giver], places[taker], looks[giver].colour, min(value / heaviest, 1.0))
    text_of = {} if owners is None else {f"owner {n}": shorten(name, 18) for n, name in called(owners).items()}
    for node, place in places.items():
        text = text_of.get(node, node.split()[-1])
        _node(ax, place, looks[node], alone=node not in part or not part.degree(node))
        if node == "server":
            _word(ax, text, _between(len(shown)), ha="left", va="center")
        else:
            _word(ax, text, place, **_outside(*place, text))
    left = f", {len(shown)} largest shown" if len(shown) < len(known) else ""
    ax.set_title(f"{words}\n{numbers(owners=len(known))}, {graph.number_of_edges()} arrows{left}", fontsize="medium")
    _legend(ax, by_name, heaviest if part.number_of_edges() else 0.0, verb)
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
    return ax


def _everybody(graph: nx.DiGraph, owners: pd.DataFrame | None) -> list[str]:
    """All owners, those without arrows as well, in order of their numbers."""
    named = {node for node in graph if node != "server"}
    if owners is not None:
        named |= {f"owner {int(number)}" for number in needed(owners, "owners", ["owner"])["owner"].unique()}
    return sorted(named, key=lambda node: int(node.split()[-1]))


def _largest(graph: nx.DiGraph, known: list[str], weight: str, most: int) -> list[str]:
    volume = {node: graph.degree(node, weight=weight) if node in graph else 0.0 for node in known}
    chosen = sorted(known, key=lambda node: -volume[node])[:most]
    return [node for node in known if node in chosen]


def _places(part: nx.DiGraph, shown: list[str]) -> dict[str, tuple[float, float]]:
    """Owners on a circle, the server in the middle."""
    return _circle(shown) | ({"server": (0.0, 0.0)} if "server" in part else {})


def _circle(shown: list[str]) -> dict[str, tuple[float, float]]:
    """Places on a circle, from the top on."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(shown)) / max(len(shown), 1)
    return {node: (float(np.cos(a)), float(np.sin(a))) for node, a in zip(shown, angles, strict=True)}


def _strategies(owners: pd.DataFrame | None, shown: list[str]) -> dict[str, str]:
    """The strategy of each owner that is shown, where it is known."""
    if owners is None or "strategy" not in owners:
        return {}
    first = owners.drop_duplicates("owner")
    named = {f"owner {n}": str(name) for n, name in zip(first["owner"], first["strategy"], strict=True)}
    return {node: named[node] for node in shown if node in named}


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, share: float) -> None:
    style = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.1", "mutation_scale": 8 + 6 * share, "zorder": 1}
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            color=colour,
            linewidth=0.6 + 3.4 * share,
            alpha=0.35 + 0.5 * share,
            shrinkA=10,
            shrinkB=12,
            **style,
        )
    )


def _between(owners: int) -> tuple[float, float]:
    """Beside the middle, between the arrows of the first two owners."""
    angle = np.pi / 2 - np.pi / max(owners, 1)
    return 0.16 * float(np.cos(angle)), 0.16 * float(np.sin(angle))


def _node(ax: Axes, place: tuple[float, float], look: Look, *, alone: bool) -> None:
    """A marker, hollow if it has no arrow."""
    face = "white" if alone else look.colour
    ax.scatter(*place, s=230, marker=look.marker, color=[face], edgecolor=[look.colour], linewidth=1.6, zorder=2)


def _outside(x: float, y: float, text: str) -> dict[str, Any]:
    """Beyond a marker on the circle, this many points away that it touches no marker of any kind."""
    beside = abs(x) >= 0.3
    across = ("left" if x > 0 else "right") if beside and len(text) >= 4 else "center"
    along = "center" if beside else "bottom" if y > 0 else "top"
    return {"xytext": (13 * x, 13 * y), "textcoords": "offset points", "ha": across, "va": along}


def _word(ax: Axes, text: str, place: tuple[float, float], **where: Any) -> None:
    """The name or number of an owner, or the server's."""
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    ax.annotate(text, place, fontsize="small", bbox=box, zorder=3, **where)


def _legend(ax: Axes, by_name: Mapping[str, Look], heaviest: float, verb: str) -> None:
    """What markers and the arrows' widths mean."""
    handles = [
        Line2D([], [], marker=look.marker, color=look.colour, linestyle="none", markersize=9, label=name)
        for name, look in by_name.items()
    ]
    widths = (1.0, 0.25) if heaviest > 0 else ()
    handles += [
        Line2D([], [], color="0.4", linewidth=0.6 + 3.4 * w, label=f"{verb} {w * heaviest:.3g}") for w in widths
    ]
    if handles:
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncol=3, frameon=False)
