"""Another rule with something changed: what all such rules share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile

from fedabm.common.errors import check_kind
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Outcome, Reports, ServerView

__all__ = ["Around"]

#: what a rule says of itself; not `stacks`, as a subclass may not serve many runs at once
_SAID = (
    "asks_cost",
    "asks_eagerness",
    "asks_losses",
    "budget_balanced",
    "equal_treatment",
    "ignores_size",
    "promises",
)


@dataclass(frozen=True)
class Around(Mechanism):
    """Another `rule` as it is.  A subclass states what is different: flags, what the rule hears, how it settles."""

    rule: Mechanism

    def __post_init__(self) -> None:
        check_kind("the rule beside it", self.rule, Mechanism)
        kinds = takewhile(lambda kind: kind is not Around, type(self).__mro__)
        stated = {name for kind in kinds for name in vars(kind)}
        for name in set(_SAID) - stated:
            object.__setattr__(self, name, getattr(self.rule, name))

    def hears(self, reports: Reports) -> Reports:
        """What comes to the rule of the owners' reports: all."""
        return reports

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """Those of the rule."""
        return self.rule.offers(accuracy, self.hears(reports))

    def quotas(self, reports: Reports) -> Array | None:
        """As much as the rule asks for."""
        return self.rule.quotas(self.hears(reports))

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """That of the rule."""
        return self.rule.jacobian(accuracy, self.hears(reports))

    def forfeits(self, view: ServerView) -> Array:
        """What the rule itself takes."""
        return self.rule.forfeits(self._heard(view))

    def settle(self, view: ServerView) -> Outcome:
        """As the rule does."""
        return self.rule.settle(self._heard(view))

    def _heard(self, view: ServerView) -> ServerView:
        return replace(view, reports=self.hears(view.reports))
