"""Groups that had better leave: the small owners of a mean estimation, whoever pays, and rivals."""

import numpy as np
import pytest

from fedabm import Game, Scenario, Thoroughness, audit, population
from fedabm.accuracy import MeanEstimation, PowerLaw
from fedabm.auditing import Stage
from fedabm.auditing.secession import about_secession, best_secession, seceding_groups
from fedabm.games import Rivalry
from fedabm.mechanisms import ContributionSubsidy, LocalOnly, NoPayments, ShapleyShare


def full(accuracy, sizes, rule=None, cost=1e-9):
    """Owners who give all, whatever it costs."""
    game = Game(accuracy, [cost] * len(sizes), np.asarray(sizes, dtype=float), rule or NoPayments())
    return Stage.of(game, profile=game.capacities)


def test_the_small_owners_of_a_uniform_federation_leave_together():
    """Errors 1.551 together and 1.5 without the large one: 1/(1 + err) by hand."""
    gain, members, gains = best_secession(full(MeanEstimation(10.0, 1.0), [5, 5, 25]), [(0,), (0, 1), (2,), (0, 2)])
    assert members == (0, 1)
    assert gains == pytest.approx([1 / 2.5 - 1 / 2.551] * 2, abs=1e-4)
    assert gain == gains.min()


def test_nobody_leaves_a_fine_federation_or_one_in_which_all_data_help():
    for accuracy in (MeanEstimation(10.0, 1.0, "fine"), PowerLaw()):
        claim = about_secession(full(accuracy, [5, 5, 25]), 10, 0)
        assert claim.holds
        assert "all 6 groups" in claim.words


def test_a_subsidy_so_high_that_small_owners_pay_more_than_the_model_is_worth_drives_them_away():
    stage = Stage.of(Game(PowerLaw(), [0.2, 0.2, 0.01], [3.0, 3.0, 40.0], ContributionSubsidy(0.05)))
    claim = about_secession(stage, 10, 0)
    assert claim.holds is False
    assert claim.flaw == "loses groups"
    assert about_secession(Stage.of(stage.game, NoPayments()), 10, 0).holds


def test_shapley_shares_lose_the_owners_to_whom_data_are_expensive():
    """The large owner has most of the Shapley value at equilibrium, and the others, who give nothing, pay for it."""
    game = Game(PowerLaw(), [0.2, 0.2, 0.01], [3.0, 3.0, 40.0], ShapleyShare())
    gain, members, _ = best_secession(Stage.of(game), [(0, 1), (0,), (2,)])
    assert members == (0, 1)
    assert gain == pytest.approx(0.0558, abs=1e-3)


def test_rivals_leave_whom_they_need_not():
    """Equal models are worth (1 - strength) a; the large owner alone is well ahead of the two that it leaves."""
    people = population([0.0001] * 3, [2.0, 2.0, 40.0])
    for strength, leaves in ((0.0, False), (0.9, True)):
        stage = Stage.of(Scenario(tuple(people), PowerLaw(), NoPayments(), valuation=Rivalry(strength)))
        gain, members, _ = best_secession(stage, seceding_groups(stage, 10, 0)[0])
        assert (gain > 0) is leaves
        if leaves:
            assert members == (2,)
            ahead = PowerLaw().values(np.array([[40.0], [4.0], [44.0]]))[:, 0]
            assert gain == pytest.approx(ahead[0] - 0.9 * ahead[1] - 0.1 * ahead[2])


def test_many_owners_are_looked_at_by_groups_and_the_card_says_by_how_many():
    stage = full(PowerLaw(), np.arange(1.0, 11.0))
    groups, every = seceding_groups(stage, 12, 0)
    assert not every
    assert len(groups) == 12
    assert "12 of 1,022 groups" in about_secession(stage, 12, 0).words
    alone = full(PowerLaw(), [4.0])
    assert about_secession(alone, 12, 0).holds is None


def test_the_card_has_the_claim():
    game = Game(PowerLaw(), [0.1, 0.2], 10, NoPayments())
    assert audit(game, thoroughness=Thoroughness.quick()).claim("secession").holds


def test_a_rule_that_hands_out_models_is_asked_at_what_owners_contribute():
    from fedabm.market import GivenModels, ImportGain

    people = population([0.01] * 3, 20.0)
    stage = Stage.of(Scenario(tuple(people), GivenModels(np.zeros((3, 3))), LocalOnly(), valuation=ImportGain()))
    assert about_secession(stage, 10, 0).holds
