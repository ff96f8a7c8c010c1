"""Success of a backdoor, and precision and recall of a detector, in the frames of an ordinary run."""

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.data import IID, Backdoor, from_partition, load_dataset
from fedabm.learning import (
    SGD,
    Engine,
    FedAvg,
    Learning,
    NoDuplicates,
    Recipe,
    Watched,
    attack_success,
    detection_columns,
    success_column,
)
from fedabm.strategies import Attacker, Honest

DOOR = Backdoor(target=0, share=0.5, size=3)


def played(rule, columns, attacker=None, quality=None, steps=3):
    federated = from_partition(load_dataset("digits"), IID(4), 0, 0.3, quality)
    engine = Engine("logistic", federated, device="cpu")
    people = population([0.0] * 4, federated.capacities, [attacker or Honest(), *[Honest()] * 3])
    oracle = Learning(engine, Recipe(steps=8, batch=16, optimiser=SGD(0.1), rule=rule))
    return engine, Federation(Scenario(people, oracle, steps=steps, columns=columns(engine)), seed=0).run()


def test_success_of_a_backdoor_stands_in_the_steps():
    engine, model = played(FedAvg(), lambda engine: (success_column(engine, DOOR),), quality={0: DOOR, 1: DOOR})
    found = model.frames().steps["attack_success"]
    assert found.iloc[-1] == attack_success(engine, model.training.weights(model.state), DOOR)
    assert found.iloc[-1] > 0.3


def test_a_copy_is_found_with_its_original_so_that_half_of_the_caught_attack():
    columns = detection_columns([0], least=0.75)
    _, model = played(Watched(NoDuplicates()), lambda engine: columns, Attacker(Honest(), "copycat"))
    steps = model.frames().steps
    assert steps["recall"].tolist() == [1.0] * 3
    assert steps["precision"].tolist() == [0.5] * 3


def test_where_nobody_is_caught_there_is_no_precision_and_unwatched_rules_are_refused():
    _, model = played(Watched(NoDuplicates()), lambda engine: detection_columns([0]))
    assert np.isnan(model.frames().steps["precision"]).all()
    with pytest.raises(InputError, match="got FedAvg; use Watched"):
        played(FedAvg(), lambda engine: detection_columns([0]))
