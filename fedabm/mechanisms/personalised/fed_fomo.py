"""First-order model optimisation: owners take over what helps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_whole
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, Flags, LocalTask, Sent

__all__ = ["FedFomo"]

#: a loss that is no number counts as this
_WORST = 1e30


@dataclass(frozen=True)
class FedFomo(Personalised):
    """Owner i moves from its start s_i towards the models that have less loss on its own data, by how steeply they do.

        w_i = s_i + sum_j v_ij (w_j - s_i),    v_ij ~ max(0, (L_i(s_i) - L_i(w_j)) / |w_j - s_i|),    sum_j v_ij = 1

    over its own model and the `models` others with the largest v_ij; it stays at its start if no model has less loss.
    Zhang et al. 2021 (FedFomo), Section 3.  There owners judge only the M models that they download, chosen by past
    weights, and on data held out for that; here they judge all of them, so that nothing has to be remembered, on their
    training data, to which their own model is fitted already.  Data sizes play no part.  An owner imports all `models`
    that it downloads, whether or not they get a weight, as in the accounts of iPFL 2025.

    Parameters
    ----------
    models : int, optional
        How many others' models an owner mixes at most.
    """

    models: int = field(default=6, metadata=within(1, 20, whole=True))
    asks_losses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("models", self.models)

    def exchange(self, sent: Sent) -> Exchange:
        """Everybody's combination."""
        slope = self._slopes(sent)
        imported = self._downloads(slope, sent.usable)
        weights = _shares(np.where(imported, slope, 0.0))
        task, still = LocalTask(sent.mix(weights)), ~weights.any(axis=1)
        weights[still] = np.eye(len(weights))[still]
        return Exchange(task, weights, imported=imported)

    def _slopes(self, sent: Sent) -> Array:
        """By how much less loss per distance, (n, n); 0 for models with more."""
        losses, before = (np.nan_to_num(found, nan=_WORST, posinf=_WORST) for found in sent.losses())
        gain, apart = np.maximum(before[:, None] - losses, 0.0) * sent.usable, sent.gaps()
        return np.divide(gain, apart, out=np.zeros_like(gain), where=np.isfinite(apart) & (apart > 0))

    def _downloads(self, slope: Array, usable: Flags) -> Flags:
        """The own model and the steepest of the others' that are usable."""
        own = np.eye(len(slope), dtype=bool)
        others = np.where(own | ~usable, -1.0, slope)
        imported = own.copy()
        np.put_along_axis(imported, np.argsort(-others, axis=1, kind="stable")[:, : self.models], True, axis=1)
        return imported & (own | usable)


def _shares(slope: Array) -> Array:
    """Every row as shares of its sum; rows of zeros stay."""
    steepest = slope.max(axis=1, keepdims=True)
    slope = np.divide(slope, steepest, out=np.zeros_like(slope), where=steepest > 0)
    return slope / np.maximum(slope.sum(axis=1, keepdims=True), 1.0)
