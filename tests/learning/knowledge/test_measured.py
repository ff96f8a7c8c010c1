"""A measured curve: what it costs, when it is measured again, and what its error says."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedabm import Federation, InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.games.messages import OwnerMessages
from fedabm.learning import Learning, MeasuredCurve
from fedabm.learning.knowledge import FromUpdates, Measured
from fedabm.learning.knowledge.measured import band
from fedabm.mechanisms import ShapleyShare
from fedabm.shapley import shapley
from fedabm.simulation import checkpoint
from fedabm.testing.contract import expect_equal_frames
from tests.knowledge.worlds import RECIPE, engine, play, scenario


def test_the_curve_is_that_of_training_and_its_cost_is_counted():
    known = Measured(rounds=3, points=4, checks=2).measure(Learning(engine(), RECIPE), seed=5)
    oracle = Learning(engine(), RECIPE).retrained(3, 5)
    most = engine().data.capacities.sum()
    totals = np.rint(most * np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert known.worth == MeasuredCurve.measure(oracle, totals, concave=True)
    assert known.trainings == 5 + 2 * 2
    assert known.seconds > 0


def test_it_is_measured_once_or_every_k_steps_from_the_present_model():
    once = play("Learning", ShapleyShare(), Measured(rounds=2, points=3, checks=0), steps=4)
    again = play("Learning", ShapleyShare(), Measured(rounds=2, points=3, checks=0, every=2), steps=4)
    trainings = (once.known_cost, again.known_cost)
    assert trainings == (4, 8)
    assert once.known.since == 1
    assert again.known.since == 3
    assert np.isnan(once.frames().runs["knowledge_error"][0])  # without checks none is stated
    # Later curves begin where the model is, not afresh.
    assert again.known.worth.at_zero(4)[0] > once.known.worth.at_zero(4)[0]


def test_without_every_models_start_afresh_and_with_it_from_the_present_one():
    learning = Learning(engine(), RECIPE)
    state, _ = learning.round(learning.begin(1), OwnerMessages.honest(np.full(4, 6.0)))
    afresh, present = learning.retrained(0, 1), learning.retrained(0, 1, state)
    np.testing.assert_array_equal(present.values(np.zeros((1, 4))), learning.worth(state).values(np.zeros((1, 4))))
    assert not np.array_equal(present.values(np.zeros((1, 4))), afresh.values(np.zeros((1, 4))))


@pytest.mark.parametrize("knowledge", [Measured(rounds=2, points=3, every=2, checks=1), FromUpdates()])
def test_runs_repeat_and_go_on_after_an_interruption(knowledge, tmp_path):
    one = scenario("Learning", ShapleyShare(), knowledge, steps=4)
    whole = Federation(one, seed=2).run().frames()
    part = Federation(one, seed=2)
    part.step()
    part.step()
    saved = checkpoint.save(part, tmp_path / "run")
    del part
    restored = checkpoint.restore(saved, scenario("Learning", ShapleyShare(), knowledge, steps=4)).run().frames()
    expect_equal_frames(restored, whole, "it goes on otherwise")


@dataclass(frozen=True)
class Known:
    """What a training would give, known without training."""

    accuracy: object
    capacities: np.ndarray
    seed: int = 0

    @property
    def engine(self):
        return self

    @property
    def data(self):
        return self

    def values(self, profiles):
        return self.accuracy.values(profiles)


@pytest.mark.parametrize("seed", range(20))
def test_the_band_contains_the_error_of_every_share(seed):
    """Owners' data count differently, which a curve of the total cannot know."""
    rng = np.random.default_rng(seed)
    weights, capacities = rng.uniform(0.2, 1.0, 5), rng.uniform(5.0, 20.0, 5)
    truth = Weighted(PowerLaw(), weights)
    curve = PowerLaw(scale=1.0, offset=1.0 / weights.mean())
    error, trainings = band(Known(truth, capacities), curve, 5)
    exact, paid = (np.asarray(shapley(one, capacities, "enumeration")) / 5 for one in (truth, curve))
    assert np.abs(exact - paid).max() <= error
    assert trainings == 10


class Weighted(PowerLaw):
    """An accuracy of a weighted total."""

    def __init__(self, curve, weights):
        super().__init__()
        object.__setattr__(self, "_weights", weights)

    def values(self, profiles):
        return super().values(np.asarray(profiles) * self._weights)


def test_a_curve_without_error_has_no_band():
    error, _ = band(Known(PowerLaw(), np.array([3.0, 4.0, 5.0])), PowerLaw(), 3)
    assert error == 0.0
    assert band(Known(PowerLaw(), np.array([3.0, 4.0])), PowerLaw(), 0) == (None, 0)


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"points": 0}, {"repeats": 0}, {"every": 0}, {"checks": -1}])
def test_bad_numbers_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Measured(**wrong)
