"""Who learns from what is rejected finds a bound that nobody tells, and does more harm than bad guesses of it."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.data import IID, from_partition, load_dataset
from fedabm.learning import SGD, Engine, Learning, NormBound, Recipe
from fedabm.mechanisms import Deposit
from fedabm.simulation.checkpoint import restore, save
from fedabm.strategies import AdaptiveAttacker, Attacker, Honest
from fedabm.testing.owner_views import first_view, view_of

BOUND = 7.0


def test_it_walks_along_a_bound_that_it_does_not_know():
    """Accepted in log 2 / (log 2 + log 1.25) = 76% of all rounds, never far below the bound."""
    attacker = AdaptiveAttacker(Honest(), scale=0.1)
    view, scales = first_view(view_of(2), attacker), []
    for _ in range(400):
        action = attacker.act(view)
        scales.append(np.array(action.memory["scale"]))
        view = replace(view, memory=action.memory, rejected=scales[-1] > BOUND)
    late = np.array(scales)[30:]
    assert np.mean(late <= BOUND) == pytest.approx(np.log(2) / (np.log(2) + np.log(1.25)), abs=0.03)
    assert late.min() > BOUND / 2
    assert late.max() <= BOUND * 1.25


def ended(attacker, steps=12):
    """Accuracy at last of three honest owners, and how often two attackers were rejected by a bound that refuses."""
    data = from_partition(load_dataset("digits"), IID(5), 0, 0.3)
    recipe = Recipe(steps=4, batch=16, optimiser=SGD(0.1), rule=NormBound(3.0, refuses=True))
    people = population([0.0] * 5, data.capacities, [*[Honest()] * 3, attacker, attacker])
    oracle = Learning(Engine("logistic", data, device="cpu"), recipe)
    owners = Federation(Scenario(people, oracle, Deposit(amount=0.5), steps=steps), seed=0).run().frames().owners
    assert not owners[owners["owner"] < 3]["rejected"].any()
    attacks = owners[owners["owner"] >= 3]
    assert attacks["payment"].to_numpy() == pytest.approx(np.where(attacks["rejected"], -0.5, 0.0))
    return owners[(owners["step"] == steps) & (owners["owner"] < 3)]["accuracy"].mean(), attacks["rejected"].mean()


def test_it_beats_fixed_attacks_well_below_and_above_a_bound_on_norms():
    """Only who knows the bound, three times the median, does better."""
    honest, _ = ended(Honest())
    weak, never = ended(Attacker(Honest(), "sign_flip", 1.0))
    strong, always = ended(Attacker(Honest(), "sign_flip", 10.0))
    adaptive, sometimes = ended(AdaptiveAttacker(Honest()))
    assert (never, always) == (0.0, 1.0)
    assert strong == pytest.approx(honest, abs=0.05)
    assert 0.1 < sometimes < 0.5
    assert adaptive < min(weak, strong) - 0.1


def test_only_attacks_whose_strength_is_a_factor_can_grow():
    with pytest.raises(InputError, match="no attack that can grow is called 'shuffle'"):
        AdaptiveAttacker(Honest(), "shuffle")


def test_two_attacks_one_upon_the_other_go_on_after_a_checkpoint(tmp_path):
    """What tampers is written with the run, and found again."""
    data = from_partition(load_dataset("digits"), IID(3), 0, 0.3)
    recipe = Recipe(steps=2, batch=8, optimiser=SGD(0.1), rule=NormBound(3.0, refuses=True))
    twice = AdaptiveAttacker(Attacker(Honest(), "scaled", 2.0))
    people = population([0.0] * 3, data.capacities, [twice, *[Honest()] * 2])
    scenario = Scenario(people, Learning(Engine("logistic", data, device="cpu"), recipe), steps=4)
    whole, begun = Federation(scenario, seed=0).run(), Federation(scenario, seed=0)
    begun.step()
    begun.step()
    again = restore(save(begun, tmp_path / "run.checkpoint"), scenario).run()
    assert again.frames().owners.equals(whole.frames().owners)
