"""No bound lies below a gain that anybody finds.  The long version: python -m tests.audit.many_bounds --games 3000"""

from dataclasses import replace

import numpy as np
import pytest

from fedabm.auditing.deviations import LieLimits, Lies
from fedabm.auditing.evaluate import reads, utilities
from fedabm.auditing.search import SearchEffort, best_claim_alone, best_lie
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, ShapleyShare
from fedabm.solving.game import Game
from tests.audit import many_bounds
from tests.audit.many_bounds import Tally, finding, run
from tests.audit.stages import RULES, random_stage, three


def test_no_search_beats_a_bound():
    tally = run(25, seed=11)
    assert tally.beaten == []
    assert tally.kinds["proven"] >= 10


def test_a_bound_that_is_too_small_is_noticed(monkeypatch):
    def wrong(stage, owner):
        found = finding(stage, owner)
        return replace(found, bound=-1.0)

    monkeypatch.setattr(many_bounds, "finding", wrong)
    assert run(3, seed=11).beaten


def test_parts_that_were_saved_add_up_and_no_game_counts_twice(tmp_path):
    for first in (0, 2):
        run(2, seed=11, first=first, save=tmp_path / f"{first}.json")
    whole = Tally()
    for first in (0, 2):
        whole.add(Tally.read(tmp_path / f"{first}.json"))
    at_once = run(4, seed=11)
    assert (whole.kinds, whole.games, whole.beaten) == (at_once.kinds, at_once.games, at_once.beaten)
    with pytest.raises(ValueError, match="2 games are in two parts, for instance game 2"):
        whole.add(Tally.read(tmp_path / "2.json"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_the_best_lie_is_as_good_as_the_best_of_a_grid(rule):
    """Brute force over true contribution, claim, size and cost for few owners; found to a thousandth of the stake."""
    limits = LieLimits()
    stage = three(rule)
    found = best_lie(stage, 2, limits, SearchEffort(questions=400))
    given, claim = np.linspace(0.0, 12.0, 13), np.linspace(0.0, 24.0, 25)
    axes = [given, claim]
    seen = reads(stage)
    axes += [np.array([0.25, 0.5, 1.0, 2.0]) * 12.0 if "size" in seen else np.array([12.0])]
    axes += [np.linspace(0.0, 4.0, 9) if "cost" in seen else np.ones(1)]
    x, z, size, cost = (axis.ravel() for axis in np.meshgrid(*axes))
    allowed = (z <= size) if "size" in seen else np.full(len(z), True)
    x, z, size, cost = (column[allowed] for column in (x, z, size, cost))
    size = size if "size" in seen else np.maximum(size, z)
    lies = Lies.of(stage, 2, len(x), contribution=x, claim=z, size=size, cost=cost)
    best = float(np.max(utilities(stage, 2, lies))) - found.honest
    assert found.gain >= best - 1e-3
    assert found.bound >= best - 1e-12


def test_the_subsidy_pays_its_rate_for_every_unit_of_a_lie():
    """rate * (2 * capacity - contribution), by hand; and no more."""
    stage = Stage.of(Game(PowerLaw(), [0.1, 0.2], 10.0, ContributionSubsidy(0.05)))
    found = best_lie(stage, 1, LieLimits(), SearchEffort())
    assert found.deviation.claim == pytest.approx(20.0)
    honest, given = stage.profile[1], found.deviation.contribution
    assert given == pytest.approx(0.0, abs=1e-9)
    alone = stage.accuracy.values(np.array([[stage.profile[0], 0.0]]))[0, 1]
    before = stage.accuracy.values(stage.profile[None])[0, 1] + 0.05 * honest - 0.2 * honest
    assert found.gain == pytest.approx(alone + 0.05 * 20.0 - before)
    assert found.bound == pytest.approx(found.gain, abs=1e-7)


def test_without_payments_no_lie_pays_and_that_is_proven():
    """Up to what branch and bound leaves; where an accuracy promises no shape nothing is proven, and it says so."""
    bounds = []
    for seed in range(5):
        stage = random_stage(np.random.default_rng(seed), "NoPayments")
        for owner in range(stage.owners):
            found = best_lie(stage, owner, LieLimits(), SearchEffort())
            assert found.gain == 0
            bounds.append(found.bound)
    proven = [bound for bound in bounds if np.isfinite(bound)]
    assert len(proven) > len(bounds) / 2
    assert max(proven) <= 1e-4


def test_a_shapley_share_is_bounded_by_a_claim_without_end():
    """The larger the limit, the larger the gain, but never more than all accuracies together."""
    stage = three(ShapleyShare())
    gains = [best_claim_alone(stage, 2, LieLimits(claim=most)) for most in (1.0, 2.0, 10.0)]
    assert gains[0].gain < gains[1].gain < gains[2].gain < 3.0
    assert all(one.certified for one in gains)
