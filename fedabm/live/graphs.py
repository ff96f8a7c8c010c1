"""Who pays whom, and who gives data or models to whom, in one step, as options of ECharts."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from fedabm.analysis.looks import Look
from fedabm.live.charts import GREY, SYMBOLS, base
from fedabm.live.moments import Moment
from fedabm.live.session import WatchedRun
from fedabm.views import SERVER

__all__ = ["MOST", "collaboration", "money", "network"]

#: of more owners those with the heaviest arrows are shown
MOST = 40
#: pixels beside the circle, of which a name takes what an owner leaves; longer ones get a second line
_MARGIN = 78
_NAME = 58


def money(moment: Moment | None) -> nx.DiGraph:
    """An arrow from payer to payee with the money of a step."""
    graph = nx.DiGraph()
    if moment is not None:
        paid = moment.transfers
        for payer, payee, amount in zip(paid.payer.tolist(), paid.payee.tolist(), paid.amount.tolist(), strict=True):
            if amount > 0:
                before = graph.get_edge_data(payer, payee, {"weight": 0.0})["weight"]
                graph.add_edge(payer, payee, weight=before + amount)
    return graph


def collaboration(moment: Moment | None) -> nx.DiGraph:
    """An arrow from giver to importer: data to the server, or models between owners."""
    graph = nx.DiGraph()
    if moment is None:
        return graph
    if moment.links is None:
        given = np.flatnonzero(moment.stayed & (moment.contribution > 0)).tolist()
        graph.add_weighted_edges_from((owner, SERVER, float(moment.contribution[owner])) for owner in given)
        return graph
    members, linked = moment.links.members, moment.links.linked
    weights = np.where(linked, np.maximum(np.abs(moment.links.weights), 1e-12), 0.0)
    for importer, giver in zip(*np.nonzero(weights), strict=True):
        graph.add_edge(int(members[giver]), int(members[importer]), weight=float(weights[importer, giver]))
    return graph


def network(
    side: WatchedRun, graph: nx.DiGraph, looks: dict[str, Look], title: str, followed: int, step: int
) -> dict[str, Any]:
    """Owners on a circle, the server in the middle; the wider an arrow, the more; hollow: has left."""
    moment = side.at(step)
    owners = range(len(side.names))
    volume = {owner: graph.degree(owner, weight="weight") if owner in graph else 0.0 for owner in owners}
    shown = sorted(sorted(owners, key=lambda owner: -volume[owner])[:MOST])
    there = moment.stayed if moment is not None else np.zeros(len(side.names), dtype=bool)
    nodes = [
        _node(side, owner, place, len(shown), looks, there=bool(there[owner]), followed=owner == followed)
        for place, owner in enumerate(shown)
    ]
    if SERVER in graph:
        nodes.append(_dot(SERVER, "server", (0.0, 0.0), GREY, "roundRect", 26))
    known = {*shown, SERVER}
    edges = [(a, b, weight) for a, b, weight in graph.edges(data="weight") if a in known and b in known]
    heaviest = max((weight for *_, weight in edges), default=1.0)
    colours = {owner: looks[side.strategies[owner]].colour for owner in shown} | {SERVER: GREY}
    left = f", {len(shown)} of {len(side.names)} owners" if len(shown) < len(side.names) else ""
    return {
        **base(f"{title}{left}"),
        "tooltip": {"trigger": "item", "renderMode": "richText", "confine": True},
        "series": [
            {
                "type": "graph",
                "layout": "none",
                "preserveAspect": True,
                **{"top": 66, "bottom": 40, "left": _MARGIN, "right": _MARGIN},
                "data": nodes,
                "links": [_arrow(a, b, weight, heaviest, colours[a]) for a, b, weight in edges],
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 7,
                "label": {"show": True, "position": "bottom", "fontSize": 10, "lineHeight": 12, "color": "#202124"},
                "lineStyle": {"curveness": 0.12},
            }
        ],
    }


def _node(
    side: WatchedRun, owner: int, place: int, of: int, looks: dict[str, Look], *, there: bool, followed: bool
) -> dict[str, Any]:
    angle = np.pi / 2 - 2 * np.pi * place / of
    look = looks[side.strategies[owner]]
    name = _short(side.names[owner].removeprefix("owner "), 15 if of <= 20 else 9)
    size = 20 if of <= 20 else 13
    at = float(np.cos(angle)), float(-np.sin(angle))
    node = _dot(owner, name, at, look.colour, SYMBOLS.get(look.marker, "circle"), size)
    style = {"color": look.colour if there else "#ffffff", "borderColor": look.colour, "borderWidth": 2}
    if followed:
        style |= {"borderColor": "#000000", "borderWidth": 3}
    return {**node, "itemStyle": style, "label": {"position": _outwards(*at), "width": _NAME, "overflow": "break"}}


def _short(name: str, most: int) -> str:
    """Without its middle if it is long: owners of a group differ at the end.

    >>> _short("general practice 12", 15)
    'general\\n...ice 12'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\n...{name[1 - half :]}"


def _outwards(x: float, y: float) -> str:
    """On which side of an owner its name stands; y grows downwards."""
    if abs(x) > 0.4:
        return "right" if x > 0 else "left"
    return "bottom" if y > 0 else "top"


def _dot(key: int, name: str, place: tuple[float, float], colour: str, symbol: str, size: int) -> dict[str, Any]:
    x, y = (round(100 * part, 2) for part in place)
    return {
        "id": str(key),
        "name": name,
        "x": x,
        "y": y,
        "symbol": symbol,
        "symbolSize": size,
        "itemStyle": {"color": colour},
    }


def _arrow(giver: int, taker: int, weight: float, heaviest: float, colour: str) -> dict[str, Any]:
    share = weight / heaviest
    style = {"color": colour, "width": 0.8 + 4.0 * share, "opacity": 0.35 + 0.5 * share}
    return {"source": str(giver), "target": str(taker), "value": weight, "lineStyle": style}
