"""Costs never fall, are convex between their kinks, and everybody is charged by its own function."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Federation, Game, OwnerProfile, Scenario, population, solve
from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import (
    Affine,
    Cost,
    Linear,
    Piecewise,
    Power,
    PowerCost,
    Quadratic,
    Tabulated,
    check_costs,
    costs_of,
    of_one_kind,
    replaced,
    stack,
)
from fedabm.mechanisms import CostSharing, ModelMarket, NoPayments, ValueShaping
from fedabm.mechanisms.market import market_reports, unit_costs_of
from fedabm.simulation.checkpoint import restore, save
from fedabm.solving.metrics import alone_utilities
from fedabm.strategies import BestResponse, FixedShare, Keep, Liar, Strategy
from tests.own_costs import CAPACITY, Congested, Discs, any_cost, closed_costs, own_costs, powers

populations = st.lists(any_cost, min_size=1, max_size=6)
smooth = st.lists(st.one_of(powers, st.builds(Congested, st.floats(0.0, 0.3), st.floats(0.01, 0.5))), min_size=1)


@given(owners=populations, seed=st.integers(0, 1000))
@settings(max_examples=50)
def test_never_falling_and_convex_between_kinks(owners, seed):
    cost, rng = stack(owners), np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0, CAPACITY, (2, len(owners))), axis=0)
    assert np.all(cost.value(high) >= cost.value(low) - 1e-12)
    kinks = cost.kinks(len(owners))
    together = ~np.any((kinks >= low[:, None]) & (kinks <= high[:, None]), axis=1) & cost.convex
    hollow = cost.value((low + high) / 2) - (cost.value(low) + cost.value(high)) / 2
    assert np.all(hollow[together] <= 1e-9)
    check_costs(cost, np.full(len(owners), CAPACITY))


@given(owners=smooth, seed=st.integers(0, 1000))
@settings(max_examples=50)
def test_slope_and_curvature_are_derivatives(owners, seed):
    cost, x, h = stack(owners), np.random.default_rng(seed).uniform(0.5, 5, len(owners)), 1e-5
    assert np.allclose(cost.slope(x), (cost.value(x + h) - cost.value(x - h)) / (2 * h), rtol=1e-6, atol=1e-6)
    assert np.allclose(cost.curvature(x), (cost.slope(x + h) - cost.slope(x - h)) / (2 * h), rtol=1e-4, atol=1e-4)


@given(owners=populations, seed=st.integers(0, 1000))
@settings(max_examples=50)
def test_stack_keeps_every_owner_apart(owners, seed):
    cost, trials = stack(owners), np.random.default_rng(seed).uniform(0, CAPACITY, (len(owners), 3))
    kinks = cost.kinks(len(owners))
    assert cost.owners == len(owners)
    for i, single in enumerate(owners):
        assert np.array_equal(cost.value(trials)[i], single.value(trials[i]))
        assert np.array_equal(cost.slope(trials)[i], single.slope(trials[i]))
        assert np.array_equal(cost.take([i]).value(trials[[i]]), cost.value(trials)[[i]])
        assert np.array_equal(kinks[i][np.isfinite(kinks[i])], single.kinks(1)[0])
    twice = np.array([*range(len(owners)), 0, 0])
    assert np.array_equal(cost.take(twice).value(trials[twice]), cost.value(trials)[twice])


@given(owners=populations, others=populations, seed=st.integers(0, 1000))
@settings(max_examples=50)
def test_rows_can_be_replaced_and_added(owners, others, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(owners) + len(others))[: len(others)]
    rows = rows if np.all(np.isin(np.arange(len(owners), rows.max() + 1), rows)) else np.arange(len(others))
    expected = dict(enumerate(owners)) | dict(zip(rows.tolist(), others, strict=True))
    made, x = replaced(stack(owners), rows, stack(others)), rng.uniform(0, CAPACITY, len(expected))
    assert made.owners == len(expected)
    for i, single in expected.items():
        assert made.value(x)[i] == single.value(x[[i]])[0]


@given(owners=populations, factor=st.floats(0.0, 10.0), seed=st.integers(0, 1000))
def test_a_lie_states_the_same_kind_of_cost_with_other_figures(owners, factor, seed):
    cost, x = stack(owners), np.random.default_rng(seed).uniform(0, CAPACITY, len(owners))
    lie = cost.scaled(factor)
    assert lie.value(x) == pytest.approx(factor * cost.value(x), rel=1e-12, abs=1e-300)
    assert lie.slope(x) == pytest.approx(factor * cost.slope(x), rel=1e-12, abs=1e-300)
    assert np.all(of_one_kind(cost, lie, len(owners)))
    assert lie.figures() == pytest.approx(factor * cost.figures(), rel=1e-12, abs=1e-300)


def test_kinds_differ_by_exponent_starts_and_function():
    costs = [Linear(1.0), Quadratic(1.0), Piecewise([0, 1], [1, 2]), Piecewise([0, 2], [1, 2]), Congested(1.0, 0.1)]
    others = [Congested(2.0, 0.1), Discs(1.0, 2.0, 0.0), *costs]
    for i, one in enumerate(costs):
        same = [bool(of_one_kind(stack([one]), stack([other]), 1)[0]) for other in others]
        assert same == [False, False, *(i == j for j in range(len(costs)))]


def test_by_hand():
    x = np.array([3.0])
    assert Linear(0.5).value(x) == 1.5
    assert Affine(0.5, 2.0).value(x) == 3.5
    assert Affine(0.5, 2.0).value(np.array([0.0])) == 2.0  # the fixed part is paid without data
    assert Quadratic(0.5).value(x) == 4.5
    assert Quadratic(0.5).slope(x) == 3.0
    assert Power(2.0, 3.0).value(x) == 54.0
    assert Power(2.0, 3.0).curvature(x) == 36.0
    assert Linear(0.5).scaled(5.0) == Linear(2.5)
    assert Affine(0.5, 2.0).scaled(2.0) == Affine(1.0, 4.0)
    overtime = Piecewise(starts=[0, 10, 20], slopes=[0.1, 0.2, 0.5], jumps=[1.0, 0.0, 3.0], fixed=0.5)
    x = np.array([0.0, 1e-9, 10.0, 20.0, 30.0])
    assert overtime.value(x) == pytest.approx([0.5, 1.5, 2.5, 4.5, 12.5])  # a jump is paid beyond its start
    assert overtime.slope(x).tolist() == pytest.approx([0.1, 0.1, 0.2, 0.5, 0.5])  # from the right
    assert overtime.kinks(2).tolist() == [[0.0, 10.0, 20.0]] * 2
    assert Piecewise([0, 4], 0.1).kinks(1).tolist() == [[4.0]]  # nothing jumps at 0
    table = Tabulated(points=[0, 0, 10, 20, 20, 40], costs=[0.5, 1.5, 2.5, 4.5, 7.5, 17.5])
    assert table.value(x) == pytest.approx(overtime.value(x))
    assert Tabulated([0, 1, 2, 3], [0, 0.1, 0.2, 0.3]).value(np.array([7.0])) == pytest.approx(0.7)


def test_at_zero():
    mixed = stack([Linear(1.0), Quadratic(1.0), Power(1.0, 1.5), Power(0.0, 1.5)])
    assert np.array_equal(mixed.slope(np.zeros(4)), [1.0, 0.0, 0.0, 0.0])
    assert np.array_equal(mixed.curvature(np.zeros(4)), [0.0, 2.0, np.inf, 0.0])


def test_single_costs_are_values():
    assert Linear(0.1) == Linear(0.1) != Linear(0.2)
    assert len({Linear(0.1), Linear(0.1), Power(0.1, 1.0)}) == 1
    assert pickle.loads(pickle.dumps(Affine(0.1, 2.0))) == Affine(0.1, 2.0)
    assert Linear(0.1).linear
    assert not stack([Linear(0.1), Quadratic(0.1)]).linear
    assert Piecewise([0, 1], [1, 2]) == Piecewise([0, 1], [1, 2]) != Piecewise([0, 1], [1, 3])
    assert len({Congested(0.1, 0.2).scaled(2.0), Congested(0.1, 0.2).scaled(2.0)}) == 1
    assert Congested(0.1, 0.2).scaled(3.0).scaled(0.5) == Congested(0.1, 0.2).scaled(1.5)


def test_one_family_stays_arrays():
    assert isinstance(stack([Linear(0.1), Quadratic(0.2)] * 3), PowerCost)
    mixed = stack([Linear(0.1), Congested(0.1, 0.2), Linear(0.3)])
    assert mixed.take([0, 2]).rate.tolist() == [0.1, 0.3]
    assert len(stack([Congested(0.1, 0.2)] * 100).parts) == 1  # equal functions are asked together


def test_costs_of_owners_from_numbers_lists_and_stacks():
    x = np.array([2.0, 2.0])
    for told in ([0.5, 0.5], (0.5, Linear(0.5)), np.array([0.5, 0.5]), 0.5, Linear(0.5), Linear([0.5, 0.5])):
        costs = costs_of(told, 2)
        assert costs.rate.shape == costs.exponent.shape == costs.fixed.shape == (2,)
        assert costs.value(x).tolist() == [1.0, 1.0]


@dataclass(frozen=True)
class Falls(Cost):
    """Falls."""

    def value(self, x):
        return 5.0 - 0.1 * x


@dataclass(frozen=True)
class Bare(Cost):
    """Not defined at 0."""

    def value(self, x):
        with np.errstate(divide="ignore"):
            return 10.0 + np.log(x)


@dataclass(frozen=True)
class Total(Cost):
    """Not elementwise."""

    def value(self, x):
        return np.sum(x)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: costs_of([0.1, "much"]), "must be a number or a Cost, got 'much'"),
        (lambda: Linear(-0.1), "cost rate must be zero or a positive number, got -0.1"),
        (lambda: Linear(float("nan")), "got nan"),
        (lambda: Linear([0.1, -0.2]), "got -0.2"),
        (lambda: Affine(0.1, -1.0), "fixed cost"),
        (lambda: Power(0.1, 0.5), "at least 1, got 0.5"),
        (lambda: Power(0.1, float("inf")), "at least 1, got inf"),
        (lambda: stack([]), "no owners"),
        (lambda: stack([Linear([0.1, 0.2])]), "several owners"),
        (lambda: Piecewise([1, 2], [1, 2]), "must start at 0"),
        (lambda: Piecewise([0, 2, 2], [1, 2, 3]), "larger contributions"),
        (lambda: Piecewise([0, 2], [1, 2, 3]), "3 slopes but 2 pieces"),
        (lambda: Piecewise([0, 2], [2, 1]), "slope falls from 2 to 1 at 2; let slopes rise"),
        (lambda: Piecewise([0, 2], [1, 2], [0, -1]), "jumps of a cost must be zero or a positive number"),
        (lambda: Tabulated([0, 1], [0, 1, 2]), "2 points but 3 costs"),
        (lambda: Tabulated([1, 2], [0, 1]), "from 0 upwards"),
        (lambda: Tabulated([0, 1, 1], [0, 1, 2]), "the last one once"),
        (lambda: Tabulated([0, 1, 2], [0, 1, 0.5]), "must not fall, got 1 and then 0.5"),
        (lambda: Tabulated([0, 1, 2], [0, 2, 3]), "convex but for jumps, its slope falls from 2 to 1 at 1"),
        (lambda: OwnerProfile(Falls(), 10.0), r"Falls\(\) falls between .* and .*; a cost must not fall"),
        (lambda: OwnerProfile(Bare(), 10.0), r"Bare\(\) is not finite at 0; define it for every contribution"),
        (lambda: OwnerProfile(Total(), 10.0), r"Total\(\) must be elementwise, got shape \(\)"),
        (lambda: OwnerProfile(stack([Linear(0.1)]), 10.0), "an owner has one cost"),
        (lambda: solve(Game(PowerLaw(), [Congested(0.1, 0.2)], 9, ValueShaping())), "value shaping needs linear costs"),
        (lambda: solve(Game(PowerLaw(), [Congested(0.1, 0.2)] * 2, 9, CostSharing())), "optimal rate needs linear"),
        (lambda: type("Mine", (PowerCost,), {}), "Mine would be charged as a PowerCost; write a subclass of Cost"),
    ],
)
def test_bad_input_is_one_clear_line(build, message):
    with pytest.raises(InputError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


# Everybody is charged by its own function


@dataclass(frozen=True)
class Steep(Cost):
    """Such a cost was once accepted and then charged as rate * s: 0.216 in place of 11.72 at 2.16."""

    rate: float = 0.1
    permit: float = 11.504
    breaks = (2.0,)

    def value(self, x):
        return self.rate * x + self.permit * (x > 2.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("cost", "capacity", "message"),
    [
        (lambda: Power(0.01, 1e48), 20.0, "cost exponent must be at most 1000, got 1e+48; .* lower the capacity"),
        (lambda: Power(0.01, 300.0), 20.0, "all 20 units of an owner cost inf, more than 1e.100; lower"),
        (lambda: Power(1e60, 2.0), 1e30, "all 1e.30 units of an owner cost 1e.120"),
    ],
)
def test_costs_beyond_all_numbers_are_refused_without_a_warning(cost, capacity, message):
    with pytest.raises(InputError, match=message.replace("1e+", "1e.")):
        Game(PowerLaw(), [cost(), Linear(0.1)], capacity, NoPayments())
    with pytest.raises(InputError, match=message.replace("1e+", "1e.")):
        OwnerProfile(cost(), capacity)


@pytest.mark.filterwarnings("error")
def test_the_steepest_cost_is_a_wall_and_no_warning():
    """(x / 1)^1000 is nothing below 1 and everything above."""
    found = solve(Game(PowerLaw(), [Power(0.01, 1000.0), Linear(0.1)], 1.2, NoPayments()))
    assert found.converged
    assert found.profile[0] == pytest.approx(1.0, abs=0.01)
    assert np.isinf(Power(0.01, 1000.0).value(np.array([100.0])))


def test_an_owner_is_charged_by_its_own_function_everywhere():
    at, own = 2.16, float(Steep().value(np.array(2.16)))
    assert own == pytest.approx(11.72)
    people = [OwnerProfile(Steep(), 10.0, Keep(), start=at), OwnerProfile(Linear(0.1), 10.0, Keep(), start=at)]
    model = Federation(Scenario(people, PowerLaw(), steps=3)).run()
    frames = model.frames()
    assert frames.owners["cost"].to_numpy() == pytest.approx([own, 0.216] * (len(frames.owners) // 2))
    assert frames.steps["cost"].to_numpy() == pytest.approx(own + 0.216)
    assert model.owners[0].cost == pytest.approx(own)
    assert model.owners[0].utility == pytest.approx(PowerLaw().values(np.full((1, 2), at))[0, 0] - own)
    game = Game(PowerLaw(), [Steep(), Linear(0.1)], 10.0, NoPayments())
    accuracy = PowerLaw().values(np.full((1, 2), at))[0]
    assert game.utilities([at, at]) == pytest.approx(accuracy - [own, 0.216])
    grid = np.linspace(0, 10, 100_001)
    alone = [np.max(1 - 1 / (1 + grid) - cost.value(grid)) for cost in (Steep(), Linear(0.1))]
    assert alone_utilities(PowerLaw(), [Steep(), Linear(0.1)], 10.0) == pytest.approx(alone, abs=1e-8)


@given(owners=st.lists(st.one_of(closed_costs, own_costs), min_size=2, max_size=4), share=st.floats(0.0, 1.0))
def test_cost_sharing_refunds_a_share_of_the_reported_function(owners, share):
    model = Federation(Scenario(population(owners, CAPACITY, FixedShare(share)), PowerLaw(), CostSharing(0.5), steps=1))
    model.step()
    spent = np.array([cost.value(np.array([share * CAPACITY]))[0] for cost in owners])
    others = (spent.sum() - spent) / (len(owners) - 1)
    assert model.population.payment == pytest.approx(0.5 * (spent - others), abs=1e-12)
    assert model.population.cost_paid == pytest.approx(spent)


@given(cost=st.one_of(closed_costs, own_costs), factor=st.floats(0.0, 5.0))
def test_a_liar_states_a_multiple_and_bears_its_own_cost(cost, factor):
    people = population([cost, cost], CAPACITY, [Liar(FixedShare(0.5), cost_factor=factor), FixedShare(0.5)])
    model = Federation(Scenario(people, PowerLaw(), CostSharing(0.5), steps=2))
    model.step()
    true, said = cost.value(np.array([6.0]))[0], model.population.claimed_cost
    assert said.value(np.array([6.0, 6.0])) == pytest.approx([factor * true, true], abs=1e-12)
    assert model.population.cost_paid == pytest.approx([true, true])
    assert model.population.payment[0] == pytest.approx(0.5 * (factor - 1.0) * true, abs=1e-12)
    assert not model.population.rejected.any()


@dataclass(frozen=True)
class Pretender(Strategy):
    """Says that it has another cost."""

    cost: Cost

    def act(self, view):
        action = view.truthful(0.5 * view.capacity)
        return replace(action, report=replace(action.report, cost=self.cost))


@pytest.mark.parametrize("true", [Linear(0.1), Piecewise([0, 5], [0.1, 0.2]), Congested(0.1, 0.2)], ids=repr)
def test_a_cost_of_another_kind_is_rejected(true):
    lies = [Quadratic(0.1), Piecewise([0, 4], [0.1, 0.2]), Congested(0.1, 0.3), Discs(0.1, 2.0, 0.0)]
    people = population([true] * 4, CAPACITY, [Pretender(lie) for lie in lies])
    model = Federation(Scenario(people, PowerLaw(), CostSharing(0.5), steps=1))
    model.step()
    assert model.population.rejected.all()
    said, at = model.population.claimed_cost, np.full(4, 6.0)
    assert np.array_equal(said.value(at), true.value(at))


@dataclass(frozen=True)
class Numbered(Strategy):
    """A best response that is a cohort of its own."""

    number: int

    def act(self, view):
        return BestResponse().act(view)


@given(owners=st.lists(any_cost, min_size=2, max_size=5), rule=st.sampled_from([NoPayments(), CostSharing(0.3)]))
def test_a_mixed_cohort_runs_as_cohorts_of_one(owners, rule):
    together = Scenario(population(owners, CAPACITY, BestResponse()), PowerLaw(), rule, steps=4)
    apart = replace(together, owners=population(owners, CAPACITY, [Numbered(i) for i in range(len(owners))]))
    one, other = (Federation(scenario).run().frames().owners for scenario in (together, apart))
    assert one.drop(columns="strategy").equals(other.drop(columns="strategy"))


def test_runs_with_own_costs_resume_to_the_same_frames(tmp_path):
    owners = [Congested(0.05, 0.2), Linear(0.1), Discs(0.1, 3.0, 0.02), Piecewise([0, 2], [0.01, 0.1], [0.05, 0.0])]
    people = population(owners, CAPACITY, [BestResponse(0.5), Liar(BestResponse(0.5), 2.0)] * 2)
    scenario = Scenario(people, PowerLaw(), CostSharing(0.4), steps=6)
    whole, part = Federation(scenario).run(), Federation(scenario)
    part.step()
    part.step()
    again = restore(save(part, tmp_path / "run"), scenario).run()
    assert again.frames().owners.equals(whole.frames().owners)
    assert again.gap == whole.gap


def test_a_market_needs_a_price_per_import():
    reports = replace(market_reports([100.0, 50.0], 1.0, 2e4), cost=stack([Congested(0.1, 0.2), Linear(1.0)]))
    with pytest.raises(InputError, match="one price per import, got a cost that is not linear; use Linear"):
        ModelMarket().clear(reports, np.zeros((2, 2)))
    assert unit_costs_of(replace(reports, cost=Affine(np.array([1.0, 2.0]), 5.0))).tolist() == [1.0, 2.0]
