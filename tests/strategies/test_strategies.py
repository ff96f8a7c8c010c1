"""The contract of every strategy: legal, reproducible, picklable, hashable, and blind to everybody else's rows."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedabm.strategies
from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, ShapleyShare
from fedabm.strategies import BestResponse, FixedShare, Honest, Liar, Quitter, Strategy
from fedabm.views import Action, Experience, OwnerView, Payoff, Reports
from tests.conftest import STRATEGIES

NAMES = sorted(STRATEGIES)


SUBSIDY, REFUND = ContributionSubsidy(0.02), CostSharing(0.5)


def view_of(n: int, seed: int = 0, mechanism: Mechanism = SUBSIDY, **secrets: np.ndarray) -> OwnerView:
    """A cohort's view with random public past, and secrets that may be given."""
    rng = np.random.default_rng(seed)
    capacity, rate, exponent = rng.uniform(1, 20, n), rng.uniform(0.001, 0.3, n), rng.choice([1.0, 1.5, 2.0], n)
    claimed, last = rng.uniform(0, 2, n), rng.uniform(0, 1, n)
    capacity, rate = secrets.get("capacity", capacity), secrets.get("rate", rate)
    cost = PowerCost(rate, secrets.get("exponent", exponent), np.zeros(n))
    claims = PowerCost(rng.uniform(0.001, 0.3, n), rng.choice([1.0, 1.5, 2.0], n), np.zeros(n))
    offers = mechanism.offers(PowerLaw(exponent=0.7), Reports(claimed, np.full(n, 20.0), claims))
    experience = Experience(last, rng.uniform(0, 1, n), rng.normal(size=n), rng.normal(size=n))
    return OwnerView(3, capacity, cost, experience, Payoff(offers, cost, capacity), owner_streams(seed, n))


def columns(action: Action) -> dict[str, np.ndarray]:
    said = action.report
    found = {"contribution": action.contribution, "stay": action.stay, "claimed": said.contribution, "size": said.size}
    return found | ({} if said.cost is None else {f.name: getattr(said.cost, f.name) for f in fields(said.cost)})


def row(view: OwnerView, i: int) -> OwnerView:
    """The view of one owner alone."""
    last = Experience(*(getattr(view.last, f.name)[[i]] for f in fields(view.last)))
    capacity, cost = view.capacity[[i]], view.cost.take([i])
    return OwnerView(
        view.step, capacity, cost, last, Payoff(view.payoff.offers.take([i]), cost, capacity), view.rng.take([i])
    )


def test_every_strategy_has_an_example():
    public = {name for name in fedabm.strategies.__all__ if name not in ("Strategy", "Wrapper")}
    assert set(STRATEGIES) == public
    assert all(type(strategy).__name__ == name for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_legal(name):
    view = view_of(12)
    action = STRATEGIES[name].act(view)
    for column in columns(action).values():
        assert np.shape(column) == (12,)
        assert np.all(np.isfinite(column))
    assert np.all((action.contribution >= 0) & (action.contribution <= view.capacity))
    assert action.stay.dtype == bool


@pytest.mark.parametrize("name", NAMES)
def test_equal_views_give_equal_actions(name):
    one, two = (columns(STRATEGIES[name].act(view_of(9, seed=4))) for _ in range(2))
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
    view, same = view_of(6), view_of(6)
    STRATEGIES[name].act(view)
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
    before = view_of(n, data.draw(st.integers(0, 50)), data.draw(st.sampled_from([SUBSIDY, REFUND])))
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
        assert one[key][me] == two[key][me], key


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), mechanism=st.sampled_from([SUBSIDY, REFUND, ShapleyShare()]))
def test_a_cohort_acts_as_its_members_would_alone(name, seed, mechanism):
    """To the last bit, also on processors whose power of many numbers is not that of one."""
    together = columns(STRATEGIES[name].act(view_of(4, seed, mechanism)))
    for i in range(4):
        alone = columns(STRATEGIES[name].act(row(view_of(4, seed, mechanism), i)))
        for key in alone:
            assert alone[key][0] == together[key][i], key


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
