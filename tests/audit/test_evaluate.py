"""What a lie is worth: as in a run, at once as one by one, and nothing that the rule does not read."""

import numpy as np
import pytest

from fedabm import Federation
from fedabm.auditing.answers import after_answers, as_scenario
from fedabm.auditing.deviations import LieLimits, Lies
from fedabm.auditing.evaluate import on_curves, one_by_one, reads, utilities
from fedabm.auditing.search import best_lies
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import ContributionSubsidy, ModelMarket, NoPayments, ShapleyShare, ValueShaping
from fedabm.mechanisms.market import GivenModels, ImportGain
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.solving.game import Game
from fedabm.strategies import Keep
from tests.audit.stages import RULES, three

rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


def random_lies(stage: Stage, owner: int, count: int, seed: int = 0) -> Lies:
    rng, capacity = np.random.default_rng(seed), stage.capacities[owner]
    size = capacity * rng.uniform(0.5, 2.0, count)
    claim = np.minimum(capacity * rng.choice([0.0, 0.3, 1.0, 2.0], count) * rng.uniform(0.5, 1.0, count), size)
    given = capacity * rng.choice([0.0, 0.5, 1.0], count)
    factors = rng.choice([0.0, 0.5, 1.0, 3.0], (2, count))
    return Lies.of(
        stage, owner, count, contribution=given, claim=claim, size=size, cost=factors[0], eagerness=factors[1]
    )


@rules
def test_a_lie_is_worth_what_it_brings_in_a_run(rule):
    stage = three(rule)
    lies = random_lies(stage, 1, 4)
    for place, worth in enumerate(utilities(stage, 1, lies)):
        model = Federation(as_scenario(stage, 1, lies.one(place), Keep(), steps=1))
        model.step()
        assert worth == pytest.approx(model.population.utility[1], rel=1e-9, abs=1e-11)


@rules
def test_many_lies_at_once_are_worth_what_they_are_one_by_one(rule):
    stage = three(rule)
    lies = random_lies(stage, 2, 25, seed=3)
    np.testing.assert_allclose(utilities(stage, 2, lies), one_by_one(stage, 2, lies), rtol=1e-9, atol=1e-11)


def test_the_worth_of_one_lie_by_hand():
    """a(S) = 1 - 1/(1 + S) at S = 3 + 2 = 5, a claim of 10 against a mean of 2: u = 5/6 + 0.1 * 8 - 0.2 * 3."""
    stage = Stage.of(Game(PowerLaw(), [0.2, 0.2], 20.0, ContributionSubsidy(0.1)), profile=[1.0, 2.0])
    lie = Lies.of(stage, 0, contribution=3.0, claim=10.0)
    assert utilities(stage, 0, lie) == pytest.approx(5 / 6 + 0.8 - 0.6)


def test_what_a_rule_reads_is_seen_by_watching_it():
    assert reads(three(NoPayments())) == frozenset()
    assert reads(three(ShapleyShare())) == frozenset()
    assert reads(three(ValueShaping())) == {"size", "cost"}


def test_a_market_is_judged_by_imports():
    """Two traders with equal models: each imports the other's; what one overstates of its cost is what it loses."""
    people = tuple(OwnerProfile(Linear(1.0), 200.0, eagerness=2e4) for _ in range(2))
    scenario = Scenario(people, GivenModels(np.zeros((2, 2))), ModelMarket(), valuation=ImportGain())
    stage = Stage.of(scenario)
    assert not on_curves(stage)
    assert stage.settled.utility[0] == stage.settled.utility[1] > 0
    dear = one_by_one(stage, 0, Lies.of(stage, 0, cost=100.0))
    assert dear < stage.settled.utility[0]


def test_limits_enclose_the_truth():
    with pytest.raises(ValueError, match="must enclose 1"):
        LieLimits(cost=(2.0, 4.0))


def test_an_owner_that_is_alone_has_nobody_who_answers():
    stage = Stage.of(Game(PowerLaw(), [0.02], 20.0, ShapleyShare()))
    best = best_lies(stage)[0]
    assert np.isfinite(after_answers(stage, best.owner, best.deviation)[0])
