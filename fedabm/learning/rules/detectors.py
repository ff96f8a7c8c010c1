"""What rules share that look for bad updates and average the others."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.common.arrays import Flags
from fedabm.learning.rules.aggregate import aggregate
from fedabm.learning.rules.base import Memory, Received, Rule, Step

__all__ = ["Detection", "Detector", "caught", "present"]


class Detector(Rule):
    """Trust in each update, and the mean of the updates by trust.  A subclass states `trust`."""

    of_updates = True

    @abstractmethod
    def trust(self, received: Received) -> Tensor:
        """How far each update (n,) is trusted, from 0 to 1; only those of owners that claim anything count."""

    def step(self, received: Received, memory: Memory) -> Step:
        return Step(self.mean_of(received, self.trust(received)), memory)

    def mean_of(self, received: Received, trust: Tensor) -> Tensor:
        """The mean of the updates by trust; of all if nobody is trusted."""
        there = present(received).to(received.updates)
        weights = trust.to(received.updates) * there
        weights = torch.where(weights.sum() > 0, weights, there)
        shares = weights / weights.sum().clamp_min(1e-12)
        return aggregate(shares.unsqueeze(0), received.updates, received.usable)[0]


def present(received: Received) -> Tensor:
    """Who sent a usable update and claims anything, (n,)."""
    return received.usable & torch.from_numpy(received.claimed > 0).to(received.usable.device)


class Detection(NamedTuple):
    """How well bad updates were found: of those that were caught how many are bad, of the bad how many were caught."""

    precision: float
    recall: float


def caught(trust: np.ndarray, bad: Flags, least: float = 0.5) -> Detection:
    """Precision and recall where owners that are trusted less than `least` count as caught.

    Parameters
    ----------
    trust
        How far each owner is trusted, (n,), from 0 to 1.
    bad
        Who really attacks, (n,).
    least
        From where on an owner is not caught.

    Returns
    -------
    Detection
        Precision is not a number where nobody was caught, recall where nobody is bad.

    Examples
    --------
    >>> caught(np.array([0.0, 1.0, 0.2, 0.9]), np.array([True, True, False, False]))
    Detection(precision=0.5, recall=0.5)
    """
    found = np.asarray(trust) < least
    right = float(np.sum(found & bad))
    return Detection(*(right / total if total else float("nan") for total in (int(found.sum()), int(np.sum(bad)))))
