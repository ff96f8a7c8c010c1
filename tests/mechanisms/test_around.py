"""A rule around another one is that one, but for what it states of itself."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments
from fedabm.mechanisms.around import Around
from fedabm.views import Reports, ServerView

REPORTS = Reports(np.array([1.0, 2.0, 3.0]), np.full(3, 5.0), Linear(np.array([0.01, 0.02, 0.03])))
FLAGS = [name for name, value in vars(Mechanism).items() if isinstance(value, bool) and name != "stacks"]


class Odd(ContributionSubsidy):
    """Everything that a rule can say of itself, the other way round."""

    budget_balanced = not Mechanism.budget_balanced
    equal_treatment = not Mechanism.equal_treatment
    asks_cost = not Mechanism.asks_cost
    asks_eagerness = not Mechanism.asks_eagerness
    asks_losses = not Mechanism.asks_losses
    ignores_size = not Mechanism.ignores_size
    promises = not Mechanism.promises

    def quotas(self, reports: Reports) -> np.ndarray:
        """Half of what each has."""
        return 0.5 * reports.size

    def forfeits(self, view: ServerView) -> np.ndarray:
        """A tenth of what each gave."""
        return 0.1 * view.reports.contribution


class Stating(Around):
    """States what is the default anyway."""

    budget_balanced = True
    promises = True


@dataclass(frozen=True)
class Deaf(Around):
    """Hears of a tenth of the costs."""

    def hears(self, reports: Reports) -> Reports:
        """Costs divided by ten."""
        assert isinstance(reports.cost, PowerCost)
        return replace(reports, cost=Linear(reports.cost.rate / 10))


def test_a_rule_says_of_itself_what_the_inner_one_says() -> None:
    assert len(FLAGS) == 7
    assert all(getattr(Around(Odd(0.1)), name) is not getattr(Mechanism, name) for name in FLAGS)
    assert all(getattr(Around(NoPayments()), name) is getattr(NoPayments(), name) for name in FLAGS)


def test_what_a_subclass_states_stands() -> None:
    stating = Stating(Odd(0.1))
    assert stating.budget_balanced
    assert stating.promises
    assert stating.asks_cost


def test_all_that_a_rule_does_is_done_by_the_inner_one() -> None:
    inner, outer, view = Odd(0.1), Around(Odd(0.1)), ServerView(0, REPORTS, PowerLaw())
    np.testing.assert_array_equal(outer.quotas(REPORTS), inner.quotas(REPORTS))
    np.testing.assert_array_equal(outer.forfeits(view), inner.forfeits(view))
    np.testing.assert_array_equal(outer.settle(view).payments, inner.settle(view).payments)
    bend = inner.jacobian(PowerLaw(), REPORTS)
    assert bend is not None
    np.testing.assert_array_equal(outer.jacobian(PowerLaw(), REPORTS), bend)


def test_a_rule_that_hears_something_else_settles_and_offers_by_that() -> None:
    inner, outer = CostSharing(0.5), Deaf(CostSharing(0.5))
    heard, given = outer.hears(REPORTS), REPORTS.contribution
    offers = outer.offers(PowerLaw(), REPORTS).payment.value(given)
    assert np.array_equal(offers, inner.offers(PowerLaw(), heard).payment.value(given))
    assert not np.allclose(offers, inner.offers(PowerLaw(), REPORTS).payment.value(given))
    assert np.allclose(outer.settle(ServerView(0, REPORTS, PowerLaw())).payments, offers, atol=1e-15)


def test_only_a_rule_can_be_inside() -> None:
    with pytest.raises(InputError, match="the rule beside it"):
        Around("no payments")  # type: ignore[arg-type]
