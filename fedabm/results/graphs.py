"""Graphs of what happened, from frames: who imports whose model or data, and who paid whom."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.views import SERVER

__all__ = ["Graphs", "graphs_of", "import_graph", "payment_graph", "write_graphml"]


class Graphs(NamedTuple):
    """Models or data that flow, giver -> importer, and money, payer -> payee."""

    imports: nx.DiGraph
    transfers: nx.DiGraph


def graphs_of(owners: pd.DataFrame, imports: pd.DataFrame, transfers: pd.DataFrame) -> Graphs:
    """The graphs of one step of one run, from its rows in these frames.

    Where owners have models of their own, everyone present is a node of `imports`, linked or not; where all share one,
    data and model go by the server, as in `import_graph`.
    """
    there = owners[owners["stayed"]]
    if not len(imports) and there["imports"].sum():
        raise InputError("these frames hold no edges of imports, since older versions did not; run the study again")
    shared = not len(imports) and not there["isolated"].any()
    graph = import_graph(owners) if shared else _linked(there, imports)
    return Graphs(graph, payment_graph(transfers))


def _linked(there: pd.DataFrame, imports: pd.DataFrame) -> nx.DiGraph:
    """The owners that are there, and an edge from giver to importer with its weight for each import."""
    graph = nx.DiGraph()
    for row in there.itertuples():
        graph.add_node(_node(row.owner), owner=int(row.owner), role=str(row.role), isolated=bool(row.isolated))
    for row in imports.itertuples():
        graph.add_edge(_node(row.exporter), _node(row.importer), weight=float(row.weight))
    return graph


def payment_graph(transfers: pd.DataFrame, step: int | None = None) -> nx.DiGraph:
    """Who paid whom, and how much: in one step, or cumulated over all steps of the frame.

    An edge payer -> payee carries the `amount` and every `reason`.  The server is the node "server".

    Parameters
    ----------
    transfers : pd.DataFrame
        The frame of transfers of one run.
    step : int | None, optional
        One step; by default all, summed.

    Returns
    -------
    nx.DiGraph
        The graph.
    """
    chosen = _chosen(transfers, step)
    graph = nx.DiGraph()
    if chosen.empty:
        return graph
    sums = chosen.groupby(["payer", "payee"])
    table = sums.agg(amount=("amount", "sum"), reason=("reason", lambda r: ", ".join(sorted(set(r)))))
    for (payer, payee), row in table.iterrows():
        graph.add_edge(_node(payer), _node(payee), amount=float(row["amount"]), reason=str(row["reason"]))
    return graph


def import_graph(owners: pd.DataFrame, step: int | None = None, adjacency: Array | None = None) -> nx.DiGraph:
    """Who imports whose model or data: an edge from the giver to the importer.

    Where everyone gets one shared model, data flow owner -> server (`weight` = contribution) and the model flows
    server -> owner (`weight` = accuracy received).  With an `adjacency` (importer i, giver j) edges run between owners.
    Without a step, weights are summed over all steps of the frame.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners of one run.
    step : int | None, optional
        One step; by default all, summed.
    adjacency : Array | None, optional
        Shape (owners, owners): entry (i, j) is true where i imports j's model.

    Returns
    -------
    nx.DiGraph
        The graph.
    """
    graph = nx.DiGraph()
    if adjacency is not None:
        for importer, giver in zip(*np.nonzero(adjacency), strict=True):
            graph.add_edge(_node(int(giver)), _node(int(importer)), weight=float(adjacency[importer, giver]))
        return graph
    chosen = _chosen(owners, step)
    sums = chosen[chosen["stayed"]].groupby("owner")[["contribution", "accuracy"]].sum()
    for row in sums.itertuples():
        if row.contribution > 0:
            graph.add_edge(_node(row.Index), "server", weight=float(row.contribution))
        graph.add_edge("server", _node(row.Index), weight=float(row.accuracy))
    return graph


def write_graphml(graph: nx.DiGraph, path: str | Path) -> Path:
    """Write a graph as GraphML, for Gephi, Cytoscape and the like.

    Parameters
    ----------
    graph : nx.DiGraph
        Any graph of NetworkX.
    path : str | Path
        The file.

    Returns
    -------
    Path
        The file.
    """
    nx.write_graphml(graph, path)
    return Path(path)


def _chosen(frame: pd.DataFrame, step: int | None) -> pd.DataFrame:
    """The rows of one step, or of all; they must belong to one run."""
    runs = frame["run"].nunique() if "run" in frame else 1
    if runs > 1:
        raise InputError(f"a graph shows one run, got {runs} runs; choose one, for instance frame[frame['run'] == 0]")
    return frame if step is None else frame[frame["step"] == step]


def _node(account: int) -> str:
    return "server" if account == SERVER else f"owner {account}"
