"""What rules with a model per owner share: from what was sent to what is sent back, and mixing that nothing breaks.

A model that is not sound is never mixed into anybody else's; its owner counts as silent: as one that sent back what it
had received.  All owners are worked on at once.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.learning.personal.exchange import Exchange, Sent
from fedabm.learning.rules.aggregate import screen
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Outcome, Reports, ServerView

__all__ = ["Personalised", "average", "cosines", "mixed", "shares", "usable"]


class Personalised(Mechanism):
    """A rule that hands every owner a model of its own; without payments unless a subclass adds them."""

    @abstractmethod
    def exchange(self, sent: Sent) -> Exchange:
        """What the server sends back."""

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The own model as it is: nothing is known of how it would change with the own contribution."""
        claimed = reports.contribution
        return full_access(accuracy, claimed, nothing(len(claimed)), "unknown")

    def settle(self, view: ServerView) -> Outcome:
        """Mix what was sent; every non-zero weight of another owner's model is an import."""
        if not isinstance(view.updates, Sent):
            raise InputError(
                f"{type(self).__name__} exchanges models but got {type(view.updates).__name__}; "
                "give the scenario an accuracy with a model per owner (fedabm.learning.personal.models.Personal)"
            )
        exchange = self.exchange(view.updates)
        return replace(super().settle(view), adjacency=exchange.imports, exchange=exchange)


def usable(sent: Sent) -> Tensor:
    """The models (n, P), those that are not sound replaced by what their owners started from."""
    sound = torch.from_numpy(np.asarray(sent.sound, dtype=bool)).to(sent.models.device)
    return torch.where(sound[:, None], sent.models, sent.start)


def shares(sent: Sent) -> Array:
    """p_j: every sound owner's share of the data claimed, (n,); 0 for all if nobody sound claims any."""
    weights = np.where(sent.sound, sent.size, 0.0)
    weights = weights / max(float(weights.max(initial=0.0)), 1e-300)
    return weights / max(float(weights.sum()), 1e-300)


def mixed(weights: Array, sent: Sent) -> Tensor:
    """weights (n, n) @ models (n, P); an owner keeps its start where mixing would leave the range of numbers."""
    models = usable(sent)
    rows = torch.from_numpy(weights).to(models) @ models
    return torch.where(screen(rows).unsqueeze(1), rows, sent.start)


def average(sent: Sent) -> tuple[Tensor, Array]:
    """The mean model by claimed data for everybody (n, P), and the weights (n, n); the start if nobody is sound."""
    part, owners = shares(sent), len(sent.sound)
    if not np.any(part):
        return sent.start, np.eye(owners)
    models = usable(sent)
    mean = torch.from_numpy(part).to(models) @ models
    return torch.where(screen(mean.unsqueeze(0)), mean, sent.start), np.tile(part, (owners, 1))


def cosines(rows: Tensor) -> Array:
    """The cosine of every pair of rows, (n, n); 0 between a row of zeros and any other, 1 of a row with itself."""
    rows = torch.nan_to_num(rows)
    # Huge numbers would overflow when they are squared.
    rows = rows / rows.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
    units = rows / rows.norm(dim=1, keepdim=True).clamp(min=0.5)
    found = np.clip((units @ units.T).cpu().numpy().astype(float), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found
