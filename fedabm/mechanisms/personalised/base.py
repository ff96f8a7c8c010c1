"""What rules with a model per owner share: from what was sent to what is sent back.

A model that is not usable is never mixed into anybody else's; its owner counts as silent: as one that sent back what it
had received.  All owners are worked on at once.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Exchange, Models, Outcome, Reports, Sent, ServerView, Transfers
from fedabm.views.known import Need

__all__ = ["MODEL_IMPORT", "Personalised", "average", "shares"]

#: why owners pay each other, as the ledger says
MODEL_IMPORT = "model import"


class Personalised(Mechanism):
    """A rule that hands every owner a model of its own.  A subclass states `exchange`."""

    promises: ClassVar[bool] = False
    needs: ClassVar[Need] = "nothing"
    reads_updates: ClassVar[bool] = True

    @abstractmethod
    def exchange(self, sent: Sent) -> Exchange:
        """What the server sends back, who imports whose model, and who pays whom for it."""

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The own model as it is: nothing is known of how it would change with the own contribution."""
        claimed = reports.contribution
        return full_access(accuracy, claimed, nothing(len(claimed)), "unknown")

    def settle(self, view: ServerView) -> Outcome:
        """Exchange what was sent; every non-zero weight of another owner's model is an import."""
        if view.sent is None:
            raise InputError(
                f"{type(self).__name__} exchanges models but here all share one; give the scenario an accuracy with a "
                "model per owner: Personal of fedabm.learning.personal, or GivenModels of fedabm.mechanisms.market"
            )
        done = self.exchange(view.sent)
        outcome = replace(super().settle(view), adjacency=done.imports, exchange=done, memory=done.memory)
        if done.paid is None:
            return outcome
        payments = done.paid.sum(axis=0) - done.paid.sum(axis=1)
        return replace(outcome, payments=payments, transfers=Transfers.between(done.paid, MODEL_IMPORT))


def shares(sent: Sent) -> Array:
    """p_j: every usable owner's share of the data claimed, (n,); 0 for all if nobody usable claims any."""
    weights = np.where(sent.usable, sent.size, 0.0)
    weights = weights / max(float(weights.max(initial=0.0)), 1e-300)
    return weights / max(float(weights.sum()), 1e-300)


def average(sent: Sent) -> tuple[Models, Array]:
    """The mean model by claimed data for everybody, and the weights (n, n); the start if nobody is usable."""
    part, owners = shares(sent), len(sent.usable)
    weights = np.tile(part, (owners, 1)) if np.any(part) else np.eye(owners)
    return sent.mix(part[None], who=np.zeros(owners, dtype=np.intp)), weights
