"""Owners with budgets, and costs that depend on the others: equilibria by hand, and agents that play them."""

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.costs import Linear
from fedabm.games import Budgeted, CobbDouglas, CostSpillover
from fedabm.games.valuation import Deal
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments
from fedabm.strategies import EpsilonGreedy, FixedShare, Keep

OWNERS, BUDGET, COST, WEIGHT = 3, 12.0, 1.0, 0.4


def utilities(mechanism, given, valuation, rate=COST):
    """What owners really have if they give that."""
    given = np.asarray(given, dtype=float)
    people = population([rate] * len(given), BUDGET, Keep(), starts=given)
    return Federation(Scenario(people, PowerLaw(), mechanism, steps=1, valuation=valuation), 0).run().population.utility


def best_reply(mechanism, others, grid):
    """The first owner's best contribution on a grid where the others give that each."""
    valuation = Budgeted(BUDGET, CobbDouglas(WEIGHT))
    found = [utilities(mechanism, [one, *[others] * (OWNERS - 1)], valuation)[0] for one in grid]
    return grid[int(np.argmax(found))]


@pytest.mark.parametrize(
    ("mechanism", "known"),
    [
        (NoPayments(), WEIGHT * BUDGET / ((1 - WEIGHT) * OWNERS + WEIGHT)),
        (CostSharing(rate=1 - 1 / OWNERS), WEIGHT * BUDGET),
    ],
)
def test_equilibria_of_equal_owners_by_hand(mechanism, known):
    """w / S = (1 - w) (1 - beta) c / b at s each: with beta = 1 - 1/n it is what is best for all, s = w B / c."""
    grid = np.linspace(0.5 * known, 1.5 * known, 41)  # the equilibrium is its middle
    assert best_reply(mechanism, known, grid) == pytest.approx(known, abs=(grid[1] - grid[0]) * 1.01)


def test_what_is_best_for_all_is_the_equilibrium_of_cost_sharing():
    """Theorem 4.1 for equal owners: any p-mean is largest at s = w B / c."""
    valuation, grid = Budgeted(BUDGET, CobbDouglas(WEIGHT)), np.linspace(1.0, 9.0, 81)
    welfare = [utilities(CostSharing(rate=1 - 1 / OWNERS), [one] * OWNERS, valuation).sum() for one in grid]
    assert grid[int(np.argmax(welfare))] == pytest.approx(WEIGHT * BUDGET, abs=0.1)


def test_learners_play_it():
    """They know nothing of the valuation but what they have, and give more where costs are shared."""
    given = []
    for mechanism in (NoPayments(), CostSharing(rate=1 - 1 / OWNERS)):
        people = population([COST] * OWNERS, BUDGET, EpsilonGreedy(epsilon=0.1, levels=6), starts=np.full(OWNERS, 4.0))
        scenario = Scenario(people, PowerLaw(), mechanism, steps=150, valuation=Budgeted(BUDGET, CobbDouglas(WEIGHT)))
        owners = Federation(scenario, 0).run().frames().owners
        given.append(owners[owners["step"] > 100]["contribution"].mean())
    assert given[1] > given[0] + 0.5


def test_who_overspends_has_less_than_anybody_who_does_not():
    found = utilities(NoPayments(), [12.0, 0.0], Budgeted(6.0))
    assert found[0] == pytest.approx(-6.0)
    assert found[1] == pytest.approx(np.sqrt(6.0 * 12.0))
    with pytest.raises(InputError, match="function of both"):
        Budgeted(worth=3.0)
    with pytest.raises(InputError, match="weight of data"):
        CobbDouglas(1.5)


def test_a_subsidy_is_a_cost_that_depends_on_the_others():
    """Doshi et al. 2025, Section 3: z_i = c_i(s_i) - beta (s_i - mean of the others')."""
    beta, given = 0.3, [1.0, 4.0, 7.0]
    paid = utilities(ContributionSubsidy(beta), given, CostSpillover())
    borne = utilities(NoPayments(), given, CostSpillover(burden=beta), rate=COST - beta)
    np.testing.assert_allclose(paid, borne)


def test_crowding_multiplies_the_own_cost_and_never_turns_its_sign():
    given = Deal(np.ones(2), np.array([1.0, 5.0]), np.full(2, 9.0), Linear(2.0), np.zeros(2), np.arange(2))
    np.testing.assert_allclose(CostSpillover(crowding=0.1).cost(given), [2.0 * 1.5, 10.0 * 1.1])
    np.testing.assert_allclose(CostSpillover(crowding=-1.0).cost(given), [0.0, 0.0])


def test_where_others_make_data_dear_learners_give_less():
    given = []
    for crowding in (0.0, 10.0):
        people = population([0.01] * 2, 10.0, [EpsilonGreedy(levels=6), FixedShare(0.1)])
        scenario = Scenario(people, PowerLaw(), steps=150, valuation=CostSpillover(crowding))
        owners = Federation(scenario, 0).run().frames().owners
        given.append(owners[(owners["step"] > 50) & (owners["owner"] == 0)]["contribution"].mean())
    assert given[1] < given[0]
