"""The contract of every strategy: legal, reproducible, picklable, hashable, and blind to everybody else's rows."""

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedabm.strategies
from fedabm import Federation, InputError, Scenario, population
from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.strategies import BestResponse, FixedShare, Honest, Liar, Quitter, Strategy, Wrapper
from fedabm.views import Action, Experience, Memory, Neighbours, OwnerView, Payoff, Reports
from fedabm.views.memory import held, take_rows
from tests.conftest import STRATEGIES, assert_equal_frames, run

NAMES = sorted(STRATEGIES)


SUBSIDY, REFUND = ContributionSubsidy(0.02), CostSharing(0.5)


def view_of(
    n: int, seed: int = 0, mechanism: Mechanism = SUBSIDY, strategy: Strategy | None = None, **secrets: np.ndarray
) -> OwnerView:
    """A cohort's view with random public past, and secrets that may be given; a strategy remembers three steps."""
    rng = np.random.default_rng(seed)
    capacity, rate, exponent = rng.uniform(1, 20, n), rng.uniform(0.001, 0.3, n), rng.choice([1.0, 1.5, 2.0], n)
    claimed, last = rng.uniform(0, 2, n), rng.uniform(0, 1, n)
    capacity, rate = secrets.get("capacity", capacity), secrets.get("rate", rate)
    cost = PowerCost(rate, secrets.get("exponent", exponent), np.zeros(n))
    claims = PowerCost(rng.uniform(0.001, 0.3, n), rng.choice([1.0, 1.5, 2.0], n), np.zeros(n))
    offers = mechanism.offers(PowerLaw(exponent=0.7), Reports(claimed, np.full(n, 20.0), claims))
    experience = Experience(last, rng.uniform(0, 1, n), rng.normal(size=n), rng.normal(size=n))
    payoff, streams = Payoff(offers, cost, capacity), owner_streams(seed, n)
    public = {"total": float(claimed.sum()), "present": n, "owner": np.arange(n), "neighbours": seen_by(n, rng)}
    view = OwnerView(3, capacity, cost, experience, payoff, streams, **public)
    return view if strategy is None else replace(view, memory=lived(strategy, view, rng))


def seen_by(n: int, rng: np.random.Generator) -> Neighbours | None:
    """What n owners see of up to four neighbours each; sometimes there is no network."""
    if rng.uniform() < 0.3:
        return None
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n))])
    size = rng.choice([0.0, 5.0, 20.0], offsets[-1])
    contribution, accuracy, payment = size * rng.uniform(size=len(size)), rng.uniform(size=len(size)), size - 8.0
    return Neighbours(offsets, rng.integers(0, n, len(size)), contribution, size, accuracy, payment)


def lived(strategy: Strategy, view: OwnerView, rng: np.random.Generator) -> Memory:
    """What owners remember after their first step, one that paid and one of which they know nothing."""
    n = len(view.capacity)
    memory = held(strategy.begin(n, view.rng), n, strategy.label)
    if not memory:
        return {}
    for utility in (np.full(n, np.nan), rng.normal(size=n), np.where(rng.uniform(size=n) < 0.5, np.nan, 0.3)):
        action = strategy.act(replace(view, last=replace(view.last, utility=utility), memory=take_rows(memory, None)))
        memory = held(action.memory, n, strategy.label)
    return take_rows(memory, None)


def columns(action: Action) -> dict[str, np.ndarray]:
    said = action.report
    found = {"contribution": action.contribution, "stay": action.stay, "claimed": said.contribution, "size": said.size}
    found |= {} if said.cost is None else {f.name: getattr(said.cost, f.name) for f in fields(said.cost)}
    return found | dict(flat(action.memory or {}))


def flat(memory: Memory, place: str = "memory"):
    for name, part in memory.items():
        if isinstance(part, Mapping):
            yield from flat(part, f"{place} {name}")
        else:
            yield f"{place} {name}", part


def row(view: OwnerView, i: int) -> OwnerView:
    """The view of one owner alone."""
    capacity, cost = view.capacity[[i]], view.cost.take([i])
    return replace(
        view,
        capacity=capacity,
        cost=cost,
        last=view.last.take([i]),
        payoff=Payoff(view.payoff.offers.take([i]), cost, capacity),
        rng=view.rng.take([i]),
        owner=view.owner[[i]],
        memory=take_rows(view.memory, [i]),
        neighbours=None if view.neighbours is None else view.neighbours.take([i]),
    )


def test_every_strategy_has_an_example():
    public = {name for name in fedabm.strategies.__all__ if name not in ("Strategy", "Wrapper")}
    assert set(STRATEGIES) == public
    assert all(type(strategy).__name__ == name for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_legal(name):
    strategy = STRATEGIES[name]
    for seed in range(4):
        view = view_of(12, seed, strategy=strategy)
        legal(view, strategy.act(view))
        first = replace(view, memory=held(strategy.begin(12, view.rng), 12, name), last=unknown(12))
        legal(first, strategy.act(first))


def unknown(n: int) -> Experience:
    """The last step of owners that have not had any."""
    return Experience(np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, np.nan))


def legal(view: OwnerView, action: Action) -> None:
    for key, column in columns(action).items():
        assert len(column) == 12
        assert key.startswith("memory") or (np.ndim(column) == 1 and np.all(np.isfinite(column))), key
    assert np.all((action.contribution >= 0) & (action.contribution <= view.capacity))
    assert action.stay.dtype == bool


@pytest.mark.parametrize("name", NAMES)
def test_equal_views_give_equal_actions(name):
    strategy = STRATEGIES[name]
    one, two = (columns(strategy.act(view_of(9, seed=4, strategy=strategy))) for _ in range(2))
    for key in one:
        np.testing.assert_array_equal(one[key], two[key])


@pytest.mark.parametrize("name", NAMES)
def test_strategies_are_frozen_values(name):
    strategy = STRATEGIES[name]
    again = pickle.loads(pickle.dumps(strategy))
    assert again == strategy
    assert hash(again) == hash(strategy)
    assert strategy.label
    for part in fields(strategy):
        with pytest.raises(FrozenInstanceError):
            setattr(strategy, part.name, None)


@pytest.mark.parametrize("name", NAMES)
def test_acting_leaves_the_view_alone(name):
    view, same = (view_of(6, strategy=STRATEGIES[name]) for _ in range(2))
    STRATEGIES[name].act(view)
    for key, part in flat(view.memory):
        np.testing.assert_array_equal(part, dict(flat(same.memory))[key])
    for part in ("capacity", "last", "cost"):
        for one, two in zip(_arrays(getattr(view, part)), _arrays(getattr(same, part)), strict=True):
            np.testing.assert_array_equal(one, two)


def _arrays(part):
    return [part] if isinstance(part, np.ndarray) else [getattr(part, f.name) for f in fields(part)]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_neighbours_secrets_change_nothing_for_me(name, data):
    n, me = 5, data.draw(st.integers(0, 4))
    others = np.arange(n) != me
    mechanism = data.draw(st.sampled_from([SUBSIDY, REFUND]))
    before = view_of(n, data.draw(st.integers(0, 50)), mechanism, STRATEGIES[name])
    numbers = {
        "capacity": (before.capacity, st.floats(0.01, 1e3)),
        "rate": (before.cost.rate, st.floats(0.0, 5.0)),
        "exponent": (before.cost.exponent, st.sampled_from([1.0, 1.2, 2.0, 3.0])),
    }
    changed = {}
    for key, (mine, drawn) in numbers.items():
        theirs = np.array(data.draw(st.lists(drawn, min_size=n, max_size=n)))
        changed[key] = np.where(others, theirs, mine)
    cost = PowerCost(changed["rate"], changed["exponent"], np.zeros(n))
    payoff = Payoff(before.payoff.offers, cost, changed["capacity"])
    after = replace(before, capacity=changed["capacity"], cost=cost, payoff=payoff, rng=owner_streams(1, n))
    before = replace(before, rng=owner_streams(1, n))
    one, two = columns(STRATEGIES[name].act(before)), columns(STRATEGIES[name].act(after))
    for key in one:
        np.testing.assert_array_equal(one[key][me], two[key][me], key)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), mechanism=st.sampled_from([SUBSIDY, REFUND, ShapleyShare()]))
def test_a_cohort_acts_as_its_members_would_alone(name, seed, mechanism):
    """To the last bit, also on processors whose power of many numbers is not that of one."""
    strategy = STRATEGIES[name]
    together = columns(strategy.act(view_of(4, seed, mechanism, strategy)))
    for i in range(4):
        alone = columns(strategy.act(row(view_of(4, seed, mechanism, strategy), i)))
        for key in alone:
            np.testing.assert_array_equal(alone[key][0], together[key][i], key)


# Whole runs: every strategy among others, in every order of turns, linked to a ring

ACTIVATIONS = {"at once": Simultaneous(), "one by one": Sequential(shuffle=True), "some": RandomSubset(3)}
in_every_order = pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS.keys())


@dataclass(frozen=True)
class Numbered(Wrapper):
    """Does what it wraps does; the number keeps it alone in its cohort."""

    number: int = 0

    def act(self, view: OwnerView) -> Action:
        return self.truth.act(view)


def some_owners(strategies: list[Strategy], **changes) -> Scenario:
    """Owners of all sizes and costs on a ring, the last of which responds; the third comes late."""
    chosen = [*strategies, BestResponse(0.5)]
    costs, capacities = np.linspace(0.01, 0.05, len(chosen)), np.linspace(5.0, 12.0, len(chosen))
    owners = list(population(costs, capacities, chosen, starts=np.linspace(0.0, 4.0, len(chosen))))
    owners[2] = replace(owners[2], joins=3)
    ring = nx.cycle_graph(len(owners))
    return replace(Scenario(tuple(owners), PowerLaw(), SUBSIDY, steps=9, network=ring), **changes)


@pytest.mark.parametrize("name", NAMES)
@in_every_order
def test_owners_do_and_remember_the_same_in_a_cohort_and_alone(name, activation):
    strategy = STRATEGIES[name]
    wrapped = [strategy, Liar(strategy, contribution_factor=1.5), Quitter(strategy, tolerance=0.5)]
    apart = [Numbered(inner, number) for number, inner in enumerate(wrapped * 2)]
    models = [run(some_owners(chosen, activation=activation), 5) for chosen in (wrapped * 2, apart)]
    one, two = (model.frames().owners.drop(columns="strategy") for model in models)
    assert one.equals(two)
    for owner in range(6):
        memories = [dict(flat(model.population.memory(owner))) for model in models]
        for key, part in memories[0].items():
            np.testing.assert_array_equal(part, memories[1][key], key)


@pytest.mark.parametrize("name", NAMES)
@in_every_order
def test_the_same_seed_gives_the_same_frames_and_others_other_ones_if_there_are_dice(name, activation):
    scenario = some_owners([STRATEGIES[name]] * 4, activation=activation)
    one, two = run(scenario, 1).frames(), run(scenario, 1).frames()
    assert_equal_frames(one, two)
    if draws(STRATEGIES[name]):
        assert not run(scenario, 2).frames().owners["contribution"].equals(one.owners["contribution"])


def draws(strategy: Strategy) -> bool:
    """Whether it throws dice when it acts."""
    view = view_of(4, strategy=strategy)
    view.rng.drawn = False
    strategy.act(view)
    return view.rng.drawn


@pytest.mark.parametrize("name", NAMES)
@in_every_order
def test_a_run_that_was_interrupted_and_restored_ends_the_same(name, activation, tmp_path):
    scenario = some_owners([STRATEGIES[name]] * 4, activation=activation)
    model = Federation(scenario, 3)
    for _ in range(4):
        model.step()
    checkpoint.save(model, tmp_path / "run")
    again = some_owners([STRATEGIES[name]] * 4, activation=activation)
    assert_equal_frames(checkpoint.restore(tmp_path / "run", again).run().frames(), run(scenario, 3).frames())


@pytest.mark.parametrize("name", [name for name in NAMES if STRATEGIES[name].begin(1, owner_streams(0, 1))])
def test_a_memory_of_another_shape_is_refused_in_one_line(name):
    @dataclass(frozen=True)
    class Mistaken(Wrapper):
        def act(self, view: OwnerView) -> Action:
            action = self.truth.act(view)
            return replace(action, memory={key: np.asarray(part)[:-1] for key, part in action.memory.items()})

    with pytest.raises(InputError, match=r"^Mistaken of owner 0 and 2 more failed in step 1: .*; give .*") as error:
        run(some_owners([Mistaken(STRATEGIES[name])] * 4))
    assert "\n" not in str(error.value)


def test_the_property_above_would_notice_a_mind_reader():
    class MindReader(Strategy):
        def act(self, view: OwnerView) -> Action:
            return view.truthful(np.minimum(view.capacity, view.cost.rate.min()))

    rich, poor = (MindReader().act(view_of(3, rate=np.array([0.5, other, 0.4]))) for other in (0.3, 0.1))
    assert rich.contribution[0] != poor.contribution[0]


def test_before_it_acts_an_owner_says_what_it_will_say():
    truth = Reports(np.array([1.0]), np.array([4.0]), Linear(np.array([0.1])))
    assert Honest().declare(truth) is truth
    liar = Liar(Honest(), cost_factor=3.0, size_factor=2.0, contribution_factor=5.0)
    for strategy in (liar, Quitter(liar), Quitter(Quitter(liar))):
        said = strategy.declare(truth)
        np.testing.assert_allclose([said.contribution, said.size, said.cost.rate], [[5.0], [8.0], [0.3]])
    twice = Liar(liar, contribution_factor=2.0).declare(truth)
    assert twice.contribution == 10.0


def test_labels_name_what_they_wrap():
    assert Quitter(Liar(BestResponse())).label == "quitter(liar(best_response))"


def test_rules_by_hand():
    view = view_of(3, capacity=np.array([2.0, 4.0, 8.0]))
    np.testing.assert_array_equal(Honest().act(view).contribution, [2.0, 4.0, 8.0])
    np.testing.assert_array_equal(FixedShare(0.25).act(view).contribution, [0.5, 1.0, 2.0])
    best = view.payoff.best().contribution
    np.testing.assert_allclose(BestResponse().act(view).contribution, best)
    half = BestResponse(0.5).act(view).contribution
    np.testing.assert_allclose(half, 0.5 * (view.last.contribution + best))
    quits = Quitter(Honest()).act(view).stay
    np.testing.assert_array_equal(quits, view.last.utility >= 0)
    drawn = STRATEGIES["Random"].act(view).contribution / view.capacity
    assert np.all((drawn >= 0.2) & (drawn <= 0.8))
