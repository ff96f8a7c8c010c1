"""Attacks that look around: by hand on a few numbers, and in rounds of training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, Scenario, population
from fedabm.common.random import owner_streams
from fedabm.games.messages import Surroundings
from fedabm.learning import CoordinateMedian, Learning, Recipe
from fedabm.strategies import SEEING, Attack, Attacker, Honest
from tests.knowledge.worlds import CAPACITY, RECIPE, engine

#: updates of five owners, of which the last two attack
EVERYONE = np.array([[1.0, 0.0], [3.0, 2.0], [2.0, 1.0], [9.0, 9.0], [8.0, 8.0]], dtype=np.float32)
MOVED = np.array([0.5, -0.5], dtype=np.float32)
STD = np.sqrt(2 / 3)


def sends(attack, scale=None, kind="numpy", round=0):
    """What the last two send."""
    everyone, moved = EVERYONE, MOVED
    if kind == "torch":
        everyone, moved = torch.from_numpy(EVERYONE), torch.from_numpy(MOVED)
    attacker = Attacker(Honest(), attack, scale)
    seen = everyone if attacker.omniscient else None
    around = Surroundings(np.array([3, 4]), round, moved, np.arange(5), seen)
    return np.asarray(attacker(everyone[3:], 0.0 * everyone[3:], owner_streams(0, 2), around))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("attack", "scale", "expected"),
    [
        ("delta_weights", None, [[0.5, -0.5]] * 2),
        ("delta_weights", 2.0, [[1.0, -1.0]] * 2),
        ("delta_noise", 0.0, [[0.5, -0.5]] * 2),
        ("disguised_noise", 0.0, [[0.0, 0.0]] * 2),
        ("inner_product", None, [[-1.0, -0.5]] * 2),
        ("copycat", None, [[1.0, 0.0], [3.0, 2.0]]),
        ("sybils", None, [[8.5, 8.5]] * 2),
        ("little_is_enough", None, [[2 - 1.5 * STD, 1 - 1.5 * STD]] * 2),
        # the two farthest are 2 sqrt 2 apart; from (3, 2) that is along the diagonal to (1, 0)
        ("min_max", None, [[1.0, 0.0]] * 2),
    ],
)
def test_what_is_sent(attack, scale, expected, kind):
    np.testing.assert_allclose(sends(attack, scale, kind), expected, atol=1e-4)


@pytest.mark.parametrize("attack", ["random_weights", "delta_noise", "disguised_noise"])
def test_noise_is_each_owners_own_and_as_wide_as_it_says(attack):
    one, other = sends(attack, 1.0)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(sends(attack, 1.0), [one, other])
    if attack == "disguised_noise":  # it fades
        np.testing.assert_allclose(sends(attack, 1.0, round=3), 0.25 * sends(attack, 1.0), rtol=1e-6)


def test_min_max_is_as_far_from_the_farthest_as_two_honest_ones_are_from_each_other():
    rng = np.random.default_rng(0)
    everyone = rng.normal(size=(9, 40))
    around = Surroundings(np.arange(7, 9), 0, 0.0 * everyone[0], np.arange(9), everyone)
    sent = Attacker(Honest(), "min_max")(everyone[7:], everyone[7:], owner_streams(0, 2), around)
    honest = everyone[:7]
    farthest = np.linalg.norm(honest[:, None] - honest, axis=2).max()
    assert np.linalg.norm(sent[0] - honest, axis=1).max() == pytest.approx(farthest, rel=1e-5)


def test_omniscient_attacks_say_so_and_only_they_see_all_updates():
    omniscient = {name for name, attack in SEEING.items() if attack.omniscient}
    assert omniscient == {"copycat", "inner_product", "little_is_enough", "min_max"}
    assert Attacker(Honest(), "min_max").label == "omniscient_attacker_min_max(honest)"
    assert Attacker(Honest(), "delta_weights").label == "attacker_delta_weights(honest)"


class Look(Attack):
    """An attack of one's own, which keeps what it sees."""

    seen: list = []

    def __call__(self, rows, around, rng):
        self.seen.append(around)
        return rows


def run(attack, steps=3, rule=None):
    kinds = [*[Honest()] * 3, Attacker(Honest(), attack)]
    recipe = Recipe(steps=4, batch=4, rule=rule) if rule else RECIPE
    people = population([0.001] * 4, CAPACITY, kinds)
    return Federation(Scenario(people, Learning(engine(), recipe), steps=steps), seed=1).run()


def test_an_attack_of_ones_own_sees_how_the_model_moved_and_no_foreign_update():
    Look.seen.clear()
    run(Look())
    first, second, third = Look.seen
    assert first.everyone is second.everyone is None
    assert (first.round, third.round) == (0, 2)
    assert first.members.tolist() == [3]
    assert not first.moved.any()
    assert second.moved.abs().max() > 0
    assert not torch.equal(second.moved, third.moved)


@pytest.mark.parametrize("attack", SEEING)
def test_every_attack_runs_and_repeats(attack):
    one, other = (run(attack, rule=CoordinateMedian()).frames().owners for _ in range(2))
    assert one.equals(other)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"'min_ma'.*min_max"):
        Attacker(Honest(), "min_ma")
    people = population([0.001] * 4, CAPACITY, Attacker(Honest(), "min_max"))
    with pytest.raises(InputError, match="leave somebody honest"):
        Federation(Scenario(people, Learning(engine(), RECIPE), steps=1), seed=1).run()
