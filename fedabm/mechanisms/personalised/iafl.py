"""Whoever gives more gets more of the others' updates, and now and then everybody gets the reference model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_range
from fedabm.common.random import check_seed, generator
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.mechanisms.personalised.reputation import numbers
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["IAFL"]


@dataclass(frozen=True)
class IAFL(Personalised):
    """Training-time model rewards: the mean of the own and of ceil(gamma_i^(1 - kappa) (n - 1)) random others' updates.

        gamma_i = min(p_i / p_max, 1),      w_i <- w_i + mean of the updates of S_i;  with chance q the reference model

    Wu et al. 2024, eq. (3) and Algorithm 1; p_i is the data claimed, p_max the most that anybody claims, so that
    whoever gives most gets all updates.  The higher `kappa`, the less it matters who gives what; kappa = 1 is averaging
    for all.  Every owner draws from a stream of its own below `seed`.  The reference model is the mean of all models of
    the round, weighted alike; the authors' server keeps one that it moves by the mean update, which is the same where
    all start from it.

    Rewards follow claims, and nothing checks those: its best lie is to claim the most and send anything.

    Parameters
    ----------
    kappa : float, optional
        How alike owners are rewarded, from 0 (by claims) to 1 (all alike).
    recovery : float, optional
        Q, the chance of the reference model in a round.
    seed : int, optional
        What each owner's own stream of draws follows from.
    """

    kappa: float = field(default=0.5, metadata=within(0.0, 1.0))
    recovery: float = field(default=0.1, metadata=within(0.0, 1.0))
    seed: int = 0
    equal_treatment = False

    def __post_init__(self) -> None:
        check_range("kappa, how alike owners are rewarded,", self.kappa, 0.0, 1.0)
        check_range("chance of the reference model", self.recovery, 0.0, 1.0)
        check_seed(self.seed)

    def exchange(self, sent: Sent) -> Exchange:
        """Steps along the updates drawn; the mean of all models where an owner is to recover."""
        number = int((sent.reports.memory or {}).get("round", 0))
        weights, recovers = self._drawn(sent, number)
        stepped = sent.stepped(weights)
        heard = np.where(sent.usable & (sent.size > 0), 1.0, 0.0)
        if np.any(recovers) and heard.any():
            reference = sent.mix(np.stack([heard / heard.sum()]), who=np.zeros(len(heard), dtype=np.intp))
            stepped[recovers] = reference[recovers]
            weights = np.where(recovers[:, None], heard / heard.sum(), weights)
        return Exchange(LocalTask(stepped), weights, kept=stepped, memory={"round": number + 1})

    def _drawn(self, sent: Sent, number: int) -> tuple[Array, Array]:
        """How much of j's update i gets, (n, n), and who gets the reference model, (n,)."""
        heard = sent.usable & (sent.size > 0)
        gamma = sent.size / max(float(sent.size.max(initial=0.0)), 1e-300)
        weights, recovers = np.zeros((len(heard), len(heard))), np.zeros(len(heard), dtype=bool)
        for place, owner in enumerate(numbers(sent)):
            rng = generator(self.seed, "owner", owner, number)
            recovers[place] = rng.uniform() < self.recovery
            others = np.flatnonzero(heard & (np.arange(len(heard)) != place))
            many = int(np.ceil(gamma[place] ** (1.0 - self.kappa) * len(others) - 1e-9)) if gamma[place] > 0 else 0
            chosen = rng.permutation(others)[:many]
            weights[place, [*chosen, *([place] if heard[place] else [])]] = 1.0
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0), recovers
