"""What a Mesa user tries works, or says in one line why not."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import mesa
import numpy as np
import pytest

from fedabm import Federation, InputError, OwnerProfile, Scenario, population
from fedabm.games.accuracy import GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Linear, Quadratic
from fedabm.mechanisms import ContributionSubsidy, NoPayments, ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.simulation.agents import Owner
from fedabm.strategies import BestResponse, FixedShare, FreeRider, Honest, Random
from tests.conftest import assert_equal_frames, batch, mixed, two_owners


def federation(n: int = 4, **changes) -> Federation:
    owners = population(np.linspace(0.01, 0.02, n), 10.0, FixedShare(0.5))
    return Federation(replace(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=20), **changes), 3)


# Agents as Mesa has them


def test_select_get_agg_set_do_and_groupby():
    model = federation()
    model.step()
    cheap = model.agents.select(lambda owner: owner.row < 2)
    assert cheap.get("contribution") == [5.0, 5.0]
    assert model.agents.get(["row", "utility"])[0][0] == 0
    assert model.agents.agg("contribution", np.sum) == 20.0
    cheap.set("strategy", Honest())
    model.step()
    assert model.agents.get("contribution") == [10.0, 10.0, 5.0, 5.0]
    assert model.agents.sort("contribution", ascending=True)[0].row in (2, 3)
    assert set(model.agents.groupby("stayed").groups) == {True}
    assert model.agents_by_type[Owner].get("row") == [0, 1, 2, 3]
    assert model.agents.map(lambda owner: owner.unique_id) == [0, 1, 2, 3]


def test_what_can_be_set_between_steps_counts_in_the_next():
    model = federation()
    model.step()
    owner = model.agents[1]
    owner.capacity = 4.0
    owner.cost_function = Quadratic(0.5)
    model.step()
    assert (owner.contribution, owner.cost) == (2.0, 2.0)
    owner.contribution = 1.5
    assert model.population.claimed[1] == 1.5
    model.step()
    assert owner.contribution == 2.0  # it decides again


@pytest.mark.parametrize("name", ["accuracy", "payment", "cost", "utility", "stayed"])
def test_results_cannot_be_set_and_say_what_can(name):
    model = federation()  # held: agents live no longer than their model
    with pytest.raises(AttributeError, match=f"an owner's {name} is a result; set its strategy"):
        model.agents.set(name, 1.0)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, 11.0])
def test_a_contribution_beyond_the_data_is_refused(wrong):
    model = federation()
    with pytest.raises(InputError, match="owner 0 cannot contribute"):
        model.agents[0].contribution = wrong


def test_owners_do_not_step_by_themselves():
    model = federation()
    with pytest.raises(InputError, match=r"call model\.step\(\)"):
        model.agents.do("step")


# Leaving


def test_remove_takes_an_owner_out_of_the_federation():
    model = federation()
    model.step()
    gone = model.agents[2]
    gone.remove()
    model.step()
    assert model.present == 3
    assert [owner.row for owner in model.agents] == [0, 1, 3]
    assert model.total_contribution == 15.0
    frame = model.frames().owners.query("step == 2").set_index("owner")
    assert not frame.loc[2, "stayed"]
    assert frame.loc[2, ["contribution", "payment", "utility"]].tolist() == [0.0, 0.0, 0.0]
    gone.remove()  # as in Mesa, once more does nothing
    assert model.present == 3


def test_a_removed_owner_equals_one_that_was_never_there():
    model = federation(4)
    model.agents[3].remove()
    fewer = Federation(replace(model.scenario, owners=model.scenario.owners[:3]), 3)
    for made in (model, fewer):
        for _ in range(3):
            made.step()
    np.testing.assert_array_equal(model.population.utility[:3], fewer.population.utility)


def test_a_run_at_rest_goes_on_when_somebody_leaves():
    model = Federation(two_owners()).run()
    assert model.status == "converged"
    model.agents[0].remove()
    assert model.running
    model.run()
    assert model.population.contribution[1] == pytest.approx(1.0)
    assert model.status == "converged"


def test_the_last_one_may_leave():
    model = federation(1)
    model.step()
    model.agents[0].remove()
    model.step()
    assert model.present == 0


# Joining


@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(shuffle=True), RandomSubset(2)])
def test_owners_can_be_added_while_a_run_goes_on(activation):
    model = federation(activation=activation)
    model.step()
    added = Owner(model, OwnerProfile(Linear(0.01), 7.0, Honest(), role="latecomer"))
    assert (added.row, added.stayed, len(model.agents)) == (4, False, 5)
    for _ in range(8):
        model.step()
    assert added.contribution == 7.0
    assert model.ledger.balances.shape == (5,)
    assert model.server_balance == pytest.approx(0.0, abs=1e-12)
    frame = model.frames().owners
    assert frame.groupby("step").size().tolist() == [4] + [5] * 8
    assert set(frame.query("owner == 4")["role"]) == {"latecomer"}
    assert frame.query("owner == 4")["strategy"].unique().tolist() == ["honest"]


def test_an_added_owner_equals_one_that_joins_by_its_profile():
    late = OwnerProfile(Linear(0.01), 7.0, Random())
    model = federation()
    model.step()
    model.add(late)
    planned = Federation(replace(model.scenario, owners=(*model.scenario.owners, replace(late, joins=2))), 3)
    for made in (model, planned):
        while made.steps < 5:
            made.step()
    np.testing.assert_array_equal(model.population.contribution, planned.population.contribution)
    np.testing.assert_array_equal(model.population.utility, planned.population.utility)


def test_create_agents_of_mesa_adds_owners():
    model = federation()
    Owner.create_agents(model, 3, OwnerProfile(Linear(0.01), 7.0, Honest()))
    model.step()
    assert model.present == 7
    assert model.agents.agg("contribution", sum) == 4 * 5.0 + 3 * 7.0


def test_an_accuracy_of_so_many_owners_has_so_many_seats():
    """Weights for five, four at the beginning; the fifth seat can be taken, a sixth does not exist."""
    accuracy = GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 1, 1, 0, 1))
    owners = population([0.01] * 4, 10.0, BestResponse())
    model = Federation(Scenario(owners, accuracy, ShapleyShare(), Sequential(), seats=5))
    model.step()
    late = OwnerProfile(Linear(0.01), 10.0)
    model.add(late)
    model.run()
    whole = Federation(Scenario((*owners, late), accuracy, ShapleyShare(), Sequential())).run()
    np.testing.assert_allclose(model.population.contribution, whole.population.contribution, atol=1e-6)
    with pytest.raises(InputError, match="no room for an owner 5: the accuracy knows 5 owners"):
        model.add(late)
    with pytest.raises(InputError, match="4 owners but an accuracy for 3"):
        Scenario(owners, RandomCoverage(np.full((3, 2), 0.1)))


def test_added_owners_survive_a_checkpoint_and_removed_ones_stay_away(tmp_path):
    model = federation()
    model.step()
    model.add(OwnerProfile(Linear(0.01), 7.0, Random()))
    model.agents[0].remove()
    model.step()
    checkpoint.save(model, tmp_path / "run")
    again = checkpoint.restore(tmp_path / "run", model.scenario)
    assert [owner.row for owner in again.agents] == [1, 2, 3, 4]
    for made in (model, again):
        while made.steps < 6:
            made.step()
    assert_equal_frames(model.frames(), again.frames())


# An owner with a mind of its own


class Miser(Owner):
    """Gives less and less, and counts how often it was asked."""

    def __init__(self, model, profile=None, *, row=None):
        super().__init__(model, profile, row=row)
        self.asked = 0

    def decide(self, view):
        self.asked += 1
        return view.truthful(view.capacity / (1.0 + self.asked))


def test_a_subclass_of_owner_decides_for_itself_beside_the_vectorised_ones(tmp_path):
    owners = (*population([0.01] * 3, 10.0, FixedShare(0.5)), *population([0.01] * 2, 10.0, agent=Miser))
    model = Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=6))
    model.step()
    model.step()
    assert model.agents.get("contribution") == pytest.approx([5.0, 5.0, 5.0, 10 / 3, 10 / 3])
    assert model.agents_by_type[Miser].get("asked") == [2, 2]
    checkpoint.save(model, tmp_path / "run")
    assert_equal_frames(checkpoint.restore(tmp_path / "run", model.scenario).run().frames(), model.run().frames())
    assert model.status == "stopped"  # who decides for itself may always move again


def test_a_subclass_sees_what_a_strategy_sees():
    class Copy(Owner):
        def decide(self, view):
            return BestResponse().act(view)

    plain = Federation(two_owners()).run()
    own = two_owners(owners=population([0.1, 0.25], 100.0, agent=Copy), steps=plain.steps)
    np.testing.assert_array_equal(Federation(own).run().population.utility, plain.population.utility)


@pytest.mark.parametrize("wrong", [3, FreeRider, "Owner", FreeRider()])
def test_only_agents_can_be_agents(wrong):
    with pytest.raises(InputError, match="must be a subclass of Owner"):
        OwnerProfile(Linear(0.1), 1.0, agent=wrong)


# Data collection and batches


def test_a_data_collector_with_agent_reporters_takes_the_place_of_ours():
    model = federation()
    model.datacollector = mesa.DataCollector(
        model_reporters={"welfare": "welfare", "most": lambda m: m.agents.agg("utility", max)},
        agent_reporters={"gives": "contribution", "label": lambda owner: owner.strategy.label},
    )
    model.run()
    frame = model.datacollector.get_agent_vars_dataframe()
    assert frame["gives"].loc[1].tolist() == [5.0] * 4
    assert set(frame["label"]) == {"fixed_share"}
    assert len(model.datacollector.get_model_vars_dataframe()) == model.steps
    assert model.frames().steps["welfare"].tolist() == model.datacollector.model_vars["welfare"]


class Reported(Federation):
    """A federation with agent reporters, as Mesa users write one."""

    def __init__(self, scenario, seed=0):
        super().__init__(scenario, seed)
        self.datacollector = mesa.DataCollector({"total": "total_contribution"}, {"utility": "utility"})


def test_batch_run_with_agent_reporters():
    rows = batch(Reported, mixed(steps=3, mechanism=NoPayments()), data_collection_period=-1)
    assert {row["seed"] for row in rows} == {1, 2}
    assert {"AgentID", "utility", "total"} <= set(rows[0])
    assert len({row["AgentID"] for row in rows}) == len(mixed().owners)


def test_what_a_visualisation_needs_of_a_model():
    """SolaraViz makes it from keywords, steps while `running`, and reads the DataCollector; reset makes another."""
    parameters = {"scenario": mixed(steps=3), "seed": 2}
    model = Federation(**parameters)
    while model.running:
        model.step()
    shown = model.datacollector.get_model_vars_dataframe()
    assert {"welfare", "contribution"} <= set(shown.columns)
    assert len(shown) == model.steps
    again = type(model)(**parameters).run()
    assert_equal_frames(again.frames(), model.frames())


@dataclass(frozen=True)
class Plain:
    """Anything that can be pickled."""


def test_scenarios_with_networks_and_agents_can_be_pickled():
    given = two_owners(owners=population([0.1, 0.25], 100.0, agent=Miser))
    assert pickle.loads(pickle.dumps(given)) == given


# Adding owners where models are learned


def test_an_owner_whose_data_are_at_hand_can_join_a_training_later():
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import IID
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.oracles import Learning, Trained

    data = from_partition(load_dataset("digits"), IID(4))
    for make in (Trained, Learning):
        oracle = make(Engine("logistic", data, device="cpu"))
        owners = population([0.001] * 3, 50.0, Honest())
        model = Federation(Scenario(owners, oracle, steps=5, seats=4))
        model.step()
        model.add(OwnerProfile(Linear(0.001), 50.0, Honest()))
        model.step()
        assert model.total_contribution == 200.0
        assert (model.population.accuracy > 0.0).all()


def test_an_owner_can_join_a_market_of_given_models():
    from fedabm.mechanisms import ModelMarket, market

    distances = np.full((4, 4), 0.1) - 0.1 * np.eye(4)
    owners = tuple(OwnerProfile(Linear(0.5), 100.0, Honest(), eagerness=2e4) for _ in range(4))
    scenario = Scenario(
        owners[:3], market.GivenModels(distances), ModelMarket(), steps=5, seats=4, valuation=market.ImportGain()
    )
    model = Federation(scenario)
    model.step()
    model.add(owners[3])
    model.step()
    whole = Federation(replace(scenario, owners=owners, seats=None))
    whole.step()
    np.testing.assert_allclose(model.population.utility, whole.population.utility)
    assert model.server_balance == 0.0


# Agents that remove and add others in the middle of a step, as in many Mesa models


class Hunter(Owner):
    """Removes the last other owner in step 2, and sends one more in step 3."""

    def decide(self, view):
        if view.step == 2:
            self.model.agents.select(lambda owner: owner is not self)[-1].remove()
        if view.step == 3:
            Owner(self.model, OwnerProfile(Linear(0.01), 3.0, Honest()))
        return view.truthful(view.capacity)


@pytest.mark.parametrize("first", [True, False], ids=["hunter first", "hunter last"])
@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(), RandomSubset(4)])
def test_agents_may_remove_and_add_owners_while_they_decide(activation, first):
    hunter, others = population([0.01], 10.0, agent=Hunter), population([0.01] * 3, 10.0, FixedShare(0.5))
    owners = (*hunter, *others) if first else (*others, *hunter)
    model = Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), activation, steps=6))
    present = [model.step() or model.present for _ in range(4)]
    assert present == [4, 3, 3, 4]
    assert model.total_contribution == 10.0 + 2 * 5.0 + 3.0
    gone = 3 if first else 2
    assert not model.population.stayed[gone]
    assert model.population.contribution[gone] == model.population.utility[gone] == 0.0


def test_an_agent_may_remove_itself_while_it_decides():
    class Leaver(Owner):
        def decide(self, view):
            self.remove()
            return view.truthful(view.capacity)

    owners = (*population([0.01], 10.0, agent=Leaver), *population([0.01], 10.0, Honest()))
    model = Federation(Scenario(owners, PowerLaw()))
    model.step()
    assert (model.present, model.total_contribution) == (1, 10.0)


MISUSED = {
    "no model": (lambda model: Owner(None, OwnerProfile(Linear(0.1), 1.0)), "takes part in a Federation, got None"),
    "another model": (lambda model: Owner(mesa.Model(), OwnerProfile(Linear(0.1), 1.0)), "takes part in a Federation"),
    "no profile": (lambda model: Owner(model), "an owner's profile must be an OwnerProfile, got None"),
    "a number": (lambda model: model.add(3), "an owner's profile must be an OwnerProfile, got 3"),
    "no network": (
        lambda model: model.add(OwnerProfile(Linear(0.1), 1.0), sees=[0]),
        r"cannot see \[0\] without a network; give the scenario one",
    ),
    "no strategy": (lambda model: model.agents.set("strategy", 3), "strategy must be a Strategy, got 3"),
    "no cost": (lambda model: model.agents.set("cost_function", 0.1), "cost must be a Cost, got 0.1"),
    "a word": (lambda model: model.agents.set("contribution", "much"), "contribution must be a number, got 'much'"),
    "another row": (lambda model: model.agents.set("row", 3), "an owner's row is its place in the frames"),
    "another number": (lambda model: model.agents.set("unique_id", 3), "an owner's unique_id is its place"),
}


@pytest.mark.parametrize(("wrong", "said"), MISUSED.values(), ids=MISUSED.keys())
def test_what_does_not_work_says_why_in_one_line(wrong, said):
    with pytest.raises((InputError, AttributeError), match=said) as error:
        wrong(federation())
    assert "\n" not in str(error.value)


def test_agents_may_carry_what_their_users_like():
    model = federation()
    model.agents.set("mood", "calm")
    model.step()
    assert model.agents.get("mood") == ["calm"] * 4
