"""The training-free study says what the theory says."""

import networkx as nx
import pandas as pd
import pytest

from fedabm.cli import main


@pytest.fixture(scope="module", params=[0, 1, 7])
def folder(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("market") / "out"
    assert main(["run", "market_theory", "--quiet", "--seed", str(request.param), "--out", str(out)]) == 0
    return out


def test_sellers_earn_buyers_pay_and_the_attacker_is_alone(folder):
    table = pd.read_csv(folder / "owners.csv").set_index("role")
    net = table["in_strength"] - table["out_strength"]
    assert net["seller"].min() >= 0 > net["buyer"].max()
    assert net["seller"].sum() > 0
    assert table["isolated"]["attacker"]
    assert table["utility"].min() >= -1e-9
    assert net.sum() == pytest.approx(0.0, abs=1e-9)


def test_the_corrected_algorithm_is_at_least_as_good_as_the_printed_one_and_no_better_than_the_best(folder):
    gap = pd.read_csv(folder / "graphs.csv").set_index("graph")["gap"]
    assert gap["printed"] >= gap["corrected"] - 1e-9
    assert gap["corrected"] >= 0.0 == gap["best"]


def test_overstating_the_cost_is_the_lie_that_never_pays(folder):
    lies = pd.read_csv(folder / "lies.csv").set_index(["lie", "direction"])["gain by it"]
    assert lies["cost", "over-stated"] == 0
    assert lies["size", "over-stated"] > 0
    assert lies["eagerness", "under-stated"] > 0


def test_the_money_graph_is_written_for_other_programs(folder):
    graph = nx.read_graphml(folder / "money.graphml")
    assert len(graph) == 12
    assert graph.degree("owner 11") == 0
    assert graph.nodes["owner 11"]["role"] == "attacker"
