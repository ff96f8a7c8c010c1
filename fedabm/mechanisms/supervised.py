"""A rule beside another one: whoever is caught pays."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.mechanisms.wrapper import RuleWrapper
from fedabm.views import Evidence, Outcome, ServerView, Transfers

__all__ = ["Supervised"]


@dataclass(frozen=True)
class Supervised(RuleWrapper):
    """Offers of another `rule`, less what owners forfeit by what the server saw for itself.  A subclass states `fines`.

    Honest owners are offered what the rule offers: the evidence is against nobody then.
    """

    budget_balanced = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.promises:
            who = type(self.rule).__name__
            raise InputError(f"{type(self).__name__} needs a rule that promises payments, got {who}; give another one")

    @abstractmethod
    def fines(self, view: ServerView, evidence: Evidence) -> Array:
        """What each owner forfeits by the evidence, never negative."""

    def forfeits(self, view: ServerView) -> Array:
        """The fines, beside what the rule itself takes."""
        before = super().forfeits(view)
        return before if view.evidence is None else before + self.fines(view, view.evidence)

    def settle(self, view: ServerView) -> Outcome:
        """As the rule does, less the fines."""
        outcome = super().settle(view)
        if view.evidence is None:
            return outcome
        payments = outcome.payments - self.fines(view, view.evidence)
        return replace(outcome, payments=payments, transfers=Transfers.central(payments, type(self).__name__))
