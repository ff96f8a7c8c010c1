"""What cards say of owners whose costs are ranges; a short version of `python -m tests.audit.ranges`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedabm import Game
from fedabm.accuracy import PowerLaw
from fedabm.auditing import LieLimits, Stage, UncertainOwners, lies_in_ranges
from fedabm.auditing.from_text import read_audit, read_unknown
from fedabm.auditing.ranges import about_ranges
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ValueShaping
from fedabm.solving import CostRanges
from tests.audit.ranges import run

STUDY = """
accuracy = { kind = "power_law", exponent = 0.5 }

[mechanisms]
"no payments" = "no_payments"
"sharing" = { kind = "cost_sharing", rate = 0.3 }
"shaping" = "value_shaping"

[[owners]]
name = "A"
cost = { low = 0.002, high = 0.004 }
data = 50

[[groups]]
name = "B"
count = 2
cost = 0.01
data = DATA
"""


def unknown_of(folder: Path, rule: str, data: str = "20"):
    file = folder / "study.toml"
    file.write_text(STUDY.replace("DATA", data))
    what, mechanism = read_audit(str(file), rule)
    return Stage.of(what, mechanism), read_unknown(str(file), mechanism)


def test_nobody_beats_the_ends_of_ranges() -> None:
    tally = run(6, 20, seed=5, every=3)
    assert tally.ranges >= 4
    assert not tally.beaten
    assert not tally.loose


def test_lies_about_a_subsidy_gain_most_at_an_end() -> None:
    ranges = CostRanges([0.02, 0.03], [0.08, 0.03])
    game = Game(PowerLaw(), ranges.low, 12.0, ContributionSubsidy(0.02))
    stage = Stage.of(game, profile=[4.0, 2.0])
    bound = lies_in_ranges(stage, ranges, LieLimits())
    # The claim is paid for, whatever is used: up to 24 units at 0.02 beside the 4 that stand.
    assert np.all(bound >= 0.02 * 20)
    assert np.isfinite(bound).all()


def test_a_card_says_that_it_holds_wherever_costs_lie(tmp_path: Path) -> None:
    stage, unknown = unknown_of(tmp_path, "no payments")
    claims = about_ranges(stage, unknown, LieLimits(), draws=2)
    assert [one.status for one in claims] == ["certified", "certified"]
    assert all("wherever in their ranges the costs lie" in one.words for one in claims)
    assert claims[0].bound <= claims[1].bound + 1e-9


def test_what_is_not_covered_is_told_in_draws_with_the_reason(tmp_path: Path) -> None:
    stage, unknown = unknown_of(tmp_path, "shaping")
    claims = about_ranges(stage, unknown, LieLimits(), draws=2)
    assert {one.status for one in claims} == {"found"}
    assert all("of 2 draws" in one.words and "may bend with the reported cost" in one.words for one in claims)
    stage, unknown = unknown_of(tmp_path, "sharing")
    gap, lie = about_ranges(stage, unknown, LieLimits(), draws=2)
    assert gap.status == "certified"  # and the rule reads costs, of which nothing is proven for lies
    assert "of 2 draws" in lie.words


def test_other_things_that_are_unknown_are_told_in_draws(tmp_path: Path) -> None:
    stage, unknown = unknown_of(tmp_path, "no payments", data="{ low = 10, high = 20 }")
    assert unknown.ranges is None
    claims = about_ranges(stage, unknown, LieLimits(), draws=2)
    assert all("data of B is not known" in one.words for one in claims)


def test_a_study_in_which_all_is_known_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("DATA", "20").replace("{ low = 0.002, high = 0.004 }", "0.003"))
    assert read_unknown(str(file), NoPayments()) is None


@pytest.mark.parametrize("rule", [ValueShaping(), CostSharing()])
def test_lies_under_rules_that_bend_are_not_bounded(rule) -> None:
    stage = Stage.of(Game(PowerLaw(), [0.02, 0.03], 12.0, rule), profile=[4.0, 2.0])
    assert np.isinf(lies_in_ranges(stage, CostRanges([0.02, 0.03], [0.04, 0.03]))).all()


def test_an_unknown_world_is_only_a_description() -> None:
    """Nothing is drawn before somebody asks."""
    assert UncertainOwners("costs", lambda number: pytest.fail("drawn")).ranges is None
