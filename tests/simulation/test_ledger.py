import networkx as nx
import numpy as np
import pytest

from fedabm import InputError
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare
from fedabm.results.graphs import import_graph, payment_graph, write_graphml
from fedabm.simulation.ledger import Ledger
from fedabm.views import SERVER, Transfers
from tests.conftest import mixed, run

THREE = Transfers(np.array([0, SERVER, 1]), np.array([SERVER, 1, 2]), np.array([2.0, 1.5, 0.25]), "test")


def test_balances_by_hand():
    ledger = Ledger(3)
    ledger.record(1, THREE)
    ledger.record(2, THREE, keep=False)
    np.testing.assert_allclose(ledger.balances, [-4.0, 2.5, 0.5])
    assert ledger.balance() == 1.0
    assert ledger.balance(1) == 2.5
    frame = ledger.frame()
    assert frame["step"].tolist() == [1, 1, 1]
    assert frame["amount"].tolist() == [2.0, 1.5, 0.25]
    assert ledger.frame((2, THREE))["step"].tolist() == [1, 1, 1, 2, 2, 2]
    assert ledger.frame((1, THREE))["step"].tolist() == [1, 1, 1]


def test_payments_through_the_server_are_the_same_as_sums_and_as_a_list():
    """Owners 1 and 4 of five were absent; what they have is booked in their places."""
    made = Transfers.central(np.array([2.0, -0.0, -1.5]), "test").renumbered(np.array([0, 2, 3]))
    assert len(made) == len(made.amount) == 2
    assert (made.payer.tolist(), made.payee.tolist()) == ([SERVER, 3], [0, SERVER])
    assert made.amount.tolist() == [2.0, 1.5]
    assert made.balances(5).tolist() == [2.0, 0.0, 0.0, -1.5, 0.0, -0.5]
    listed = Transfers(made.payer, made.payee, made.amount, "test")
    np.testing.assert_array_equal(listed.balances(5), made.balances(5))
    again, book = made.renumbered(np.array([4, 3, 2, 1, 0])), Ledger(5)
    book.record(1, again)
    assert book.balances.tolist() == [0.0, -1.5, 0.0, 0.0, 2.0]
    assert book.balance() == -0.5


def test_no_payments_make_no_list():
    none = Transfers.central(np.zeros(3), "test")
    assert len(none) == len(none.payer) == 0
    assert not none.balances(3).any()
    with pytest.raises(InputError, match="finite, non-negative"):
        Ledger(2).record(1, Transfers.central(np.array([1.0, np.nan]), "bad"))


@pytest.mark.parametrize("amount", [-1.0, np.nan, np.inf])
def test_only_finite_positive_amounts_are_booked(amount):
    ledger = Ledger(2)
    with pytest.raises(InputError, match="finite, non-negative"):
        ledger.record(1, Transfers(np.array([0]), np.array([1]), np.array([amount]), "bad"))
    assert not ledger.balances.any()


@pytest.mark.parametrize("mechanism", [NoPayments(), ContributionSubsidy(0.03), CostSharing(0.4), ShapleyShare()])
def test_the_servers_account_is_zero_after_every_step_of_a_balanced_mechanism(mechanism):
    model = run(mixed(mechanism=mechanism))
    frames = model.frames()
    volume = frames.transfers["amount"].sum()
    assert (volume > 0) == (mechanism != NoPayments())
    np.testing.assert_allclose(frames.steps["server_balance"], 0.0, atol=1e-12 * max(volume, 1.0))
    per_step = frames.owners.groupby("step")["payment"].sum()
    np.testing.assert_allclose(per_step, 0.0, atol=1e-12 * max(volume, 1.0))


def test_transfers_add_up_to_the_payments_of_every_owner_and_step():
    frames = run(mixed()).frames()
    got = frames.transfers.groupby(["step", "payee"])["amount"].sum()
    paid = frames.transfers.groupby(["step", "payer"])["amount"].sum()
    for row in frames.owners.itertuples():
        net = got.get((row.step, row.owner), 0.0) - paid.get((row.step, row.owner), 0.0)
        assert net == pytest.approx(row.payment, abs=1e-15)


def test_the_ledger_agrees_with_the_frames_over_all_steps():
    model = run(mixed())
    total = model.frames().owners.groupby("owner")["payment"].sum()
    np.testing.assert_allclose(model.ledger.balances, total, atol=1e-14)


def test_payment_graphs_per_step_and_cumulated():
    frames = run(mixed()).frames()
    one, all_ = payment_graph(frames.transfers, step=2), payment_graph(frames.transfers)
    second = frames.owners[frames.owners["step"] == 2].set_index("owner")["payment"]
    assert "server" in one
    for payer, payee, data in one.edges(data=True):
        owner = int((payee if payer == "server" else payer).split()[1])
        assert data["amount"] == pytest.approx(abs(second[owner]))
        assert (payer == "server") == (second[owner] > 0)
        assert data["reason"] == "ContributionSubsidy"
    steps = sorted(set(frames.transfers["step"]))
    for payer, payee, data in all_.edges(data=True):
        each = [payment_graph(frames.transfers, step).get_edge_data(payer, payee, {"amount": 0.0}) for step in steps]
        assert data["amount"] == pytest.approx(sum(edge["amount"] for edge in each))


def test_no_money_no_edges():
    assert len(payment_graph(run(mixed(mechanism=NoPayments())).frames().transfers)) == 0


def test_graphs_of_several_runs_must_be_told_apart():
    from fedabm import Frames

    frames = Frames.join([run(mixed(), seed).frames() for seed in (1, 2)])
    with pytest.raises(InputError, match="2 runs"):
        payment_graph(frames.transfers)
    with pytest.raises(InputError, match="2 runs"):
        import_graph(frames.owners)
    assert len(payment_graph(frames.transfers[frames.transfers["run"] == 1]))


def test_import_graph_of_a_shared_model():
    frames = run(mixed()).frames()
    rows = frames.owners[frames.owners["step"] == 3].set_index("owner")
    graph = import_graph(frames.owners, step=3)
    for owner, row in rows.iterrows():
        name = f"owner {owner}"
        assert graph.has_edge(name, "server") == (row["contribution"] > 0)
        if row["stayed"]:
            assert graph.edges["server", name]["weight"] == pytest.approx(row["accuracy"])
    total = frames.owners[frames.owners["owner"] == 4]["contribution"].sum()
    assert import_graph(frames.owners).edges["owner 4", "server"]["weight"] == pytest.approx(total)


def test_import_graph_of_mixed_models():
    adjacency = np.array([[0.0, 0.3], [0.0, 0.0]])
    graph = import_graph(run(mixed()).frames().owners, adjacency=adjacency)
    assert list(graph.edges(data=True)) == [("owner 1", "owner 0", {"weight": 0.3})]


def test_graphml_can_be_read_back(tmp_path):
    frames = run(mixed()).frames()
    for name, graph in {"pay": payment_graph(frames.transfers), "import": import_graph(frames.owners)}.items():
        path = write_graphml(graph, tmp_path / f"{name}.graphml")
        again = nx.read_graphml(path)
        assert set(again.nodes) == set(graph.nodes)
        assert {(a, b): d for a, b, d in again.edges(data=True)} == {(a, b): d for a, b, d in graph.edges(data=True)}


def test_sums_of_gains_and_of_all_are_apart():
    """A balanced rule moves money, and all payments add up to nothing, in whichever order one asks."""
    for first in (True, False):
        model = run(mixed(mechanism=ContributionSubsidy(0.1)), 3)
        both = {gains: model.round().total("payment", gains=gains) for gains in (first, not first)}
        assert both[True] == model.transferred > 1e-3
        assert both[False] == pytest.approx(0.0, abs=1e-9)
