"""A training hands its state over and keeps nothing: the same state and the same messages give the same again."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import Accuracy, Announced, JointQuadratic, Oracle, Phased, PowerLaw
from fedabm.games.accuracy.training import Fixed, State, Stepwise, Training, training_of
from fedabm.games.messages import Effort, OwnerMessages
from fedabm.strategies import GradientResponse

PROFILE = np.array([2.0, 3.0])
TRAININGS = {
    "closed form": PowerLaw(),
    "stepwise": JointQuadratic(),
    "announced": Announced(JointQuadratic(), PowerLaw()),
    "phased": Phased(JointQuadratic(), at_most=1),
    "phased twice": Phased(Phased(JointQuadratic(), at_most=1), at_most=1),
}


def states(training: Training, rounds: int = 3) -> list[State]:
    found = [training.begin(5)]
    for _ in range(rounds):
        found.append(training.round(found[-1], OwnerMessages.honest(PROFILE))[0])
    return found


def worths(training: Training) -> np.ndarray:
    return np.array([training.worth(state).values(PROFILE[None])[0] for state in states(training)])


@pytest.mark.parametrize("oracle", TRAININGS.values(), ids=TRAININGS)
def test_a_state_can_be_gone_on_with_twice(oracle: Oracle) -> None:
    training = training_of(oracle)
    np.testing.assert_array_equal(worths(training), worths(training))
    first, *later = states(training)
    again, _ = training.round(first, OwnerMessages.honest(PROFILE))
    np.testing.assert_array_equal(
        training.worth(again).values(PROFILE[None]), training.worth(later[0]).values(PROFILE[None])
    )
    assert first is again or first is not later[0]


@pytest.mark.parametrize("oracle", TRAININGS.values(), ids=TRAININGS)
def test_states_are_frozen(oracle: Oracle) -> None:
    for state in states(training_of(oracle)):
        assert dataclasses.is_dataclass(state)
        assert state.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_no_round_changes_a_closed_form() -> None:
    training = training_of(PowerLaw())
    assert isinstance(training, Fixed)
    first, *later = states(training)
    assert all(state is first for state in later)
    assert training.worth(first) is training.accuracy


def test_weights_advance_on_what_was_announced_before() -> None:
    joint, before, now = JointQuadratic(), np.array([1.0, 1.0]), np.array([4.0, 4.0])
    state, _ = joint.round(joint.begin(0), OwnerMessages(Effort(before, before), Effort(now, now)))
    assert joint.worth(state) == joint.advance(before) != joint.advance(now)


def test_a_perfect_model_gives_the_same_state_again() -> None:
    joint = JointQuadratic(weights=(1.0, 2.0))
    begun = joint.begin(0)
    assert joint.round(begun, OwnerMessages.honest(PROFILE))[0] is begun


def test_phases_show_the_training_within_and_keep_around_it() -> None:
    joint = JointQuadratic()
    phased = Phased(Phased(joint, at_most=0), at_most=2)
    *_, last = states(phased, 4)
    inner, state = phased.unwrap(last)
    assert inner is joint
    assert joint.worth(state) == phased.worth(last) == joint.advance(PROFILE).advance(PROFILE)
    assert phased.within(last, state).model.model is state
    assert phased.within(last, state) is last


def test_announced_weights_learn_behind_what_is_told() -> None:
    told = PowerLaw()
    oracle = Announced(JointQuadratic(), told)
    *_, last = states(oracle, 2)
    worth = oracle.worth(last)
    assert worth.public is told
    assert worth.model == JointQuadratic().advance(PROFILE).advance(PROFILE)
    people = population((0.04, 0.02), 5.0, GradientResponse(0.25), 5.0)
    run = Federation(Scenario(people, oracle, steps=3)).run()
    assert run.accuracy.public is told
    assert run.accuracy.model.error < JointQuadratic().error


def test_a_run_has_one_worth_per_state() -> None:
    people = population((0.04, 0.02), 5.0, GradientResponse(0.25), 5.0)
    run = Federation(Scenario(people, JointQuadratic(), steps=2))
    before = run.accuracy
    assert run.accuracy is before
    run.step()
    assert run.accuracy is not before
    assert run.accuracy is run.accuracy is run.training.worth(run.state)


class Moved(PowerLaw):
    """Says that it learns, where nobody asks."""

    def advance(self, profile: np.ndarray) -> Accuracy:
        return self


@dataclass(frozen=True)
class MovedRightly(PowerLaw, Stepwise):
    def advance(self, profile: np.ndarray) -> Accuracy:
        return self


def test_an_accuracy_with_steps_that_nobody_would_take_is_refused() -> None:
    people = population((0.04, 0.02), 5.0)
    with pytest.raises(InputError, match="Moved has advance but is no training; inherit from Stepwise") as told:
        Scenario(people, Moved())
    assert "\n" not in str(told.value)
    assert Scenario(people, MovedRightly()).accuracy.owners is None
    with pytest.raises(InputError, match="accuracy must be an Accuracy"):
        Scenario(people, "power_law")  # type: ignore[arg-type]
