"""Small worlds for the test of all mechanisms on all accuracies: every kind of owner, every kind of oracle."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from fedabm import Federation, Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import (
    Accuracy,
    CurvedPayoff,
    JointQuadratic,
    MeanEstimation,
    PacBound,
    PowerLaw,
    RandomCoverage,
    Valued,
)
from fedabm.games.accuracy.phased import Phased
from fedabm.knowledge import Knowledge, Nothing, Public, emptiness
from fedabm.learning import SGD, Coalition, Engine, Learning, Personal, Recipe, Rounds, Trained
from fedabm.mechanisms import Mechanism
from fedabm.strategies import Attacker, BestResponse, FixedShare, Liar

CAPACITY = 6.0
#: a PAC bound guarantees nothing for a handful of samples
SCALE = {"PacBound": 10.0}
RECIPE = Recipe(steps=4, batch=4, optimiser=SGD(0.5))
#: steps of a run; `Rounds` trains everybody twice in each of them, so that one less takes a third of the time away
STEPS = {"Rounds": 2}
#: what fixed, lying and attacking owners give; the first one responds
GIVEN = np.array([3.0, 4.0, 5.0, 6.0])


@cache
def data() -> FederatedData:
    """Fifteen samples to train on and fifteen to test for each of four owners."""
    digits = load_dataset("digits")
    few = replace(digits, x=digits.x[:120], y=digits.y[:120])
    return from_partition(few, IID(4), 1, 0.5, one_class="allow")


@cache
def engine() -> Engine:
    """Small models on them."""
    return Engine("logistic", data(), device="cpu")


@cache
def trained() -> Trained:
    """One oracle for all, so that nothing is trained twice."""
    return Trained(engine(), 1, RECIPE)


#: every kind of accuracy, made anew for each run
ACCURACIES: dict[str, Callable[[], Accuracy]] = {
    "PowerLaw": PowerLaw,
    "PacBound": PacBound,
    "RandomCoverage": lambda: RandomCoverage([[0.5, 0.3, 0.2]] * 4),
    "JointQuadratic": JointQuadratic,
    "MeanEstimation": MeanEstimation,
    "Valued": lambda: Valued(PowerLaw(), CurvedPayoff(0.05)),
    "Learning": lambda: Learning(engine(), RECIPE),
    "Learning, announced": lambda: Learning(engine(), RECIPE, announced=PowerLaw(exponent=0.5)),
    "Phased": lambda: Phased(Learning(engine(), RECIPE), at_most=1),
    "Personal": lambda: Personal(engine(), RECIPE, measured=8),
    "Trained": trained,
    "Coalition": lambda: Coalition(engine(), GIVEN, recipe=RECIPE),
    "Rounds": lambda: Rounds(engine(), RECIPE, more=2),
}


def owners(accuracy: str, last: Any = None) -> Any:
    """One that responds, one that is fixed, one that lies and one that attacks.

    A `Coalition` is defined for one profile only, so there nobody responds or lies.
    """
    fixed = [FixedShare(share) for share in GIVEN / CAPACITY]
    attacks = Attacker(fixed[3], "nan") if last is None else last
    scale = SCALE.get(accuracy, 1.0)
    kinds: list[Any] = [BestResponse(), fixed[1], Liar(fixed[2], 2.0, 1.5, 1.5), attacks]
    if accuracy == "Coalition":
        kinds = [*fixed[:3], kinds[3]]
    return population([0.001, 0.002, 0.003, 0.004], CAPACITY * scale, kinds, starts=GIVEN * scale)


def scenario(
    accuracy: str, mechanism: Mechanism, knowledge: Knowledge | None = None, steps: int | None = None, last: Any = None
) -> Scenario:
    """A rule in one of these worlds; with nothing known, and declared so, where it would be refused for that.

    `last` takes the place of the owner that attacks.
    """
    known = ACCURACIES[accuracy]()
    if knowledge is None and known.announces == "none" and emptiness(Public(), mechanism, known):
        knowledge = Nothing()
    steps = STEPS.get(accuracy, 3) if steps is None else steps
    return Scenario(owners(accuracy, last), known, mechanism, steps=steps, knowledge=knowledge)


def play(
    accuracy: str, mechanism: Mechanism, knowledge: Knowledge | None = None, steps: int | None = None, last: Any = None
) -> Federation:
    """A short run of it."""
    return Federation(scenario(accuracy, mechanism, knowledge, steps, last), seed=3).run()


def outcome(model: Federation) -> np.ndarray:
    """What owners gave, got and were paid, in every step."""
    return model.frames().owners[["contribution", "accuracy", "payment"]].to_numpy()
