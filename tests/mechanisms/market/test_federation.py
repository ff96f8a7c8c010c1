"""The market as a mechanism of the agent-based model, on given models: reports, money, leaving, joining, two names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError, Scenario, load, save
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.games.valuation import ReceivedAccuracy
from fedabm.mechanisms import ModelMarket, NoPayments
from fedabm.mechanisms.market import GivenModels, ImportGain, cluster_distances, market_reports, utilities
from fedabm.results.keep import Recording
from fedabm.results.market_graphs import market_graph, money_table
from fedabm.simulation.lies import Sybil, misreport
from fedabm.simulation.roles import INCLUSIVE_MARKET, market_owners, role_reports
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import FreeRider, Honest, Liar
from tests.conftest import Says, run, two_owners
from tests.mechanisms.market.markets import GAIN, MARKET, apart, federation, truth, utility
from tests.simulation.test_privacy import Bugged, Spy, leaks

# Rounds without training agree with the theory


@pytest.mark.parametrize("seed", range(5))
def test_every_round_is_the_market_of_the_theory(seed):
    profiles, distances = truth(seed=seed), apart(seed=seed)
    model = run(federation(profiles, distances))
    adjacency, paid = MARKET.clear(profiles, distances)
    np.testing.assert_allclose(utility(model), [utilities(GAIN, profiles, adjacency, paid)] * model.steps, rtol=1e-12)
    frames = model.frames()
    np.testing.assert_allclose(money_table(frames.transfers, len(paid), step=1), paid, rtol=1e-12)
    assert frames.owners["imports"].to_numpy()[:6].tolist() == adjacency.sum(axis=1).tolist()
    assert frames.owners["exports"].to_numpy()[:6].tolist() == adjacency.sum(axis=0).tolist()
    assert np.all(utility(model) >= 0)
    assert np.abs(frames.steps["server_balance"]).max() <= 1e-12
    assert abs(frames.owners["payment"].sum()) <= 1e-10


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (Liar(Honest(), cost_factor=0.2), {"cost": 0.2}),
        (Liar(Honest(), size_factor=3.0), {"size": 3.0}),
        (Liar(Honest(), eagerness_factor=0.5), {"eagerness": 0.5}),
    ],
)
@pytest.mark.parametrize("members", [[2], [1, 4]])
def test_liars_in_a_federation_get_what_the_theory_says(lie, said, members):
    """Alone and colluding: the selection and the payments are those of the lie, gains and costs those of the truth."""
    profiles, distances = truth(), apart()
    model = run(federation(profiles, distances, dict.fromkeys(members, lie)))
    adjacency, paid = MARKET.clear(misreport(profiles, members, **said), distances)
    np.testing.assert_allclose(utility(model)[-1], utilities(GAIN, profiles, adjacency, paid), rtol=1e-12, atol=1e-12)


def test_a_model_that_cannot_be_used_and_an_owner_without_data_trade_nothing():
    distances = apart()
    distances[2], distances[:, 2] = np.nan, np.nan
    model = run(federation(truth(), distances, {4: FreeRider()}))
    last = model.frames().owners.query("step == step.max()").set_index("owner")
    assert last.loc[[2, 4], ["imports", "exports", "payment", "utility"]].eq(0).all(axis=None)
    assert last.loc[[2, 4], "isolated"].all()
    assert last.loc[[0, 1, 3, 5], "imports"].sum() > 0


@pytest.mark.parametrize("broken", [np.nan, -1.0, np.inf])
def test_a_broken_report_shuts_only_its_owner_out(broken):
    model = run(federation(truth(), apart(), {1: Says(100.0, size=broken)}))
    last = model.frames().owners.query("step == step.max()").set_index("owner")
    assert last["rejected"].tolist() == [False, True, False, False, False, False]
    assert last.loc[1, ["imports", "exports"]].tolist() == [0, 0]
    others = np.array([0, 2, 3, 4, 5])
    alone = run(federation(truth().take(others), apart()[np.ix_(others, others)]))
    np.testing.assert_allclose(last.loc[others, "utility"], utility(alone)[-1])


def test_nothing_is_proven_about_contributions():
    frames = run(federation(truth(), apart())).frames()
    assert frames.runs["gap"].tolist() == [np.inf]


# Roles


def test_roles_of_the_paper():
    rng = np.random.default_rng(0)
    profiles = role_reports(INCLUSIVE_MARKET, rng.uniform(2000.0, 8000.0, 12), 5e5, 1.0, rng)
    owners = market_owners(INCLUSIVE_MARKET, profiles)
    distances = cluster_distances([i % 3 for i in range(12)], 0.1, 0.9, [11])
    scenario = Scenario(owners, GivenModels(distances), ModelMarket(2.0), steps=2, valuation=ImportGain())
    frames = run(scenario).frames()
    last = frames.owners.query("step == 2").set_index("role")
    assert last.loc["buyer", "exports"].sum() == last.loc["seller", "imports"].sum() == 0
    assert (last.loc["buyer", "payment"] < 0).all()
    assert last.loc["seller", "payment"].sum() > 0
    assert last.loc["attacker", "isolated"]
    assert (last["utility"] >= 0).all()
    graph = market_graph(money_table(frames.transfers, 12), INCLUSIVE_MARKET)
    assert graph.degree("owner 11") == 0


# One owner under two names


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_accounts_of_one_person_are_judged_as_one(share):
    profiles = market_reports(np.array([300.0, 400.0, 500.0]), np.array([0.4, 0.5, 0.6]), 5e5)
    distances = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    sybil = Sybil(1, accounts=2, share=share)
    owners = sybil.accounts_of(market_owners(["trader"] * 3, profiles))
    assert [one.person for one in owners] == [None, 1, 1, None]
    assert [one.capacity for one in owners] == [300.0, 200.0, 200.0, 500.0]
    order = [0, 1, 3, 2]  # the theory puts extra accounts last
    told, twins = sybil.enter(profiles, distances)
    given = GivenModels(twins[np.ix_(order, order)])
    scenario = Scenario(owners, given, MARKET, steps=2, valuation=ImportGain(GAIN))
    model = run(scenario)
    adjacency, paid = MARKET.clear(told, twins)
    persons = sybil.persons(3)
    got = utility(model)[-1]
    # The theory lets an import of one account bring the whole person's data; here accounts hold a part each.
    both = np.array([np.array_equal(adjacency[i, 1], adjacency[i, 3]) for i in (0, 2)])
    assert both.all()
    expected = utilities(GAIN, profiles, adjacency, paid, persons)
    np.testing.assert_allclose([got[0], got[1] + got[2], got[3]], expected, rtol=1e-12)
    assert model.frames().owners.query("owner == 2")["gain"].eq(0).all()


# Valuations


def test_the_default_valuation_is_accuracy_received_less_cost():
    frames = run(two_owners()).frames().owners
    np.testing.assert_array_equal(frames["gain"], frames["accuracy"])
    np.testing.assert_array_equal(frames["utility"], frames["gain"] + frames["payment"] - frames["cost"])
    assert two_owners().valuation == ReceivedAccuracy()


def test_a_market_without_models_and_gains_without_imports_are_refused():
    with pytest.raises(InputError, match="model per owner"):
        run(two_owners(mechanism=ModelMarket()))
    with pytest.raises(InputError, match="exchanges models"):
        run(two_owners(mechanism=NoPayments(), valuation=ImportGain()))
    with pytest.raises(InputError, match="valuation must be a Valuation"):
        two_owners(valuation="gain")
    with pytest.raises(InputError, match="one row and one column"):
        GivenModels(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"eagerness": -1.0}, "eagerness"), ({"joins": 0}, "joins"), ({"joins": 1.5}, "joins")],
)
def test_bad_profiles_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        OwnerProfile(Linear(0.1), 1.0, **wrong)


# Secrets

EAGER = [51234.5678912, 42345.6789123, 33456.7891234, 24567.8912345]


def test_eagerness_is_a_secret_and_only_markets_hear_of_it():
    spies = [Spy(Liar(Honest(), eagerness_factor=0.7), number) for number in range(4)]
    owners = [OwnerProfile(Linear(0.1), 300.0, spy, eagerness=k) for spy, k in zip(spies, EAGER, strict=True)]
    for mechanism, accuracy in ((MARKET, GivenModels(apart(4))), (NoPayments(), PowerLaw())):
        bugged = Bugged(mechanism)
        run(Scenario(owners, accuracy, bugged, steps=2))
        for seen in bugged.seen:
            assert leaks(seen, EAGER) == []
            claims = [0.7 * eager for eager in EAGER]
            assert leaks(seen, claims) == (claims if mechanism is MARKET else [])
    for spy in spies:
        for view in spy.views:
            others = [eager for number, eager in enumerate(EAGER) if number != spy.number]
            assert leaks(view, others) == []
            assert leaks(view, [EAGER[spy.number]]) == [EAGER[spy.number]]


# Graphs


def test_the_collaboration_graph_of_every_round():
    model = run(federation(truth(), apart(), steps=3))
    assert [links.step for links in model.links] == list(range(1, model.steps + 1))
    graph = model.links[-1].graph(["trader"] * 6)
    adjacency, _ = MARKET.clear(truth(), apart())
    edges = {(int(a.split()[1]), int(b.split()[1])) for a, b in graph.edges}
    assert edges == {(j, i) for i, j in zip(*np.nonzero(adjacency), strict=True)}
    mutual = (adjacency & adjacency.T).sum() / adjacency.sum()
    steps = model.frames().steps
    assert steps["reciprocity"].iloc[-1] == pytest.approx(mutual)
    assert steps["components"].iloc[-1] >= 1
    strength = (adjacency * (truth().size / truth().size[:, None])).sum(axis=1)
    np.testing.assert_allclose(model.frames().owners["import_strength"].to_numpy()[-6:], strength)


def test_frames_keep_every_import_with_its_weight_also_on_disk(tmp_path):
    """What only the model in memory knew: who imports whose model, by how much, in every step."""
    model = run(federation(truth(), apart(), steps=3))
    save(model.frames(), tmp_path)
    frames = load(tmp_path)
    for links in model.links:
        rows = frames.imports[frames.imports["step"] == links.step]
        table = np.zeros_like(links.weights)
        table[rows["importer"], rows["exporter"]] = rows["weight"]
        np.testing.assert_array_equal(table, links.weights)
        graphs = frames.graph(links.step)
        expected = links.graph(["trader"] * 6)
        assert dict(graphs.imports.edges) == dict(expected.edges)
        assert set(graphs.imports) == set(expected)
    degrees = frames.imports.groupby(["step", "importer"]).size()
    counted = frames.owners.set_index(["step", "owner"])["imports"]
    np.testing.assert_array_equal(counted[degrees.index], degrees)
    assert counted.sum() == len(frames.imports)
    money = frames.transfers[frames.transfers["step"] == 2]["amount"].sum()
    assert frames.graph(2).transfers.size(weight="amount") == pytest.approx(money)


def test_a_graph_without_its_edges_is_refused():
    frames = run(federation(truth(), apart(), steps=2)).frames()
    with pytest.raises(InputError, match="hold no edges of imports"):
        replace(frames, imports=frames.imports[:0]).graph(1)
    with pytest.raises(InputError, match="no owners are kept of step 9 of run 0"):
        frames.graph(9)


def test_a_sample_of_owners_keeps_its_own_imports_only():
    scenario = replace(federation(truth(), apart(), steps=2), record=Recording(owners=2))
    model = run(scenario)
    kept, everything = model.frames().imports, pd.concat([pd.DataFrame(links.edges()) for links in model.links])
    seen = set(model.frames().owners["owner"])
    ours = everything[everything["importer"].isin(seen) | everything["exporter"].isin(seen)]
    assert 0 < len(kept) == len(ours) < len(everything)
