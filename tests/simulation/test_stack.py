"""Runs that are stepped together are the same as run by run, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, mechanisms, population
from fedabm.games.accuracy import GroupWeighted, PacBound, PowerLaw
from fedabm.games.accuracy.base import Exposure
from fedabm.games.costs import Linear, Quadratic
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ProportionalData, TullockContest
from fedabm.results.nested import nest, nest_stacked
from fedabm.simulation.stack import StackedRuns
from fedabm.simulation.stacking import kind_of, why_alone
from fedabm.simulation.stopping import Never, Steady
from fedabm.strategies import EXP3, BestResponse, FictitiousPlay, GradientResponse, Liar, Quitter, RegretMatching
from fedabm.sweep.jobs import _tables

SOME = (BestResponse(), BestResponse(0.4), GradientResponse(1.0), Liar(BestResponse(), cost_factor=2.0), EXP3())
RULES = {
    "no payments": NoPayments(),
    "subsidy": ContributionSubsidy(0.03),
    "optimal cost sharing": CostSharing(),
    "cost sharing": CostSharing(0.3),
    "proportional": ProportionalData(0.5),
    "contest": TullockContest(0.2),
}


def draw(seed, rule=RULES["no payments"], strategies=BestResponse(0.4), owners=5, cost=Linear, **settings):  # noqa: B008
    rng = np.random.default_rng(seed)
    rates, sizes = rng.uniform(0.01, 0.2, owners), rng.uniform(5.0, 10.0, owners)
    people = population([cost(rate) for rate in rates], sizes, strategies, starts=rng.uniform(0.0, 5.0, owners))
    return Scenario(people, **{"accuracy": PowerLaw(), "mechanism": rule, "steps": 12, **settings})


def same(scenarios, seeds):
    assert {why_alone(one) for one in scenarios} == {None}
    assert len({kind_of(one) for one in scenarios}) == 1
    together = nest_stacked(StackedRuns(scenarios, seeds).run())
    alone = nest([_tables(Federation(one, seed).run().frames()) for one, seed in zip(scenarios, seeds, strict=True)])
    assert together["stacked"].to_pylist() == [True] * len(seeds)
    assert alone["stacked"].to_pylist() == [False] * len(seeds)
    assert together.drop_columns(["stacked"]).equals(alone.drop_columns(["wall_time", "stacked"]))
    return together


def test_runs_that_are_taken_as_they_end_are_those_of_the_whole_stack():
    scenarios, seeds = [draw(seed, RULES["subsidy"], steps=60) for seed in range(8)], list(range(8))
    whole = nest_stacked(StackedRuns(scenarios, seeds).run())
    stack, taken = StackedRuns(scenarios, seeds), {}
    while len(stack.runs):
        stack.step()
        if len(ended := stack.ended):
            table = nest_stacked(stack.frames(ended))
            taken |= {run: table.slice(place, 1) for place, run in enumerate(ended.tolist())}
            stack.forget(ended)
            assert not len(stack.ended)
    assert len(set(whole["steps"].to_pylist())) > 2  # they end at different times
    for run in range(8):
        assert taken[run].equals(whole.slice(run, 1))


def test_every_mechanism_that_says_so_can_be_stacked():
    said = {kind for name in mechanisms.__all__ if getattr(kind := getattr(mechanisms, name), "stacks", False)}
    assert said == {type(rule) for rule in RULES.values()}


@pytest.mark.parametrize("name", RULES)
def test_frames_are_those_of_single_runs_for_every_rule_and_kind_of_owner(name):
    same([draw(seed, RULES[name], SOME) for seed in range(4)], [7, 3, 1, 2])


@pytest.mark.parametrize("name", ["no payments", "cost sharing"])
def test_costs_that_bend(name):
    same([draw(seed, RULES[name], cost=Quadratic) for seed in range(3)], [0, 1, 2])


def test_runs_end_when_they_would_by_themselves():
    """Some rest early, some use up their steps; what is recorded is the same."""
    found = same([draw(seed, steps=60, record=7) for seed in range(5)], list(range(5)))
    steps = found["steps"].to_pylist()
    assert len(set(steps)) > 1
    assert "converged" in found["status"].to_pylist()


@pytest.mark.parametrize("stopping", [Never(), Steady(10, tolerance=0.1)])
def test_stopping_rules_see_one_run_each(stopping):
    same([draw(seed, steps=40, strategies=EXP3(), record=None, stopping=stopping) for seed in range(3)], [4, 5, 6])


def test_learners_remember_by_run_and_see_the_total_of_their_own_run():
    learners = (FictitiousPlay(), RegretMatching(), BestResponse(), BestResponse(), BestResponse())
    same([draw(seed, strategies=learners) for seed in range(3)], [0, 1, 2])


def test_minimum_viability_is_proven_run_by_run():
    same([draw(seed, accuracy=PacBound(), owners=3) for seed in range(2)], [0, 1])
    same([draw(seed, accuracy=PowerLaw(scale=3.0)) for seed in range(2)], [0, 1])


def test_what_happens_to_single_runs_only_is_left_to_the_federation():
    assert why_alone(draw(0, mechanisms.ShapleyShare())) == "ShapleyShare"
    assert why_alone(draw(0, accuracy=GroupWeighted([[1.0]], [0] * 5))) == "GroupWeighted"
    assert why_alone(draw(0, strategies=Quitter(BestResponse()))) == "Quitter"
    assert why_alone(draw(0, strategies=Mine())) == "Mine"
    assert why_alone(draw(0, Half(0.03))) == "Half"
    assert why_alone(draw(0, pay_every=2)) == "payments in stages"


def test_a_class_of_ones_own_is_stacked_if_it_says_so():
    """It loses what it has changed, and keeps what it declares."""
    assert not Mine().traits.stacks
    assert Declared().traits.stacks
    same([draw(seed, DeclaredHalf(0.03), Declared()) for seed in range(3)], [5, 6, 7])
    assert why_alone(draw(0, accuracy=Total())) is None
    same([draw(seed, accuracy=Total(), strategies=SOME) for seed in range(2)], [1, 2])


class Mine(BestResponse):
    """Nobody has looked whether its owners draw together."""

    def act(self, view):
        return super().act(view)


class Declared(Mine):
    """Somebody has."""

    stacks = True


class Half(ContributionSubsidy):
    """Pays half as much."""

    def offers(self, accuracy, reports):
        offers = super().offers(accuracy, reports)
        return replace(offers, payment=0.5 * offers.payment)

    def jacobian(self, accuracy, reports):
        return None


class DeclaredHalf(Half):
    """Along the last axis."""

    stacks = True


class Total(Exposure):
    """v(S) = S / (1 + S)."""

    concave = monotone = stacks = True

    def curve(self, exposure):
        return exposure / (1.0 + exposure)

    def curve_slope(self, exposure):
        return (1.0 + exposure) ** -2.0

    def curve_curvature(self, exposure):
        return -2.0 * (1.0 + exposure) ** -3.0

    def __eq__(self, other):
        return type(other) is type(self)

    def __hash__(self):
        return 7


# Numbers that differ from run to run

VARIED = {
    "subsidy": [ContributionSubsidy(rate) for rate in (0.0, 0.01, 0.05, 0.2)],
    "cost sharing": [CostSharing(rate) for rate in (0.0, 0.1, 0.3, 1.0)],
    "proportional": [ProportionalData(p) for p in (0.2, 0.5, 0.9, 1.0)],
    "contest": [TullockContest(prize, power) for prize, power in ((0.0, 1.0), (0.1, 0.5), (0.3, 0.7), (1.0, 0.9))],
    "steep contest": [
        TullockContest(prize, power) for prize, power in ((0.1, 1.5), (0.2, 2.0), (0.3, 3.0), (1.0, 2.5))
    ],
}
CURVES = {
    "power law": [PowerLaw(1.0, 1.0), PowerLaw(0.9, 0.5), PowerLaw(0.4, 2.0, 0.7), PowerLaw(0.5, 1.3, 2.0, 0.8)],
    "viable power law": [PowerLaw(3.0), PowerLaw(2.0, 0.5), PowerLaw(4.0, 2.0, 0.7), PowerLaw(2.5, 1.3, 1.1, 0.8)],
    "bound": [PacBound(), PacBound(0.9), PacBound(0.8, 2.0), PacBound(0.95, 0.5)],
}


@pytest.mark.parametrize("name", VARIED)
def test_numbers_of_a_rule_may_differ_from_run_to_run(name):
    same([draw(seed, rule, SOME) for seed, rule in enumerate(VARIED[name])], [7, 3, 1, 2])


@pytest.mark.parametrize("name", ["cost sharing", "contest"])
def test_numbers_of_a_rule_may_differ_where_costs_bend(name):
    same([draw(seed, rule, cost=Quadratic) for seed, rule in enumerate(VARIED[name])], [7, 3, 1, 2])


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("rule", ["subsidy", "proportional"])
def test_numbers_of_a_curve_may_differ_from_run_to_run(name, rule):
    pairs = enumerate(zip(VARIED[rule], CURVES[name], strict=True))
    same([draw(seed, one, SOME, accuracy=curve, steps=8) for seed, (one, curve) in pairs], [7, 3, 1, 2])


def test_runs_with_own_numbers_end_by_themselves():
    found = same(
        [draw(seed, VARIED["subsidy"][seed], steps=80, accuracy=CURVES["power law"][seed]) for seed in range(4)],
        [0, 1, 2, 3],
    )
    assert len(set(found["steps"].to_pylist())) > 1


def test_what_decides_the_way_of_a_formula_must_be_the_same():
    """No rationing, a curve cut off at zero, another kind of rate, a subclass that says nothing of its numbers."""
    apart = [
        (draw(0, ProportionalData(0.0)), draw(0, ProportionalData(0.5))),
        (draw(0, TullockContest(0.1, 1.0)), draw(0, TullockContest(0.1, 1.1))),
        (draw(0, CostSharing()), draw(0, CostSharing(0.5))),
        (draw(0, accuracy=PowerLaw()), draw(0, accuracy=PowerLaw(3.0))),
        (draw(0, DeclaredHalf(0.03)), draw(0, DeclaredHalf(0.04))),
        (draw(0, accuracy=Total()), draw(0, accuracy=PowerLaw())),
    ]
    for one, other in apart:
        assert kind_of(one) != kind_of(other)
