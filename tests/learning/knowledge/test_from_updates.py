"""What updates of a round show: coalitions of them as one would average them by hand, cosines, data of the server."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.games.messages import Effort, OwnerMessages
from fedabm.knowledge import SumsOnly
from fedabm.learning import Engine, FedAdam, FedNova, Learning, Recipe
from fedabm.learning.knowledge import FromUpdates
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import LeaveOneOut, ShapleyShare
from fedabm.strategies import Attacker, FixedShare
from tests.knowledge.worlds import CAPACITY, GIVEN, RECIPE, data, engine, play


def kept(claimed=GIVEN):
    """The updates of the first round, as the server keeps them."""
    effort = Effort(GIVEN, np.asarray(claimed, dtype=float))
    learning = Learning(engine(), RECIPE)
    return learning.updates(learning.round(learning.begin(3), OwnerMessages(effort, effort, keep=True))[0])


def federation(strategies, mechanism, knowledge, steps=2):
    owners = population([0.001] * 4, CAPACITY, strategies, starts=GIVEN)
    return Federation(Scenario(owners, Learning(engine(), RECIPE), mechanism, steps=steps, knowledge=knowledge), seed=3)


def cost(model):
    return int(model.frames().runs["knowledge_cost"][0])


@cache
def large():
    """Enough data for updates of honest owners to point the same way, and data of the server's own."""
    digits = load_dataset("digits")
    parts = replace(digits, x=digits.x[:1500], y=digits.y[:1500]), replace(digits, x=digits.x[1500:], y=digits.y[1500:])
    split = zip(parts, (4, 1), strict=True)
    return [Engine("logistic", from_partition(part, IID(n), 0, 0.5), device="cpu") for part, n in split]


def scores(attack, knowledge):
    """What the server finds of three honest owners and one that attacks."""
    everything = large()[0].data.capacities.astype(float)
    kinds = [*[FixedShare(1.0)] * 3, Attacker(FixedShare(1.0), attack)]
    owners = population([0.001] * 4, everything, kinds, starts=everything)
    scenario = Scenario(owners, Learning(large()[0], Recipe()), steps=1, knowledge=knowledge)
    known = Federation(scenario, seed=3).run().known
    assert known.kind == "scores"
    return known.scores


def fixed(last=None):
    kinds = [FixedShare(share) for share in GIVEN / CAPACITY]
    return kinds if last is None else [*kinds[:3], Attacker(kinds[3], last)]


def test_a_coalition_is_worth_what_the_mean_of_its_updates_makes_of_the_model():
    start = engine().initial(3)
    done = one_round(engine(), start, GIVEN, RECIPE, 3, 0)
    updates = kept()
    worth = updates.coalitions().public
    for members in ([0], [1, 3], [0, 1, 2, 3], []):
        profile = np.where(np.isin(np.arange(4), members), GIVEN, 0.0)
        mixed = sum((GIVEN[i] * done.updates[i] for i in members), torch.zeros_like(start)) / max(profile.sum(), 1.0)
        by_hand = engine().evaluate(start + mixed).accuracy[0].numpy()
        np.testing.assert_allclose(worth.values(profile[None])[0], by_hand, atol=1e-6)


def test_claims_weigh_updates_and_slopes_are_zero():
    claims = np.array([6.0, 8.0, 5.0, 6.0])
    updates, honest = kept(claims), kept()
    worth = updates.coalitions().public
    assert not np.array_equal(worth.values(claims[None]), honest.coalitions().values(GIVEN[None]))
    np.testing.assert_array_equal(worth.curves(claims).slope(claims), np.zeros(4))
    np.testing.assert_array_equal(worth.marginals(claims), np.zeros((4, 4)))
    more, less = worth.values(np.array([claims + 1.0, np.where(np.arange(4) == 1, 7.0, claims)]))
    np.testing.assert_array_equal(more, worth.values(claims[None])[0])
    np.testing.assert_array_equal(less, worth.values(np.where(np.arange(4) == 1, 0.0, claims)[None])[0])


def test_payments_are_those_of_the_coalitions_and_who_breaks_its_update_adds_nothing():
    model = federation(fixed("nan"), LeaveOneOut(), FromUpdates(), steps=1).run()
    paid = model.population.payment
    assert paid[3] == 0.0
    assert np.count_nonzero(paid[:3]) > 0
    assert cost(model) == 4  # the three that count, and all but one of them


def test_attackers_get_less_of_a_share_than_if_they_were_honest():
    honest, attacked = (
        federation(fixed(last), ShapleyShare(), FromUpdates(), steps=1).run().population.payment
        for last in (None, "sign_flip")
    )
    assert attacked[3] < honest[3]


def test_shares_balance_and_runs_repeat():
    one, other = (federation(fixed(), ShapleyShare(), FromUpdates(), steps=3).run() for _ in range(2))
    np.testing.assert_allclose(one.population.payment.sum(), 0.0, atol=1e-12)
    assert one.frames().owners.equals(other.frames().owners)
    assert cost(one) == 3 * 16


def test_data_of_the_server_judge_coalitions_alike_for_all():
    updates, server = kept(), large()[1]
    worth = updates.coalitions(server).values(GIVEN[None])[0]
    done = one_round(engine(), engine().initial(3), GIVEN, RECIPE, 3, 0)
    np.testing.assert_allclose(worth, np.full(4, server.evaluate(done.model).accuracy[0, 0].item()), atol=1e-6)


def test_cosines_tell_who_flips_signs_and_broken_updates_have_none():
    found = scores("sign_flip", FromUpdates("cosine"))
    assert found[3] < 0 < found[:3].min()
    assert scores("nan", FromUpdates("cosine"))[3] == 0.0


def test_data_of_the_server_tell_who_flips_signs():
    found = scores("sign_flip", FromUpdates("root", large()[1]))
    assert found[3] == 0.0
    assert found[:3].min() > 0.1


def test_nobody_sends_anything_and_nothing_is_shown():
    model = federation([FixedShare(0.0)] * 4, ShapleyShare(), FromUpdates()).run()
    assert model.known.kind == "none"
    assert model.population.payment.tolist() == [0.0] * 4


def test_more_owners_than_can_be_enumerated_are_sampled_and_that_is_said():
    digits = load_dataset("digits")
    few = from_partition(replace(digits, x=digits.x[:130], y=digits.y[:130]), IID(13), 0, 0.5, one_class="allow")
    owners = population([0.001] * 13, few.capacities.astype(float), FixedShare(1.0))
    learning = Learning(Engine("logistic", few, device="cpu"), RECIPE)
    scenario = Scenario(owners, learning, ShapleyShare(permutations=4), steps=1, knowledge=FromUpdates())
    with pytest.warns(UserWarning, match="ShapleyShare pays is estimated from sampled .* 13 owners"):
        model = Federation(scenario, seed=1).run()
    np.testing.assert_allclose(model.population.payment.sum(), 0.0, atol=1e-12)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"'cosin'.*cosine"):
        FromUpdates("cosin")
    with pytest.raises(InputError, match="data of the server"):
        FromUpdates("root")
    with pytest.raises(InputError, match="reads single updates"):
        SumsOnly(FromUpdates())
    with pytest.raises(InputError, match="same network"):
        federation(fixed(), ShapleyShare(), FromUpdates(server=Engine("mlp", data(), device="cpu")))
    owners = population([0.001] * 4, CAPACITY, fixed())
    for rule in (FedAdam(), FedNova()):
        learning = Learning(engine(), replace(RECIPE, rule=rule))
        with pytest.raises(InputError, match="FromUpdates makes models of coalitions from updates alone"):
            Scenario(owners, learning, ShapleyShare(), knowledge=FromUpdates())


def test_a_rule_of_scores_is_refused_coalitions_need_more():
    with pytest.raises(InputError, match=r"ShapleyShare needs .* a number for each owner"):
        play("Learning", ShapleyShare(), FromUpdates("cosine"))
