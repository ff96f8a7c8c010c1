"""The market as a mechanism of the agent-based model, on given models: reports, money, leaving, joining, two names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.costs import Linear
from fedabm.market import (
    INCLUSIVE_MARKET,
    GivenModels,
    ImportGain,
    MarketView,
    ModelMarket,
    Profiles,
    Sybil,
    cluster_distances,
    market_graph,
    market_owners,
    misreport,
    money_table,
    role_profiles,
    utilities,
)
from fedabm.mechanisms import NoPayments
from fedabm.scenario import OwnerProfile
from fedabm.strategies import FreeRider, Honest, Liar, Quitter, Strategy
from fedabm.valuation import Received
from tests.conftest import Says, assert_equal_frames, run, two_owners
from tests.market.markets import GAIN, random_distances
from tests.test_privacy import Bugged, Spy, leaks

MARKET = ModelMarket(1.0)


def truth(owners: int = 6, seed: int = 3) -> Profiles:
    rng = np.random.default_rng(seed)
    return Profiles(np.rint(rng.uniform(100.0, 900.0, owners)), rng.uniform(0.1, 1.0, owners), 5e4)


def apart(owners: int = 6, seed: int = 3) -> np.ndarray:
    return random_distances(np.random.default_rng(seed), owners, closest=0.05)


def federation(
    profiles: Profiles, distances: np.ndarray, strategies: dict[int, Strategy] | None = None, **changes: object
) -> Scenario:
    owners = market_owners(["trader"] * len(profiles), profiles, strategies)
    steps = changes.pop("steps", 3)
    base = Scenario(owners, GivenModels(distances), MARKET, steps=steps, valuation=ImportGain(GAIN))  # type: ignore[arg-type]
    return replace(base, **changes)  # type: ignore[arg-type]


def utility(model: Federation) -> np.ndarray:
    """(steps, owners)."""
    return model.frames().owners.pivot(index="step", columns="owner", values="utility").to_numpy()


# Rounds without training agree with the theory


@pytest.mark.parametrize("seed", range(5))
def test_every_round_is_the_market_of_the_theory(seed):
    profiles, distances = truth(seed=seed), apart(seed=seed)
    model = run(federation(profiles, distances))
    outcome = MARKET.clear(MarketView(profiles, distances))
    np.testing.assert_allclose(utility(model), [utilities(GAIN, profiles, outcome)] * model.steps, rtol=1e-12)
    frames = model.frames()
    paid = money_table(frames.transfers, len(profiles), step=1)
    np.testing.assert_allclose(paid, outcome.remittances, rtol=1e-12)
    assert frames.owners["imports"].to_numpy()[:6].tolist() == outcome.imports.tolist()
    assert frames.owners["exports"].to_numpy()[:6].tolist() == outcome.exports.tolist()
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
    outcome = MARKET.clear(MarketView(misreport(profiles, members, **said), distances))
    np.testing.assert_allclose(utility(model)[-1], utilities(GAIN, profiles, outcome), rtol=1e-12, atol=1e-12)


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
    profiles = role_profiles(INCLUSIVE_MARKET, rng.uniform(2000.0, 8000.0, 12), 5e5, 1.0, rng)
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


# Leaving and joining


def losers(chance: float) -> Scenario:
    """Everybody imports from everybody for nothing, at a cost that only the last owner can bear."""
    profiles = Profiles(np.full(40, 100.0), np.append(np.full(39, 50.0), 0.0), 100.0)
    quitters = dict.fromkeys(range(40), Quitter(Honest(), chance=chance))
    return federation(profiles, np.zeros((40, 40)), quitters, mechanism=Everyone(), steps=12)


class Everyone(ModelMarket):
    """All import all and pay nothing."""

    def clear(self, view):
        outcome = super().clear(view)
        everyone = ~np.eye(len(outcome.adjacency), dtype=bool)
        return type(outcome)(everyone, np.zeros(everyone.shape))


def test_strict_quitters_leave_at_once_and_hesitant_ones_one_by_one():
    strict, half = run(losers(1.0)), run(losers(0.5))
    assert strict.frames().steps["present"].tolist()[:2] == [40, 1]
    left = half.frames().steps["present"].to_numpy()
    assert left[0] == 40 > left[1] > left[2] >= left[-1]
    assert 10 <= left[1] <= 31
    assert_equal_frames(half.frames(), run(losers(0.5)).frames())
    assert set(run(losers(0.0)).frames().steps["present"]) == {40}


def test_who_leaves_trades_no_more_and_keeps_its_best_model():
    scenario = federation(truth(), apart(), steps=4)
    owners = list(scenario.owners)
    generous = Quitter(Liar(Honest(), cost_factor=0.0))  # gives its dear model away and regrets it
    owners[3] = replace(owners[3], cost=Linear(500.0), strategy=generous)
    model = run(replace(scenario, owners=tuple(owners)))
    frames = model.frames()
    mine = frames.owners.query("owner == 3").set_index("step")
    assert mine["stayed"].tolist() == [step == 1 for step in range(1, model.steps + 1)]
    assert mine.loc[1, "utility"] < 0
    assert mine.loc[2:, ["utility", "payment", "imports", "exports"]].eq(0).all(axis=None)
    later = frames.transfers.query("step > 1")
    assert 3 not in {*later["payer"], *later["payee"]}
    assert [3 in links.members for links in model.links] == mine["stayed"].tolist()
    others = np.array([0, 1, 2, 4, 5])
    alone = run(federation(truth().take(others), apart()[np.ix_(others, others)]))
    np.testing.assert_allclose(utility(model)[-1, others], utility(alone)[-1])


def test_the_best_accuracy_stays_with_an_owner_that_left():
    people = population([0.1, 9.0], 100.0, [Honest(), Quitter(Honest())])
    frames = run(Scenario(people, PowerLaw(), steps=4)).frames()
    mine = frames.owners.query("owner == 1")
    assert mine["accuracy"].tolist()[1:] == [0.0] * (len(mine) - 1)
    assert mine["best_accuracy"].nunique() == 1
    assert mine["best_accuracy"].iloc[-1] == mine["accuracy"].iloc[0] > 0.9


def test_newcomers_take_part_from_the_step_they_join():
    profiles, distances = truth(), apart()
    scenario = federation(profiles, distances, steps=6)
    owners = tuple(replace(one, joins=3 if i in (0, 5) else 1) for i, one in enumerate(scenario.owners))
    model = run(replace(scenario, owners=owners))
    frames = model.frames()
    assert frames.steps["present"].tolist() == [4, 4, 6, 6, 6][: len(frames.steps)]
    before = np.array([1, 2, 3, 4])
    early = MARKET.clear(MarketView(profiles.take(before), distances[np.ix_(before, before)]))
    np.testing.assert_allclose(utility(model)[0, before], utilities(GAIN, profiles.take(before), early))
    assert utility(model)[:2, [0, 5]].tolist() == [[0.0, 0.0]] * 2
    full = MARKET.clear(MarketView(profiles, distances))
    np.testing.assert_allclose(utility(model)[2], utilities(GAIN, profiles, full))
    early_transfers = frames.transfers.query("step < 3")
    assert {0, 5}.isdisjoint({*early_transfers["payer"], *early_transfers["payee"]})
    waiting = frames.owners.query("step < 3 and owner in (0, 5)")
    assert not waiting["stayed"].any()
    assert waiting[["contribution", "reported_contribution", "reported_size", "imports"]].eq(0).all(axis=None)


def test_a_run_waits_for_those_who_are_to_come():
    late = replace(two_owners(steps=30).owners[0], joins=12)
    model = run(replace(two_owners(steps=30), owners=(late, two_owners().owners[1])))
    assert model.steps >= 12
    both = run(two_owners(steps=200))
    np.testing.assert_allclose(model.population.contribution, both.population.contribution, atol=1e-6)


def test_a_newcomer_changes_nobody_elses_draws():
    scenario = federation(truth(), apart(), dict.fromkeys(range(6), Quitter(Honest(), chance=0.5)), steps=5)
    late = tuple(replace(one, joins=4 if i == 0 else 1) for i, one in enumerate(scenario.owners))
    streams = [Federation(s).population._streams.uniform() for s in (scenario, replace(scenario, owners=late))]
    np.testing.assert_array_equal(*streams)


# One owner under two names


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_accounts_of_one_person_are_judged_as_one(share):
    profiles = Profiles(np.array([300.0, 400.0, 500.0]), np.array([0.4, 0.5, 0.6]), 5e5)
    distances = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    sybil = Sybil(1, accounts=2, share=share)
    owners = sybil.accounts_of(market_owners(["trader"] * 3, profiles))
    assert [one.person for one in owners] == [None, 1, 1, None]
    assert [one.capacity for one in owners] == [300.0, 200.0, 200.0, 500.0]
    order = [0, 1, 3, 2]  # the theory puts extra accounts last
    twins = sybil.enter(MarketView(profiles, distances))
    given = GivenModels(twins.distances[np.ix_(order, order)])
    scenario = Scenario(owners, given, MARKET, steps=2, valuation=ImportGain(GAIN))
    model = run(scenario)
    outcome = MARKET.clear(twins)
    persons = sybil.persons(3)
    got = utility(model)[-1]
    # The theory lets an import of one account bring the whole person's data; here accounts hold a part each.
    both = np.array([np.array_equal(outcome.adjacency[i, 1], outcome.adjacency[i, 3]) for i in (0, 2)])
    assert both.all()
    expected = utilities(GAIN, profiles, outcome, persons)
    np.testing.assert_allclose([got[0], got[1] + got[2], got[3]], expected, rtol=1e-12)
    assert model.frames().owners.query("owner == 2")["gain"].eq(0).all()


# Valuations


def test_the_default_valuation_is_accuracy_received_less_cost():
    frames = run(two_owners()).frames().owners
    np.testing.assert_array_equal(frames["gain"], frames["accuracy"])
    np.testing.assert_array_equal(frames["utility"], frames["gain"] + frames["payment"] - frames["cost"])
    assert two_owners().valuation == Received()


def test_a_market_without_models_and_gains_without_imports_are_refused():
    with pytest.raises(InputError, match="everyone's own model"):
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
    outcome = MARKET.clear(MarketView(truth(), apart()))
    edges = {(int(a.split()[1]), int(b.split()[1])) for a, b in graph.edges}
    assert edges == {(j, i) for i, j in zip(*np.nonzero(outcome.adjacency), strict=True)}
    mutual = (outcome.adjacency & outcome.adjacency.T).sum() / outcome.adjacency.sum()
    steps = model.frames().steps
    assert steps["reciprocity"].iloc[-1] == pytest.approx(mutual)
    assert steps["components"].iloc[-1] >= 1
    strength = (outcome.adjacency * (truth().size / truth().size[:, None])).sum(axis=1)
    np.testing.assert_allclose(model.frames().owners["import_strength"].to_numpy()[-6:], strength)
