"""Attentive message passing: similar owners are drawn together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import LARGEST_RATE, check_number, check_positive, check_range
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["FedAMP"]


@dataclass(frozen=True)
class FedAMP(Personalised):
    """Owners train on from their own models and are held to a cloud model u_i, in which similar owners weigh more.

        u_i = a w_i + (1 - a) sum_{j != i} e_ij w_j,    e_ij ~ exp(sharpness cos_ij),    loss + strength / 2 |w - u_i|^2

    with a = `self_weight` and cos_ij the cosine of (w_i - w^0) and (w_j - w^0); all began with w^0.  Data sizes play no
    part.  Huang et al. 2021 (HeurFedAMP), who take the cosine of the models themselves; the cosine relative to w^0,
    self-weight, sharpness and strength are those of iPFL 2025.

    Parameters
    ----------
    self_weight : float, optional
        The weight of the own model in the cloud model.
    sharpness : float, optional
        How strongly similar owners are preferred.
    strength : float, optional
        The weight of the pull to the cloud model.
    """

    self_weight: float = field(default=0.3, metadata=within(0.0, 1.0))
    sharpness: float = field(default=10.0, metadata=within(0.1, 100.0, log=True))
    strength: float = field(default=0.01, metadata=within(1e-4, 1.0, log=True))

    def __post_init__(self) -> None:
        check_range("self_weight", self.self_weight, 0.0, 1.0)
        check_positive("sharpness", self.sharpness, zero=True)
        check_number("strength", self.strength, zero=True, most=LARGEST_RATE)

    def exchange(self, sent: Sent) -> Exchange:
        """The cloud model as centre, from wherever the owner is."""
        weights = self.weights(sent)
        return Exchange(LocalTask(None, sent.mix(weights), self.strength), weights)

    def weights(self, sent: Sent) -> Array:
        """How much of j's model goes into u_i, (n, n); an owner without usable others keeps to itself."""
        likeness = np.exp(self.sharpness * (sent.cosines("initial") - 1.0)) * sent.usable
        np.fill_diagonal(likeness, 0.0)
        total = likeness.sum(axis=1, keepdims=True)
        found = (1.0 - self.self_weight) * np.divide(likeness, total, out=np.zeros_like(likeness), where=total > 0)
        np.fill_diagonal(found, 1.0 - found.sum(axis=1))
        return found
