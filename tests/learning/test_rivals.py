"""Rules with a model per owner: what all of them owe to every owner, and their rounds in a federation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedabm import Scenario, population
from fedabm.common.errors import InputError
from fedabm.common.random import Streams, generator
from fedabm.games.accuracy import PowerLaw
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.engine.training import Proximal
from fedabm.learning.personal.models import Personal, PersonalState
from fedabm.learning.personal.own import OwnPart
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import (
    CFL,
    CGSV,
    IAFL,
    RFFL,
    Ditto,
    FedAMP,
    FedAvgExchange,
    FedFomo,
    FedProxExchange,
    LocalOnly,
    Mechanism,
    PFedGraph,
)
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.papers.ipfl2025.settings import RIVALS
from fedabm.strategies import Honest
from fedabm.views import Reports, ServerView
from tests.conftest import run
from tests.learning.plain import random_data
from tests.learning.sent import assert_close, broken, claims, next_start, parts, permuted, sent_of

NAMES = [type(rule).__name__ for rule in RIVALS]
every_rule = pytest.mark.parametrize("rule", RIVALS, ids=NAMES)
#: those that reward by parts of the common update, so that what an owner imports may sum to less than 1
REWARDS = (CGSV(), IAFL(), RFFL())
every_reward = pytest.mark.parametrize("rule", REWARDS, ids=lambda rule: type(rule).__name__)
every_rule_and_reward = pytest.mark.parametrize("rule", [*RIVALS, *REWARDS], ids=lambda rule: type(rule).__name__)


# What every rule owes to every owner


def test_all_eight_are_there():
    assert NAMES == ["LocalOnly", "FedAvgExchange", "FedProxExchange", "Ditto", "FedAMP", "CFL", "FedFomo", "PFedGraph"]
    assert all(isinstance(rule, Mechanism) and hash(rule) == hash(replace(rule)) for rule in RIVALS)


@every_rule
@pytest.mark.parametrize("owners", [1, 2, 5, 12])
def test_weights_are_shares_and_models_have_their_shape(rule, owners):
    sent = sent_of(owners, length=2.0)
    done = rule.exchange(sent)
    assert done.imports.shape == (owners, owners)
    assert np.all(done.imports >= 0)
    assert_close(done.imports.sum(axis=1), np.ones(owners), 1e-12)
    assert all(rows.shape == sent.models.shape and torch.isfinite(rows).all() for rows in parts(done))
    if owners == 1 and rule != FedFomo():  # which does not follow a model with more loss, not even its own
        torch.testing.assert_close(next_start(done, sent), sent.models)


@every_rule
@given(seed=st.integers(0, 30), silent=st.booleans())
def test_the_order_of_owners_does_not_matter(rule, seed, silent):
    sent = sent_of(6, seed=seed, length=2.0)
    sent = broken(sent, 2) if silent else sent
    order = np.random.default_rng(seed).permutation(6)
    one, two = rule.exchange(sent), rule.exchange(permuted(sent, order))
    assert_close(one.imports[np.ix_(order, order)], two.imports)
    for rows, others in zip(parts(one), parts(two), strict=True):
        assert_close(rows[order], others)


@every_rule
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_model_reaches_nobody_and_nobody_else_notices_which_way_it_broke(rule, value):
    sent = sent_of(6, length=2.0)
    done = rule.exchange(broken(sent, 1, 4, value=value))
    others = ~np.isin(np.arange(6), [1, 4])
    assert not done.imports[others][:, ~others].any()
    assert done.imports[1, 4] == done.imports[4, 1] == 0
    assert all(torch.isfinite(rows).all() for rows in parts(done))
    without = rule.exchange(permuted(sent, np.flatnonzero(others)))
    assert_close(done.imports[np.ix_(others, others)], without.imports)
    for rows, alone in zip(parts(done), parts(without), strict=True):
        assert_close(rows[others], alone)


@every_rule
def test_if_nobody_is_sound_everybody_stays_where_it_was(rule):
    sent = broken(sent_of(4, same_start=True), 0, 1, 2, 3)
    done = rule.exchange(sent)
    np.testing.assert_array_equal(done.imports, np.eye(4))
    assert all(torch.equal(rows, sent.start) for rows in parts(done))


@every_rule_and_reward
def test_huge_models_leave_finite_ones(rule):
    sent = sent_of(5)
    models = sent.models.clone()
    models[:3] = torch.tensor([3e38, -3e38, 3e38])[:, None]
    done = rule.exchange(replace(sent, models=models))
    assert np.all(np.isfinite(done.imports))
    assert all(torch.isfinite(rows).all() for rows in parts(done))


@every_rule
def test_nobody_claims_any_data(rule):
    sent = replace(sent_of(4), reports=claims(np.zeros(4)))
    done = rule.exchange(sent)
    assert_close(done.imports.sum(axis=1), np.ones(4))
    assert all(torch.isfinite(rows).all() for rows in parts(done))


@every_rule_and_reward
def test_settling_hands_over_the_exchange_without_payments(rule):
    sent, reports = sent_of(4), Reports(np.full(4, 3.0), np.full(4, 9.0))
    outcome = rule.settle(ServerView(1, reports, PowerLaw(), sent))
    np.testing.assert_array_equal(outcome.adjacency, outcome.exchange.imports)
    np.testing.assert_array_equal(outcome.adjacency, rule.exchange(sent).imports)
    assert not outcome.payments.any()
    assert len(outcome.transfers) == 0
    np.testing.assert_array_equal(outcome.access, 1.0)
    with pytest.raises(InputError, match="model per owner"):
        rule.settle(ServerView(1, reports, PowerLaw()))


# What rules owe that reward by parts of the common update


@every_reward
@pytest.mark.parametrize("owners", [1, 2, 5, 12])
def test_rewards_are_parts_of_what_there_is(rule, owners):
    sent = sent_of(owners, length=2.0, same_start=True)
    done = rule.exchange(sent)
    assert done.imports.shape == (owners, owners)
    assert np.all(done.imports >= 0)
    assert np.all(done.imports.sum(axis=1) <= 1 + 1e-12)
    assert done.imports.sum(axis=1).max() == pytest.approx(1.0)
    assert all(rows.shape == sent.models.shape and torch.isfinite(rows).all() for rows in parts(done))


@pytest.mark.parametrize("rule", [CGSV(), RFFL()], ids=["CGSV", "RFFL"])
@given(seed=st.integers(0, 30), silent=st.booleans())
def test_the_order_of_owners_does_not_matter_for_rewards_by_cosines(rule, seed, silent):
    """`IAFL` draws for each owner from a stream of its own."""
    sent = sent_of(6, seed=seed, length=2.0, same_start=True)
    sent = broken(sent, 2) if silent else sent
    order = np.random.default_rng(seed).permutation(6)
    one, two = rule.exchange(sent), rule.exchange(permuted(sent, order))
    assert_close(one.imports[np.ix_(order, order)], two.imports)
    for rows, others in zip(parts(one), parts(two), strict=True):
        assert_close(rows[order], others)


@every_reward
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_model_rewards_nobody_and_it_does_not_matter_which_way_it_broke(rule, value):
    sent = sent_of(6, length=2.0, same_start=True)
    done, other = (rule.exchange(broken(sent, 1, 4, value=one)) for one in (value, -np.inf))
    assert not done.imports[:, [1, 4]].any()
    np.testing.assert_array_equal(done.imports, other.imports)
    for rows, others in zip(parts(done), parts(other), strict=True):
        assert torch.isfinite(rows).all()
        assert torch.equal(rows, others)


@every_reward
@pytest.mark.parametrize("claims_nothing", [False, True])
def test_without_anything_to_reward_by_everybody_stays_where_it_was(rule, claims_nothing):
    sent = sent_of(4, same_start=True)
    sent = replace(sent, reports=claims(np.zeros(4))) if claims_nothing else broken(sent, 0, 1, 2, 3)
    done = rule.exchange(sent)
    assert not done.imports.any()
    assert all(torch.equal(rows, sent.start) for rows in parts(done))


# In a federation


@cache
def engine() -> Engine:
    return Engine("logistic", random_data((6,), sizes=(30, 20, 10), tests=(9, 9, 9)), device="cpu")


def federation(rule: Personalised, steps: int) -> PersonalState:
    """The owners' models after some rounds."""
    owners = population([0.001] * 3, [30.0, 20.0, 10.0], Honest())
    made = run(Scenario(owners, training(), rule, steps=steps), seed=7)
    assert isinstance(made.state, PersonalState)
    return made.state


def training() -> Personal:
    return Personal(engine(), Recipe(steps=4, batch=5), measure=OwnPart())


def trained(start: Tensor, number: int, **how) -> Tensor:
    """Everybody's local training in a round."""
    return engine().train(start, [30, 20, 10], steps=4, batch=5, optimiser=SGD(0.1), seed=7, round=number, **how)


def test_averaging_in_a_federation_is_federated_averaging():
    model = engine().initial(7)
    for number in range(3):
        model = one_round(engine(), model, np.array([30, 20, 10]), Recipe(steps=4, batch=5), 7, number).model
    torch.testing.assert_close(federation(FedAvgExchange(), 3).task.start, model.expand(3, -1))


def test_local_training_in_a_federation_is_training_alone():
    models = engine().initial(7)
    for number in range(3):
        models = trained(models, number)
    torch.testing.assert_close(federation(LocalOnly(), 3).models, models)


def test_held_training_in_a_federation():
    once = trained(engine().initial(7), 0)
    mean = torch.tensor([3.0, 2.0, 1.0]) / 6 @ once
    twice = trained(mean, 1, proximal=Proximal(0.3, mean))
    torch.testing.assert_close(federation(FedProxExchange(0.3), 2).last.models, twice)
    graph = FedAMP(strength=0.5)
    cloud = (
        torch.from_numpy(graph.weights(training().sent(federation(graph, 1), np.arange(3), claims(np.ones(3))))).float()
        @ once
    )
    torch.testing.assert_close(federation(graph, 2).models, trained(once, 1, proximal=Proximal(0.5, cloud)))


@pytest.mark.parametrize("rule", [FedAvgExchange(), FedProxExchange(0.3)])
def test_averaging_is_judged_by_the_mean_and_the_others_by_what_was_trained(rule):
    after = federation(rule, 2)
    mean = torch.tensor([3.0, 2.0, 1.0]) / 6 @ after.last.models
    torch.testing.assert_close(after.models, mean.expand(3, -1))
    worth = [engine().evaluate(mean[None], [owner]).accuracy.item() for owner in range(3)]
    assert_close(after.standing.values(np.zeros((1, 3)))[0], worth)
    alone = federation(LocalOnly(), 2)
    torch.testing.assert_close(alone.models, alone.last.models)


def test_personal_models_go_on_from_where_they_were():
    once = trained(engine().initial(7), 0)
    mean = torch.tensor([3.0, 2.0, 1.0]) / 6 @ once
    streams = Streams(generator(7, "training", owner, 1, 1) for owner in range(3))
    kept = trained(once, 1, proximal=Proximal(2.0, mean), streams=streams)
    after = federation(Ditto(2.0), 2)
    torch.testing.assert_close(after.models, kept)
    sent = training().sent(after, np.arange(3), claims(np.ones(3)))
    torch.testing.assert_close(sent.models, trained(mean, 1))


# Bad input


@pytest.mark.parametrize(
    "make",
    [
        lambda: FedProxExchange(-1),
        lambda: Ditto(-0.1),
        lambda: FedAMP(self_weight=1.5),
        lambda: FedAMP(sharpness=-1),
        lambda: CFL(mean_below=0),
        lambda: CFL(smallest=0),
        lambda: FedFomo(0),
        lambda: PFedGraph(alpha=0),
        lambda: PFedGraph(threshold=2),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_a_rule_must_say_what_it_exchanges():
    with pytest.raises(TypeError):
        Personalised()
