"""The money graph of a market, who imports whose model by its transfers, and the measures a reader would ask for."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pandas as pd

from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import MODEL_IMPORT

__all__ = ["graph_measures", "import_table", "market_graph", "money_table", "owner_measures"]


def money_table(transfers: pd.DataFrame, owners: int, step: int | None = None) -> Array:
    """What each owner (row) paid each other owner (column), from a frame of transfers: in one step, or in all.

    Money through the server's account is not between owners and stays out.

    Parameters
    ----------
    transfers : pd.DataFrame
        The frame of transfers of one run.
    owners : int
        How many owners there are.
    step : int | None, optional
        One step; by default all.

    Returns
    -------
    Array
        Shape (owners, owners): money from payer (row) to payee (column).
    """
    between = transfers[(transfers["payer"] >= 0) & (transfers["payee"] >= 0)]
    chosen = between if step is None else between[between["step"] == step]
    table = np.zeros((owners, owners))
    np.add.at(table, (chosen["payer"].to_numpy(), chosen["payee"].to_numpy()), chosen["amount"].to_numpy())
    return table


def import_table(transfers: pd.DataFrame, owners: int, step: int | None = None) -> Array:
    """In how many steps each owner (row) imported each other's model (column), from the market's frame of transfers.

    Every import of `ModelMarket` is paid for, above the giver's cost, so that transfers tell who imports what: in one
    step 0 or 1, as `fedabm.analysis.figures.collaboration_graph` and `fedabm.results.graphs.import_graph` take it.
    That fails where payments are put off or budgets too small, and rules without payments leave no transfers at all.

    Parameters
    ----------
    transfers : pd.DataFrame
        The frame of transfers of one run.
    owners : int
        How many owners there are.
    step : int | None, optional
        One step; by default all.

    Returns
    -------
    Array
        Shape (owners, owners): in how many steps i imported j's model.
    """
    paid = transfers[(transfers["reason"] == MODEL_IMPORT) & (transfers["amount"] > 0)]
    return money_table(paid.assign(amount=1.0), owners, step)


def market_graph(remittances: Array, roles: Sequence[str] | None = None) -> nx.DiGraph:
    """An edge from payer to payee with the `amount`; models flow the other way.  Every owner is a node, paid or not.

    `fedabm.results.graphs.write_graphml` writes it to a file.

    Parameters
    ----------
    remittances : Array
        Shape (owners, owners): money from payer (row) to payee (column).
    roles : Sequence[str] | None, optional
        What each owner is.

    Returns
    -------
    nx.DiGraph
        The graph.
    """
    graph = nx.DiGraph()
    for owner in range(len(remittances)):
        graph.add_node(f"owner {owner}", owner=owner, role=roles[owner] if roles else "trader")
    payers, payees = np.nonzero(remittances)
    amounts = remittances[payers, payees]
    graph.add_edges_from(
        (f"owner {i}", f"owner {j}", {"amount": float(amount)})
        for i, j, amount in zip(payers, payees, amounts, strict=True)
    )
    return graph


def owner_measures(graph: nx.DiGraph) -> pd.DataFrame:
    """One row per owner: money in and out, numbers of buyers and sellers, reciprocity, component, isolation.

    `reciprocity` is the share of an owner's partners with whom money flows both ways; `component` numbers the weakly
    connected components, the largest first; `isolated` owners trade with nobody.

    Parameters
    ----------
    graph : nx.DiGraph
        A market, as `market_graph` makes it.

    Returns
    -------
    pd.DataFrame
        One row per owner.
    """
    nodes = list(graph)
    components = sorted(nx.weakly_connected_components(graph), key=len, reverse=True)
    number = {node: k for k, members in enumerate(components) for node in members}
    columns = {
        "owner": [graph.nodes[node]["owner"] for node in nodes],
        "role": [graph.nodes[node]["role"] for node in nodes],
        "in_strength": [graph.in_degree(node, weight="amount") for node in nodes],
        "out_strength": [graph.out_degree(node, weight="amount") for node in nodes],
        "buyers": [graph.in_degree(node) for node in nodes],
        "sellers": [graph.out_degree(node) for node in nodes],
        "reciprocity": [_reciprocity(graph, node) for node in nodes],
        "component": [number[node] for node in nodes],
        "isolated": [graph.degree(node) == 0 for node in nodes],
    }
    return pd.DataFrame(columns).astype({"in_strength": float, "out_strength": float})


def graph_measures(graph: nx.DiGraph) -> dict[str, float]:
    """The whole market: money moved, edges, density, reciprocity, components, isolated owners.

    Parameters
    ----------
    graph : nx.DiGraph
        A market, as `market_graph` makes it.

    Returns
    -------
    dict[str, float]
        One number per measure.
    """
    edges = graph.number_of_edges()
    return {
        "amount": float(graph.size(weight="amount")),
        "edges": edges,
        "density": nx.density(graph),
        "reciprocity": float(nx.overall_reciprocity(graph)) if edges else 0.0,
        "components": nx.number_weakly_connected_components(graph),
        "isolated": nx.number_of_isolates(graph),
    }


def _reciprocity(graph: nx.DiGraph, node: str) -> float:
    """The share of partners that both buy from and sell to this owner; 0 without partners."""
    buyers, sellers = set(graph.predecessors(node)), set(graph.successors(node))
    return len(buyers & sellers) / max(len(buyers | sellers), 1)
