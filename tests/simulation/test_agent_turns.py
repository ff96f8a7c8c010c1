"""Agents that decide for themselves are asked one by one, and nobody can tell that they are carried out together."""

import gc

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.common.errors import UserCodeError
from fedabm.common.random import generator
from fedabm.mechanisms import ContributionSubsidy, CostSharing
from fedabm.simulation import Never, Owner
from fedabm.strategies import BestResponse, EpsilonGreedy, FreeRider, GradientResponse, Liar

RATES = np.linspace(0.01, 0.2, 7)


def frames(agent=None, strategy=None, mechanism=None, steps=6):
    people = population(RATES, 10.0, strategy or BestResponse(0.4), agent=agent)
    mechanism = mechanism or ContributionSubsidy(0.01)
    scenario = Scenario(people, PowerLaw(), mechanism, steps=steps, stopping=Never())
    return Federation(scenario, seed=3).run().frames()


class Same(Owner):
    """Does what its strategy says."""

    def decide(self, view):
        return super().decide(view)


@pytest.mark.parametrize(
    "strategy",
    [BestResponse(0.4), GradientResponse(0.5), EpsilonGreedy(0.3), Liar(BestResponse(0.4), 1.5), FreeRider()],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("mechanism", [ContributionSubsidy(0.01), CostSharing(0.3)])
def test_one_by_one_is_what_the_cohort_does(strategy, mechanism):
    alone, together = frames(Same, strategy, mechanism), frames(None, strategy, mechanism)
    for name in ("owners", "transfers"):
        pd.testing.assert_frame_equal(getattr(alone, name), getattr(together, name), check_exact=True)


def test_who_looks_at_others_sees_what_they_have_just_decided():
    class Follower(Owner):
        """Gives one more than the owner before it has just given, and looks at some of the others only."""

        def decide(self, view):
            before = 0.0 if self.row == 0 else self.model.owner(self.row - 1).contribution
            return view.truthful(np.array([before + 1.0]))

    found = frames(Follower, steps=1).owners
    assert found["contribution"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_who_looks_at_itself_disturbs_nobody_and_who_changes_another_is_seen():
    class Meddler(Owner):
        """Owner 2 sets what the last one has given so far."""

        def decide(self, view):
            assert self.contribution == view.last.contribution[0]
            if self.row == 2:
                self.model.owner(6).contribution = 9.0
                self.model.owner(0).contribution = 4.0
            return view.truthful(view.last.contribution / 2)

    found = frames(Meddler, steps=1).owners
    assert found["contribution"].tolist() == [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.5]


def test_draws_are_those_of_the_owner_and_count_on():
    class Dice(Owner):
        def decide(self, view):
            return view.truthful(view.rng.uniform(0.0, 1.0) if view.step % 2 else view.last.contribution)

    found = frames(Dice, steps=3).owners.pivot_table(index="step", columns="owner", values="contribution")
    drawn = np.array([generator(3, "owner", row).random(2) for row in range(7)]).T
    np.testing.assert_array_equal(found.to_numpy(), drawn[[0, 0, 1]])


def test_a_wrong_action_is_told_with_owner_and_step_and_the_others_stand():
    class Wrong(Owner):
        def decide(self, view):
            return 3 if self.row == 4 else view.truthful(view.capacity)

    model = Federation(Scenario(population(RATES, 10.0, agent=Wrong), PowerLaw()))
    with pytest.raises(UserCodeError, match="Wrong of owner 4 failed in step 1: it gave 3 instead of an action"):
        model.step()
    assert model.population.contribution.tolist() == [10.0] * 4 + [0.0] * 3


def test_no_other_owners_numbers_can_be_reached_from_a_view():
    """Arrays of a view are in memory of their own: nothing that they hold is longer than one owner's two steps."""
    seen = []

    class Curious(Owner):
        def decide(self, view):
            seen.append(view)
            return view.truthful(view.capacity)

    frames(Curious, steps=2)
    for view in seen:
        arrays, todo, known = [], [view], set()
        while todo:
            one = todo.pop()
            if id(one) in known or isinstance(one, type) or not type(one).__module__.startswith(("fedabm", "numpy")):
                continue
            known.add(id(one))
            arrays += [one] if isinstance(one, np.ndarray) else []
            todo += [one.base] if isinstance(one, np.ndarray) else [*gc.get_referents(one), *vars(one).values()]
        assert arrays
        assert max(array.size for array in arrays) <= 10
