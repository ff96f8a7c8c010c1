"""Drawings of a model-sharing market: who pays whom, in which role, and who is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from fedabm.analysis.looks import strategy_looks

__all__ = ["lie_lines", "money_picture", "role_colours", "role_markers"]

#: from left to right, as money flows
_COLUMNS = {"buyer": 0.0, "trader": 1.0, "seller": 2.0, "attacker": 2.0}
#: colour, marker and column by role; roles look the same in all figures
_LOOKS = {role: (look.colour, look.marker, _COLUMNS[role]) for role, look in strategy_looks(_COLUMNS).items()}
_ALONE = -0.22


def role_colours(roles: Sequence[str]) -> list[str]:
    """One colour per owner, the same in every figure.

    Parameters
    ----------
    roles : Sequence[str]
        The role of each owner, such as "trader", "buyer", "seller" or "attacker".

    Returns
    -------
    list[str]
        One per owner.
    """
    return [_LOOKS[role][0] for role in roles]


def role_markers(roles: Sequence[str]) -> list[str]:
    """One marker per owner, the same in every figure.

    Parameters
    ----------
    roles : Sequence[str]
        The role of each owner, such as "trader", "buyer", "seller" or "attacker".

    Returns
    -------
    list[str]
        One per owner.
    """
    return [_LOOKS[role][1] for role in roles]


def money_picture(graph: nx.DiGraph, title: str) -> Figure:
    """Buyers on the left, traders in the middle, sellers on the right; an arrow is money, from payer to payee.

    Width is the amount; below a name stands what the owner earned or paid in all.  Owners that trade with nobody are
    hollow and stand below the line.

    Parameters
    ----------
    graph : nx.DiGraph
        A market, as `market_graph` makes it.
    title : str
        Above it.

    Returns
    -------
    Figure
        The figure.
    """
    sns.set_theme(style="white", context="paper")
    figure, panel = plt.subplots(figsize=(8.0, 6.4))
    places = _places(graph)
    most = max((amount for *_, amount in graph.edges(data="amount")), default=1.0)
    for payer, payee, amount in sorted(graph.edges(data="amount"), key=lambda edge: edge[2]):
        _arrow(panel, places, graph.nodes[payer]["role"], (payer, payee), amount / most)
    for node in graph:
        _owner(panel, graph, node, places[node])
    _dress(panel, graph, title, most)
    return figure


def _places(graph: nx.DiGraph) -> dict[str, tuple[float, float]]:
    """Columns by role, spread over the height; isolated owners side by side below."""
    places: dict[str, tuple[float, float]] = {}
    for column in (0.0, 1.0, 2.0):
        members = [n for n in graph if _LOOKS[graph.nodes[n]["role"]][2] == column and graph.degree(n)]
        heights = 1.0 - (np.arange(len(members)) + 0.5) / max(len(members), 1)
        # Bent outwards, and in the middle zigzag, so that no arrow runs through a third owner of its column.
        zigzag, bow = 0.16 * (-1.0) ** np.arange(len(members)), 0.12 * np.sin(np.pi * heights)
        bend = zigzag if column == 1.0 else (column - 1.0) * bow
        places |= {node: (column + float(b), float(h)) for node, b, h in zip(members, bend, heights, strict=True)}
    alone = [n for n in graph if not graph.degree(n)]
    offset = 1.0 - 0.25 * (len(alone) - 1)
    return places | {node: (offset + 0.5 * k, _ALONE) for k, node in enumerate(alone)}


def _arrow(panel: Axes, places: dict, role: str, ends: tuple[str, str], share: float) -> None:
    start, end = (places[node] for node in ends)
    arrow = FancyArrowPatch(
        start,
        end,
        connectionstyle="arc3,rad=0.12",
        arrowstyle="-|>",
        mutation_scale=7 + 6 * share,
        linewidth=0.6 + 4.4 * share,
        color=_LOOKS[role][0],
        alpha=0.35 + 0.45 * share,
        shrinkA=13,
        shrinkB=15,
        zorder=1,
    )
    panel.add_patch(arrow)


def _owner(panel: Axes, graph: nx.DiGraph, node: str, place: tuple[float, float]) -> None:
    colour, marker, _ = _LOOKS[graph.nodes[node]["role"]]
    alone = not graph.degree(node)
    face = "white" if alone else colour
    panel.scatter(*place, s=430, marker=marker, color=[face], edgecolor=[colour], linewidth=2, zorder=2)
    number, style = str(graph.nodes[node]["owner"]), {"ha": "center", "va": "center", "zorder": 3}
    if not alone:
        panel.text(*place, number, color="white", weight="bold", fontsize=10, **style)
    net = graph.in_degree(node, weight="amount") - graph.out_degree(node, weight="amount")
    note = f"{number}: alone" if alone else f"{net:+.1f}"
    box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    panel.annotate(note, place, (0, -21), textcoords="offset points", fontsize=9, bbox=box, **style)


def _dress(panel: Axes, graph: nx.DiGraph, title: str, most: float) -> None:
    present = [role for role in _LOOKS if any(graph.nodes[n]["role"] == role for n in graph)]
    handles = [
        Line2D([], [], marker=_LOOKS[role][1], color=_LOOKS[role][0], linestyle="none", markersize=9, label=role)
        for role in present
    ]
    handles += [Line2D([], [], color="0.4", linewidth=0.6 + 4.4 * s, label=f"paid {s * most:.3g}") for s in (1.0, 0.25)]
    panel.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=len(handles), frameon=False)
    panel.axhline(_ALONE / 2 - 0.02, color="0.8", linestyle=":", linewidth=1)
    for name, column in (("buy models", 0.0), ("buy and sell", 1.0), ("sell models", 2.0)):
        panel.text(column, 1.06, name, ha="center", color="0.35", fontsize=10)
    panel.set(xlim=(-0.35, 2.35), ylim=(_ALONE - 0.1, 1.12))
    panel.set_title(title, loc="left", pad=14)
    panel.set_axis_off()


def lie_lines(lies: pd.DataFrame) -> Figure:
    """What a liar gains over the truth against the factor of its lie, one panel per lie, one line per owner.

    Parameters
    ----------
    lies : pd.DataFrame
        One row per lie, factor and owner, with its gain.

    Returns
    -------
    Figure
        The figure.
    """
    sns.set_theme(style="whitegrid", context="paper")
    kinds = list(dict.fromkeys(lies["lie"]))
    figure, panels = plt.subplots(1, len(kinds), figsize=(3.6 * len(kinds), 3.2), squeeze=False)
    for panel, kind in zip(panels[0], kinds, strict=True):
        for (_, role), line in lies[lies["lie"] == kind].groupby(["owner", "role"]):
            colour, marker, _ = _LOOKS[role]
            panel.plot(
                line["factor"],
                line["change"],
                color=colour,
                marker=marker,
                markersize=4,
                alpha=0.8,
                label=role,
                clip_on=False,
            )
        panel.axvline(1.0, color="0.3", linewidth=0.8)
        panel.axhline(0.0, color="0.3", linewidth=0.8)
        panel.set(xscale="log", title=f"{kind} misreported", xlabel="reported / true")
        panel.set_yscale("symlog", linthresh=1.0)
    panels[0][0].set_ylabel("change of the liar's utility")
    found = {label: h for p in panels[0] for h, label in zip(*p.get_legend_handles_labels(), strict=True)}
    figure.legend(
        found.values(), found.keys(), loc="lower center", ncol=len(found), bbox_to_anchor=(0.5, -0.07), frameon=False
    )
    figure.tight_layout()
    return figure
