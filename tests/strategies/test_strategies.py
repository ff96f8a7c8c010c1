"""The contract of every strategy: legal, reproducible, picklable, hashable, and blind to everybody else's rows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedabm.strategies
from fedabm import UserCodeError
from fedabm.common.random import owner_streams
from fedabm.games.costs import Linear
from fedabm.strategies import BestResponse, FixedShare, Honest, Liar, Quitter, Strategy, Wrapper
from fedabm.testing import STRATEGY_CHECKS, name_of
from fedabm.testing.owner_views import view_of
from fedabm.testing.strategies import (
    a_cohort_acts_as_its_members_would_alone,
    others_secrets_change_nothing_for_me,
    owners_do_the_same_in_a_cohort_and_alone,
    runs_repeat_and_can_be_interrupted,
    some_owners,
)
from fedabm.views import Action, OwnerView, Reports
from tests.conftest import STRATEGIES, run

NAMES = sorted(STRATEGIES)
#: checks that take long, so that one seed must do
WHOLE_RUNS = (owners_do_the_same_in_a_cohort_and_alone, runs_repeat_and_can_be_interrupted)


def test_every_strategy_has_an_example():
    assert set(STRATEGIES) == set(fedabm.strategies.__all__) - {
        "ATTACKS",
        "SEEING",
        "Attack",
        "Strategy",
        "Streams",
        "Wrapper",
        "noise_for",
    }
    assert all(type(strategy).__name__ == name for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=name_of)
def test_the_contract_holds(name, check):
    for seed in range(1 if check in WHOLE_RUNS else 3):
        check(STRATEGIES[name], seed=seed)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_rows_are_decided_by_themselves(name, seed):
    others_secrets_change_nothing_for_me(STRATEGIES[name], seed)
    a_cohort_acts_as_its_members_would_alone(STRATEGIES[name], seed)


@pytest.mark.parametrize("name", [name for name in NAMES if STRATEGIES[name].begin(1, owner_streams(0, 1))])
def test_a_memory_of_another_shape_is_refused_in_one_line(name):
    @dataclass(frozen=True)
    class Mistaken(Wrapper):
        def act(self, view: OwnerView) -> Action:
            action = self.truth.act(view)
            return replace(action, memory={key: np.asarray(part)[:-1] for key, part in action.memory.items()})

    with pytest.raises(UserCodeError, match=r"^Mistaken of owner 0 and 2 more failed in step 1: .*; give .*") as error:
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
