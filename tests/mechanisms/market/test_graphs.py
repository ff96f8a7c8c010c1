"""The money graph and its measures."""

import networkx as nx
import numpy as np
import pytest

from fedabm.mechanisms import ModelMarket
from fedabm.results.graphs import write_graphml
from fedabm.results.market_graphs import graph_measures, market_graph, owner_measures
from tests.mechanisms.market.markets import random_market

MONEY = np.array([[0, 2.0, 1.0, 0, 0], [3.0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_measures_of_a_graph_drawn_by_hand():
    table = owner_measures(market_graph(MONEY, ["trader", "trader", "seller", "buyer", "attacker"]))
    assert table["in_strength"].tolist() == [3.0, 2.0, 1.0, 0.0, 0.0]
    assert table["out_strength"].tolist() == [3.0, 3.0, 0.0, 0.0, 0.0]
    assert table["buyers"].tolist() == [1, 1, 1, 0, 0]
    assert table["sellers"].tolist() == [2, 1, 0, 0, 0]
    assert table["reciprocity"].tolist() == [0.5, 1.0, 0.0, 0.0, 0.0]
    assert table["isolated"].tolist() == [False, False, False, True, True]
    assert table["component"].tolist()[:3] == [0, 0, 0]
    assert table["component"].nunique() == 3
    whole = graph_measures(market_graph(MONEY))
    assert whole == {
        "amount": 6.0,
        "edges": 3,
        "density": 3 / 20,
        "reciprocity": pytest.approx(2 / 3),
        "components": 3,
        "isolated": 2,
    }


def test_an_empty_market_has_measures_too():
    assert graph_measures(market_graph(np.zeros((3, 3))))["reciprocity"] == 0.0
    assert owner_measures(market_graph(np.zeros((3, 3))))["isolated"].all()


def test_strengths_are_what_the_market_pays():
    _, paid = ModelMarket(1.0).clear(*random_market(2, owners=10))
    payments = paid.sum(axis=0) - paid.sum(axis=1)
    table = owner_measures(market_graph(paid))
    assert (table["in_strength"] - table["out_strength"]).to_numpy() == pytest.approx(payments, abs=1e-12)
    assert table["buyers"].tolist() == (paid > 0).sum(axis=0).tolist()


def test_the_graph_survives_graphml(tmp_path):
    graph = market_graph(MONEY, ["trader"] * 4 + ["attacker"])
    again = nx.read_graphml(write_graphml(graph, tmp_path / "money.graphml"))
    assert set(again) == set(graph)
    assert again.nodes["owner 4"]["role"] == "attacker"
    assert again.edges["owner 1", "owner 0"]["amount"] == 3.0
