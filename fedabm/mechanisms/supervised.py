"""A rule beside another one: whoever is caught pays."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from fedabm.common.errors import InputError, check_kind
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Evidence, Outcome, Reports, ServerView, Transfers

__all__ = ["Supervised"]


@dataclass(frozen=True)
class Supervised(Mechanism):
    """Offers of another `rule`, less what owners forfeit by what the server saw for itself.  A subclass states `fines`.

    Honest owners are offered what the rule offers: the evidence is against nobody then.
    """

    rule: Mechanism
    budget_balanced = False

    def __post_init__(self) -> None:
        check_kind("the rule beside it", self.rule, Mechanism)
        if not self.rule.promises:
            who = type(self.rule).__name__
            raise InputError(f"{type(self).__name__} needs a rule that promises payments, got {who}; give another one")
        for asked in ("asks_cost", "asks_eagerness", "asks_losses", "ignores_size", "equal_treatment"):
            object.__setattr__(self, asked, getattr(self.rule, asked))

    @abstractmethod
    def fines(self, view: ServerView, evidence: Evidence) -> Array:
        """What each owner forfeits by the evidence, never negative."""

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """Those of the rule."""
        return self.rule.offers(accuracy, reports)

    def quotas(self, reports: Reports) -> Array | None:
        """As much as the rule asks for."""
        return self.rule.quotas(reports)

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """That of the rule."""
        return self.rule.jacobian(accuracy, reports)

    def forfeits(self, view: ServerView) -> Array:
        """The fines, beside what the rule itself takes."""
        before = self.rule.forfeits(view)
        return before if view.evidence is None else before + self.fines(view, view.evidence)

    def settle(self, view: ServerView) -> Outcome:
        """As the rule does, less the fines."""
        outcome = self.rule.settle(view)
        if view.evidence is None:
            return outcome
        payments = outcome.payments - self.fines(view, view.evidence)
        return replace(outcome, payments=payments, transfers=Transfers.central(payments, type(self).__name__))
