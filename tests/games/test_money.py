"""Money from outside counts as welfare, and not as net welfare: one definition everywhere."""

import numpy as np
import pytest

from fedabm import Game, audit, compare, population, solve
from fedabm.accuracy import PowerLaw
from fedabm.auditing.card import Thoroughness
from fedabm.games.money import net_welfare, outside_money
from fedabm.mechanisms import Clarke, CostSharing, NoPayments
from fedabm.study.equilibria import equilibrium_frames

COSTS = [0.02, 0.03, 0.05]


def test_rounding_of_balanced_payments_is_no_money_from_outside():
    paid = np.array([[0.1, 0.2, -0.3], [3.0, -1.0, 0.0]])
    assert outside_money(paid).tolist() == [0.0, 2.0]
    assert net_welfare(np.ones((2, 3)), paid).tolist() == [3.0, 1.0]


@pytest.mark.parametrize("rule", [Clarke(), CostSharing(0.5), NoPayments()])
def test_solver_frames_runs_and_audit_agree_on_net_welfare(rule):
    game = Game(PowerLaw(), COSTS, 20.0, rule)
    found = solve(game)
    worth = found.accuracies.sum() - game.costs.value(found.profile).sum()
    assert found.net_welfare == pytest.approx(worth, rel=1e-12)
    steps = equilibrium_frames(game, found, "x").steps.iloc[0]
    assert steps["net_welfare"] == pytest.approx(worth, rel=1e-12)
    assert steps["welfare"] - steps["outside_money"] == pytest.approx(worth, rel=1e-12)
    ran = compare(population(COSTS, 20.0), [rule], 1, accuracy=PowerLaw()).ends().iloc[0]
    assert ran["net"] == pytest.approx(worth, rel=1e-6)
    claim = audit(game, thoroughness=Thoroughness.quick()).claim("net welfare")
    assert claim.value == pytest.approx(worth, rel=1e-6)


def test_clarke_leads_by_welfare_and_not_by_net_welfare():
    """By outside money alone: Clarke's own equilibrium is the best for all, so nobody is ahead of it net either."""
    rules = {"none": NoPayments(), "Clarke": Clarke(), "shared": CostSharing(2 / 3)}
    found = compare(population(COSTS, 20.0), rules, 1, accuracy=PowerLaw())
    ends = found.ends().set_index("label")
    assert ends["outside"]["Clarke"] > 0.1
    assert ends["outside"][["none", "shared"]].tolist() == [0.0, 0.0]
    assert ends["net"]["Clarke"] == pytest.approx(ends["welfare"]["Clarke"] - ends["outside"]["Clarke"])
    assert len(found.deficits()) == 1
    assert found.deficits()[0].startswith("Clarke: owners get")
    assert found.ranked().startswith("By net welfare: ")
