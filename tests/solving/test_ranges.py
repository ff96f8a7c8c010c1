"""Two certificates at the ends of ranges of costs hold for every point between, for rules that say so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import Game
from fedabm.accuracy import PowerLaw
from fedabm.common.errors import InputError
from fedabm.costs import Linear, Power
from fedabm.mechanisms import Clarke, CostSharing, Deposit, NoPayments, ShapleyShare, ValueShaping
from fedabm.solving import CostRanges, gains_in_ranges
from fedabm.solving.ranges import why_not
from fedabm.testing import ContractBroken
from fedabm.testing.rules import benefits_are_affine_in_the_own_cost_where_promised as keeps_its_word

RULES = (NoPayments(), ShapleyShare(), CostSharing(0.4), Clarke())


def test_the_bound_is_the_gain_at_the_worse_end_worked_out_by_hand() -> None:
    """a(S) = 1 - 1/(1 + S): the best total is c^-1/2 - 1, worth 1 - 2 sqrt(c) + c; S = 2 is worth 2/3 - 2c."""
    ranges = CostRanges([0.05, 0.2], [0.2, 0.2])
    low, high = (1 - 2 * np.sqrt(c) + c - (2 / 3 - 2 * c) for c in (0.05, 0.2))
    bound = gains_in_ranges(Game(PowerLaw(), [0.1, 0.2], 100.0, NoPayments()), ranges, [2.0, 0.0])
    assert high > low
    assert bound == pytest.approx([high, 0.0], abs=1e-9)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_no_point_of_the_ranges_brings_more_than_the_ends(rule) -> None:
    rng = np.random.default_rng(3)
    ranges = CostRanges(Power([0.002, 0.01, 0.02], [1.0, 1.5, 2.0]), Power([0.02, 0.01, 0.1], [1.0, 1.5, 2.0]))
    game, profile = Game(PowerLaw(exponent=0.5), ranges.low, [40.0, 20.0, 10.0], rule), [8.0, 3.0, 0.0]
    bound = gains_in_ranges(game, ranges, profile)
    found = np.max([replace(game, costs=ranges.at(part)).gains(profile) for part in rng.random((20, 3))], axis=0)
    assert np.all(found <= bound + 1e-9)
    ends = [replace(game, costs=end).gains(profile) for end in (ranges.low, ranges.high)]
    assert bound.tolist() == np.max(ends, axis=0).tolist()


def test_one_end_alone_would_be_beaten() -> None:
    ranges = CostRanges([0.01], [0.5])
    game = Game(PowerLaw(), [0.1], 100.0, NoPayments())
    ends = [replace(game, costs=end).gap([2.0]) for end in (ranges.low, ranges.high)]
    middle = replace(game, costs=ranges.at(0.4)).gap([2.0])
    assert middle < max(ends)
    assert gains_in_ranges(game, ranges, [2.0])[0] == max(ends)
    assert min(ends) > 0.01


@pytest.mark.parametrize("rule", [CostSharing(), ValueShaping(), Deposit(CostSharing(0.3))])
def test_rules_whose_offers_may_bend_with_the_cost_are_not_covered(rule) -> None:
    assert "bend" in why_not(rule)
    game = Game(PowerLaw(), [0.1, 0.2], 100.0, rule)
    assert np.isinf(gains_in_ranges(game, CostRanges([0.1, 0.2], [0.2, 0.3]), [1.0, 1.0])).all()


def test_costs_that_are_misreported_are_not_covered() -> None:
    game = Game(PowerLaw(), [0.1, 0.2], 100.0, CostSharing(0.3), reported=[0.2, 0.2])
    assert np.isinf(gains_in_ranges(game, CostRanges([0.1, 0.2], [0.2, 0.3]), [1.0, 1.0])).all()


def test_whoever_declares_it_wrongly_is_told() -> None:
    @dataclass(frozen=True)
    class Bold(CostSharing):
        affine_in_cost = True

    keeps_its_word(Bold(0.3), 0)
    keeps_its_word(Clarke(), 0)
    with pytest.raises(ContractBroken, match="set affine_in_cost = False"):
        keeps_its_word(Bold("optimal"), 0)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ([0.1, 0.3], [0.2, 0.2], "low of owner 1 is 0.3, above 0.2"),
        ([0.1], [0.2, 0.2], "1 lowest costs but 2 highest"),
        (Power([0.1], 1.5), Power([0.2], 2.0), "must be known exactly"),
        (Linear([0.1]), "high", "cost"),
    ],
)
def test_what_is_no_range_is_refused_in_one_line(low, high, words) -> None:
    with pytest.raises(InputError, match=words):
        CostRanges(low, high)


def test_ranges_of_other_owners_are_refused() -> None:
    with pytest.raises(InputError, match="ranges of 1 costs but 2 owners"):
        gains_in_ranges(Game(PowerLaw(), [0.1, 0.2], 9.0, NoPayments()), CostRanges([0.1], [0.2]), [0.0, 0.0])
