"""Reputation decides how much of the common update an owner gets, and whether it stays in the federation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number, check_range
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.mechanisms.personalised.reputation import along, numbers, remembered
from fedabm.views import Exchange, Flags, LocalTask, Sent

__all__ = ["RFFL"]

#: by which share a reputation may fall below the threshold and count as at it
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RFFL(Personalised):
    """Robust and fair federated learning: reputation by cosines, and exclusion of whoever falls below a threshold.

        u = sum_j r_j Gamma u_j / |u_j| over members,      psi_i = cos(u_i, u)
        r_i <- alpha r_i + (1 - alpha) psi_i, at least 0, divided by the sum over members
        member i leaves for good if r_i < threshold / (number of members);  i gets the largest share r_i / max r of u

    Xu and Lyu 2020, Algorithm 1, with threshold 1/3 as there; in the first round all that claim data count alike.  Who
    was excluded goes on from its own model and reaches nobody.  Where all would be excluded, all keep
    the reputation that they had.

    Its best lies are those of `CGSV`: scaled and copied updates and what the last round brought keep a reputation.  An
    owner whose data are of another kind than the others' is excluded as an attacker is.

    Parameters
    ----------
    alpha : float, optional
        How much of the past reputation stays.
    threshold : float, optional
        Whoever falls below this share of an equal reputation is excluded.
    gamma : float, optional
        The length to which updates are scaled.
    """

    alpha: float = field(default=0.95, metadata=within(0.0, 0.99))
    threshold: float = field(default=1.0 / 3.0, metadata=within(0.0, 0.9))
    gamma: float = field(default=0.5, metadata=within(0.01, 10.0, log=True))

    def __post_init__(self) -> None:
        check_range("alpha, the weight of the past,", self.alpha, 0.0, 1.0)
        check_range("threshold of the reputation", self.threshold, 0.0, 1.0)
        check_number("gamma, the length of updates,", self.gamma)

    def exchange(self, sent: Sent) -> Exchange:
        """What members get of the common update; whoever is excluded keeps its own model."""
        before, owners = remembered(sent, 1.0 / len(sent.usable)), len(sent.usable)
        past = np.full(owners, 1.0 / owners) if before is None else before
        inside = past > 0
        weights = np.where(sent.usable & (sent.size > 0), past, 0.0)
        weights = weights / max(float(weights.sum()), 1e-300)
        psi = along(sent.cosines("start"), weights)
        now = np.where(inside, np.maximum(self.alpha * past + (1.0 - self.alpha) * psi, 0.0), 0.0)
        now = self._staying(now / max(float(now.sum()), 1e-300), inside)
        if not now.any():
            now = past
        access = now / max(float(now.max()), 1e-300)
        model = sent.masked(weights, access, self.gamma)
        memory = dict(zip(numbers(sent), (now / max(float(now.sum()), 1e-300)).tolist(), strict=True))
        return Exchange(LocalTask(model), access[:, None] * weights, kept=model, memory=memory)

    def _staying(self, now: Array, inside: Flags) -> Array:
        """The reputations (n,) of members that stay; 0 for the others."""
        least = (1.0 - _ROUNDING) * self.threshold / max(int(inside.sum()), 1)
        return np.where(inside & (now >= least), now, 0.0)
