"""Reputation with exclusion: attackers leave for good, and so do honest owners of another kind."""

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.learning import Personal, Recipe
from fedabm.mechanisms import RFFL
from fedabm.strategies import Attacker, Honest
from tests.learning.knowledge.test_from_updates import large
from tests.mechanisms.test_cgsv import sent


def test_one_round_by_hand():
    """Three along (1, 0) and one against them: u is half as long, psi 1, 1, 1, -1; r = 0.5 / 4 + psi / 2 or 0."""
    done = RFFL(alpha=0.5, gamma=1.0).exchange(sent([[2.0, 0.0]] * 3 + [[-1.0, 0.0]]))
    assert done.memory == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3, 3: 0.0})
    np.testing.assert_allclose(done.kept.numpy(), [[0.5, 0.0]] * 3 + [[0.0, 0.0]], atol=1e-6)


def test_who_was_excluded_stays_so():
    memory = {0: 0.5, 1: 0.5, 2: 0.0}
    done = RFFL(alpha=0.5).exchange(sent([[1.0, 0.0]] * 3, memory))
    assert done.memory == pytest.approx(memory)
    assert not done.kept.numpy()[2].any()
    assert not done.imports[:, 2].any()


@pytest.mark.parametrize("updates", [[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], ids=["opposite", "silent"])
@pytest.mark.parametrize("memory", [None, {0: 0.75, 1: 0.25}])
def test_where_all_would_be_excluded_all_keep_what_they_had(updates, memory):
    """u is 0 in the first round, and along one owner in a later one, whose reputation is all there is."""
    done = RFFL(alpha=0.0).exchange(sent(updates, memory))
    alone = memory and any(updates[0])
    assert done.memory == pytest.approx({0: 1.0, 1: 0.0} if alone else memory or {0: 0.5, 1: 0.5})


@pytest.mark.parametrize("owners", range(1, 30))
def test_whoever_is_like_all_others_stays_also_at_the_strictest_threshold(owners):
    done = RFFL(threshold=1.0).exchange(sent([[1.0, 0.0]] * owners))
    assert done.memory == pytest.approx(dict.fromkeys(range(owners), 1 / owners))


def played(attack):
    trained = large()[0]
    kinds = [*[Honest()] * 3, Attacker(Honest(), attack)]
    people = population([0.001] * 4, trained.data.capacities.astype(float), kinds)
    world = Scenario(people, Personal(trained, Recipe(batch=32)), RFFL(alpha=0.5), steps=4)
    return Federation(world, seed=0).run().server.memory


def test_flipped_signs_are_excluded_and_scaled_updates_are_not():
    assert played("sign_flip")[3] == 0.0
    assert played("scaled")[3] > 0.2
