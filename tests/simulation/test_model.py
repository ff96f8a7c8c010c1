from dataclasses import dataclass, replace

import mesa
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, InputError, OwnerProfile, Scenario, population
from fedabm.common.errors import UserCodeError
from fedabm.games.accuracy import GroupWeighted, JointQuadratic, PowerLaw
from fedabm.games.costs import Affine, Linear, Quadratic
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare, ValueShaping
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.strategies import (
    BestResponse,
    FixedShare,
    FreeRider,
    GradientResponse,
    Honest,
    Liar,
    Quitter,
    Random,
    Strategy,
)
from fedabm.views import Action, OwnerView
from tests.conftest import Says, assert_equal_frames, batch, mixed, run, two_owners
from tests.mechanisms.test_mechanisms import PROMISING

ACTIVATIONS = [Simultaneous(), Sequential(), Sequential(shuffle=True), RandomSubset(3)]


# Repeatable


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_same_seed_same_frames_and_another_seed_others(activation):
    scenario = mixed(activation=activation)
    one, two, other = (run(scenario, seed).frames() for seed in (7, 7, 8))
    assert_equal_frames(one, two)
    with pytest.raises(AssertionError):
        pd.testing.assert_frame_equal(one.owners, other.owners)


def test_mesa_batch_run_works():
    rows = pd.DataFrame(batch(Federation, mixed(steps=5)))
    last = rows.groupby("seed").last()
    for seed in (1, 2):
        frames = run(mixed(steps=5), seed).frames()
        assert last.loc[seed, "contribution"] == frames.steps["contribution"].iloc[-1]


@pytest.mark.parametrize("record", [3, None])
def test_mesa_batch_run_works_with_thinned_recording(record):
    rows = batch(Federation, mixed(steps=5, record=record), data_collection_period=-1)
    assert rows[-1]["contribution"] == run(mixed(steps=5), 2).frames().steps["contribution"].iloc[-1]


def test_owners_and_server_are_mesa_agents():
    model = run(two_owners())
    assert isinstance(model, mesa.Model)
    assert len(model.agents) == 2
    assert model.owners.get("contribution") == model.population.contribution.tolist()
    assert [agent.unique_id for agent in model.owners] == [0, 1]
    for name in ("capacity", "accuracy", "payment", "utility", "stayed", "strategy"):
        assert len(model.owners.get(name)) == 2
    assert model.owners.get("cost") == model.population.cost_paid.tolist()


# The round


def test_one_round_by_hand():
    """Contributions (3, 1), a = 1 - 1/5, subsidy .05 per unit: the first gets .05 (3 - 1), which the second pays."""
    owners = population([0.1, 0.2], [6.0, 10.0], [FixedShare(0.5), FixedShare(0.1)])
    model = Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.05)))
    model.step()
    people = model.population
    np.testing.assert_allclose(people.contribution, [3.0, 1.0])
    np.testing.assert_allclose(people.accuracy, [0.8, 0.8])
    np.testing.assert_allclose(people.payment, [0.1, -0.1])
    np.testing.assert_allclose(people.utility, [0.8 - 0.3 + 0.1, 0.8 - 0.2 - 0.1])
    assert (model.total_contribution, model.present, model.rejected) == (4.0, 2, 0)
    np.testing.assert_allclose([model.welfare, model.transferred, model.mean_accuracy], [1.1, 0.1, 0.8])


def test_payments_follow_claims_and_accuracy_follows_the_truth():
    owners = population([0.1, 0.1], 10.0, [Liar(FixedShare(0.1), contribution_factor=3.0), FixedShare(0.1)])
    model = Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.05)))
    model.step()
    np.testing.assert_allclose(model.population.payment, [0.1, -0.1])
    np.testing.assert_allclose(model.population.accuracy, 1 - 1 / 3)


def test_utility_is_accuracy_less_cost_plus_payment_in_every_row():
    owners = run(mixed()).frames().owners
    np.testing.assert_array_equal(owners["utility"], owners["accuracy"] + owners["payment"] - owners["cost"])


def test_a_fixed_cost_is_paid_even_for_nothing():
    owners = [OwnerProfile(Affine(0.1, 0.05), 10.0, FreeRider()), OwnerProfile(Quadratic(0.1), 10.0, FixedShare(0.2))]
    model = Federation(Scenario(owners, PowerLaw()))
    model.step()
    np.testing.assert_allclose(model.population.cost_paid, [0.05, 0.4])


def test_groups_may_value_data_differently():
    accuracy = GroupWeighted(weights=((1.0, 0.5), (0.0, 1.0)), groups=(0, 1))
    model = Federation(Scenario(population([0.1, 0.1], [1.0, 2.0], Honest()), accuracy))
    model.step()
    np.testing.assert_allclose(model.population.accuracy, [2 / 3, 2 / 3])


def test_a_mechanism_that_breaks_its_promise_of_balance_is_caught():
    class Generous(ContributionSubsidy):
        def offers(self, accuracy, reports):
            offers = super().offers(accuracy, reports)
            return replace(offers, payment=replace(offers.payment, intercept=np.ones(len(reports.size))))

    owners = population([0.1, 0.1], 1.0)
    with pytest.raises(InputError, match="promises a balanced budget"):
        Federation(Scenario(owners, PowerLaw(), Generous(0.1))).step()


# Convergence and the certified gap


def test_the_known_equilibrium_is_reached_and_certified():
    model = run(two_owners())
    assert model.converged
    np.testing.assert_allclose(model.population.contribution, [10**0.5 - 1, 0.0], atol=1e-7)
    assert 0 <= model.gap < 1e-12


@given(
    st.lists(st.floats(0.01, 0.5), min_size=2, max_size=4),
    st.floats(0.0, 0.2),
    st.floats(0.2, 1.5),
    st.integers(0, 1000),
)
def test_the_gap_bounds_every_deviation_on_a_grid(costs, rate, exponent, seed):
    rng = np.random.default_rng(seed)
    capacities = rng.uniform(1.0, 20.0, len(costs))
    shares = [FixedShare(float(share)) for share in rng.uniform(0, 1, len(costs))]
    accuracy, mechanism = PowerLaw(exponent=exponent, scale=1.3), ContributionSubsidy(rate)
    model = Federation(Scenario(population(costs, capacities, shares), accuracy, mechanism, steps=1)).run()
    profile = model.population.contribution
    regrets = model.regrets()
    for owner, capacity in enumerate(capacities):
        trials = np.repeat(profile[None], 400, axis=0)
        trials[:, owner] = np.linspace(0.0, capacity, 400)
        others = (trials.sum(axis=1) - trials[:, owner]) / (len(costs) - 1)
        utility = (
            accuracy.values(trials)[:, owner] + rate * (trials[:, owner] - others) - costs[owner] * trials[:, owner]
        )
        now = model.population.utility[owner]
        best = utility.max() - now
        assert regrets[owner] >= best - 1e-12
        # the grid is fine enough to come close to the certified bound
        assert regrets[owner] <= max(best, 0.0) + 0.02 * capacity
    assert model.gap == regrets.max()


def test_the_gap_away_from_equilibrium_is_what_the_best_deviation_gains():
    """Nobody contributes; the first owner could gain (1 - .1^(1/2))^2, the second (1 - .25^(1/2))^2."""
    model = Federation(two_owners(strategies=FreeRider()))
    model.step()
    np.testing.assert_allclose(model.regrets(), [(1 - 0.1**0.5) ** 2, (1 - 0.25**0.5) ** 2], rtol=1e-9)


def test_nobody_regrets_what_it_cannot_know():
    """One owner gives 1 and claims 5, so the other gives nothing; if it knew, it would give 10^(1/2) - 2."""
    owners = population([0.1, 0.1], 10.0, [Says(1.0, claimed=5.0), BestResponse()])
    model = run(Scenario(owners, PowerLaw(), activation=Sequential()))
    assert model.population.contribution.tolist() == [1.0, 0.0]
    believed, known = model.regrets(), model.regrets(true=True)
    first = (1 - 0.1**0.5) ** 2 - 0.4  # alone it would give 10^(1/2) - 1
    np.testing.assert_allclose(believed, [first, 0.0], atol=1e-12)
    second = (1 - 10**-0.5 - 0.1 * (10**0.5 - 2)) - 0.5
    np.testing.assert_allclose(known, [first, second], atol=1e-12)
    assert model.frames().runs["gap"][0] == believed.max()


@pytest.mark.parametrize("mechanism", PROMISING.values(), ids=PROMISING.keys())
def test_without_lies_both_regrets_are_the_same(mechanism):
    owners = population([0.02, 0.03, 0.05], 8.0, [BestResponse(), FixedShare(0.4), FreeRider()])
    model = Federation(Scenario(owners, PowerLaw(exponent=0.7), mechanism, steps=2)).run()
    np.testing.assert_array_equal(model.regrets(), model.regrets(true=True))


def test_a_lie_that_is_only_told_still_keeps_the_run_going():
    """The liar never moves, but what it says does at first; the other responds to it before the run may end."""
    owners = population([0.1, 0.1], 10.0, [Says(1.0, claimed=5.0), BestResponse()], starts=[1.0, 10**0.5 - 2])
    model = run(Scenario(owners, PowerLaw(), activation=Simultaneous()))
    assert model.at_rest
    assert model.population.contribution[1] == 0.0


def test_a_silent_departure_keeps_the_run_going():
    """An owner that gives nothing leaves; what the others should do changes with the mean that they are compared to."""

    @dataclass(frozen=True)
    class Leaves(Strategy):
        def act(self, view: OwnerView) -> Action:
            action = view.truthful(np.zeros(len(view.capacity)))
            return replace(action, stay=np.full(len(view.capacity), view.step < 3))

    owners = population([0.1, 0.1, 0.1], 10.0, [Leaves(), FixedShare(0.5), FixedShare(0.1)])
    model = Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01)))
    for _ in range(2):
        model.step()
    assert model.present == 3
    model.running = True
    model.step()
    assert (model.present, model.at_rest, model.moved) == (2, False, 1.0)
    model.step()
    assert model.at_rest


# Broken strategies


BAD = [(field, bad) for field in ("contribution", "claimed", "size") for bad in (np.nan, np.inf, -np.inf, -1.0, 1e300)]


@pytest.mark.parametrize(("field", "number"), BAD)
@pytest.mark.parametrize("activation", [Simultaneous(), Sequential()])
def test_a_broken_strategy_hurts_nobody_else(field, number, activation):
    broken = Says(number) if field == "contribution" else Says(1.0, **{field: number})
    frames = {}
    for name, strategy in (("broken", broken), ("idle", FreeRider())):
        owners = population([0.01, 0.02, 0.03], 10.0, [BestResponse(0.5), strategy, FixedShare(0.2)])
        scenario = Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), activation, steps=6, tolerance=0.0)
        frames[name] = run(scenario).frames()
    rejected = frames["broken"].owners.query("owner == 1")
    assert rejected["rejected"].all()
    assert (rejected[["contribution", "reported_contribution"]] == 0).all(axis=None)
    assert (frames["broken"].steps["rejected"] == 1).all()
    one, two = (frames[name].owners.query("owner != 1").drop(columns="strategy") for name in frames)
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize("mechanism", [CostSharing(), CostSharing(0.5), ValueShaping()])
def test_a_cost_of_another_form_is_rejected_and_stops_nobody(mechanism):
    class Bends(Strategy):
        def act(self, view: OwnerView) -> Action:
            action = view.truthful(0.5 * view.capacity)
            return replace(action, report=replace(action.report, cost=Quadratic(view.cost.rate)))

    owners = population([0.01, 0.02, 0.03], 10.0, [BestResponse(), Bends(), FixedShare(0.2)])
    frames = run(Scenario(owners, PowerLaw(), mechanism, steps=3, tolerance=0.0)).frames()
    assert (frames.owners["rejected"] == (frames.owners["owner"] == 1)).all()
    assert np.isfinite(frames.owners["utility"]).all()


def test_rounding_of_huge_amounts_is_no_broken_promise():
    owners = population([0.1, 0.2, 0.3], 10.0, FixedShare(0.5))
    model = Federation(Scenario(owners, JointQuadratic(), ShapleyShare(), steps=2))
    assert model.accuracy.at_zero(3).max() < -1e6
    assert model.run().server_balance == pytest.approx(0.0, abs=1e-6)


def test_a_broken_strategy_that_recovers_counts_again():
    owners = population([0.01, 0.01], 10.0, [Says(np.nan, until=2), Honest()])
    model = Federation(Scenario(owners, PowerLaw(), steps=4))
    for _ in range(4):
        model.step()
    frames = model.frames()
    assert frames.owners.query("owner == 0")["rejected"].tolist() == [True, True, False, False]


def test_contributions_above_the_capacity_are_cut():
    model = run(Scenario(population([0.01], 10.0, Says(99.0)), PowerLaw(), steps=3))
    assert model.population.contribution.tolist() == [10.0]


def test_actions_of_the_wrong_shape_are_refused():
    @dataclass(frozen=True)
    class Clumsy(Strategy):
        def act(self, view: OwnerView) -> Action:
            return view.truthful(np.zeros(len(view.capacity) + 1))

    with pytest.raises(UserCodeError, match="one number per row"):
        Federation(Scenario(population([0.1, 0.1], 1.0, Clumsy()), PowerLaw())).step()


def test_a_strategy_cannot_change_its_secrets_in_place():
    @dataclass(frozen=True)
    class Vandal(Strategy):
        def act(self, view: OwnerView) -> Action:
            view.cost.rate[:] = 0.0
            return view.truthful(view.capacity)

    with pytest.raises(UserCodeError, match="read-only"):
        Federation(Scenario(population([0.1, 0.1], 1.0, Vandal()), PowerLaw())).step()


# Leaving


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_quitter_leaves_after_a_loss_for_good_and_the_rest_still_balance(activation):
    strategies = [BestResponse(0.5), Quitter(Honest()), FixedShare(0.5), Random()]
    owners = population([0.01, 0.5, 0.02, 0.02], 10.0, strategies)
    scenario = Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), activation, steps=20)
    frames = run(scenario).frames()
    stayed = frames.owners.query("owner == 1").set_index("step")["stayed"]
    loss = frames.owners.query("owner == 1").set_index("step")["utility"]
    left = int(stayed.idxmin())
    assert not stayed.loc[left:].any()
    assert stayed.loc[: left - 1].all()
    assert loss.loc[left - 1] < 0
    gone = frames.owners[(frames.owners["owner"] == 1) & (frames.owners["step"] >= left)]
    columns = ["contribution", "reported_contribution", "accuracy", "cost", "payment", "utility"]
    assert (gone[columns] == 0).all(axis=None)
    sums = frames.owners.groupby("step")["payment"].sum()
    np.testing.assert_allclose(sums, 0.0, atol=1e-15)
    late = frames.transfers[frames.transfers["step"] >= left]
    assert not late[["payer", "payee"]].isin([1]).any(axis=None)
    assert (frames.steps.set_index("step")["present"].loc[left:] == 3).all()


def test_a_tolerated_loss_is_no_reason_to_leave():
    owners = population([0.5], 2.0, Quitter(Honest(), tolerance=0.5))
    assert run(Scenario(owners, PowerLaw(), steps=5)).present == 1


def test_a_quitter_that_starts_with_everything_leaves_too():
    """It does not move in the first step, and still has to see what the first step brings."""
    owners = population([0.5, 0.01], 10.0, [Quitter(Honest()), FreeRider()], starts=[10.0, 0.0])
    model = run(Scenario(owners, PowerLaw(), steps=20))
    assert model.population.stayed.tolist() == [False, True]


GROUPED = GroupWeighted(weights=((1.0, 0.5), (0.0, 1.0)), groups=(0, 1, 1))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("accuracy", [PowerLaw(), GROUPED])
@pytest.mark.parametrize("mechanism", [NoPayments(), ContributionSubsidy(0.01)])
def test_everyone_may_leave(activation, accuracy, mechanism):
    owners = population([0.9, 0.8, 0.7], 10.0, Quitter(Honest()))
    model = run(Scenario(owners, accuracy, mechanism, activation, steps=50))
    assert model.converged
    assert (model.present, model.mean_accuracy, model.total_contribution, model.welfare, model.gap) == (0, 0, 0, 0, 0)
    model.step()
    frames = model.frames()
    assert frames.runs["status"].tolist() == ["converged"]
    assert frames.steps["present"].iloc[-1] == 0


# Bad descriptions


def profile(**changes):
    return OwnerProfile(**{"cost": Linear(0.1), "capacity": 1.0, **changes})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: population([-0.1], 1.0), "cost rate must be zero or a positive number, got -0.1"),
        (lambda: population([np.nan], 1.0), "cost rate .* got nan"),
        (lambda: population(["cheap"], 1.0), "cost rate must be a number, got 'cheap'"),
        (lambda: population(0.1, 1.0), "costs must be a list"),
        (lambda: population([], 1.0), "empty list of costs"),
        (lambda: population([0.1], 0.0), "capacity must be a positive number, got 0"),
        (lambda: population([0.1], np.nan), "capacities must be finite, got nan"),
        (lambda: population([0.1], "much"), "capacities must be a number"),
        (lambda: population([0.1, 0.2, 0.3], [1.0, 2.0]), "2 values of capacities but 3 owners"),
        (lambda: population([0.1, 0.2], 1.0, [Honest()]), "1 strategies but 2 costs"),
        (lambda: population([0.1, 0.2], 1.0, Honest), "must be a strategy"),
        (lambda: population([0.1, 0.2], 1.0, "honest"), "strategies but 2 costs|must be a strategy"),
        (lambda: population([0.1], 1.0, starts=-1.0), "starting contribution must lie between"),
        (lambda: profile(capacity=None), "capacity must be a positive number|capacity must be a number"),
        (lambda: profile(capacity="x"), "capacity must be a number, got 'x'"),
        (lambda: profile(cost=0.1), "must be a cost function"),
        (lambda: profile(cost=Linear(np.array([0.1, 0.2]))), "an owner has one cost"),
        (lambda: profile(start=2.0), "starting contribution"),
        (lambda: two_owners(owners=()), "needs owners, got none"),
        (lambda: two_owners(accuracy="power law"), "accuracy must be an Accuracy, got 'power law'"),
        (lambda: two_owners(mechanism=NoPayments), "mechanism must be"),
        (lambda: two_owners(activation="all"), "activation must be"),
        (lambda: two_owners(steps=0), "steps must be a whole number from 1 on, got 0"),
        (lambda: two_owners(steps=2.5), "steps must be a whole number"),
        (lambda: two_owners(steps="9"), "steps must be a whole number"),
        (lambda: two_owners(record=0), "record must be a whole number"),
        (lambda: two_owners(tolerance=-1.0), "tolerance must be zero or a positive number"),
        (lambda: two_owners(accuracy=GROUPED), "2 owners but an accuracy for 3"),
        (lambda: GradientResponse(0.0), "gradient step must be a positive number, got 0"),
        (lambda: BestResponse(1.5), "rationality must lie between 0 and 1, got 1.5"),
        (lambda: FixedShare("half"), "contributed share must be a number, got 'half'"),
        (lambda: Random(0.5, 0.2), "highest share"),
        (lambda: Liar(Honest), "a liar wraps a strategy"),
        (lambda: Liar(Honest(), cost_factor=-1), "cost_factor"),
        (lambda: Quitter("honest"), "a quitter wraps a strategy"),
        (lambda: Quitter(Honest(), tolerance=np.nan), "tolerated loss"),
    ],
)
def test_bad_input_is_refused_in_one_line_with_what_got_and_remedy(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)
