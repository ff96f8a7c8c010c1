"""Models that are really worse, for mechanisms that promise owners less than the full model.

Karimireddy et al. 2022, Section 3.1: "it is always possible to use a subset of this data, or degrade the model in a
controlled way using noisy perturbations".  Both are done here, never better than promised unless even the worst model
at hand is:

- `by_subset`   a model trained on a share of everybody's data, the largest share on a grid that promises allow;
- `by_noise`    the full model with Gaussian noise on its weights, as little as promises allow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.scores import Measure

__all__ = ["LEVELS", "NoisyModels", "by_noise", "by_subset"]

#: shares of the data on which models are trained to be handed out
LEVELS = 8
#: noise with this multiple of the weights' own size leaves nothing of a model
_LOUDEST = 16.0
_HALVINGS = 14


def by_subset(
    values: Callable[[Array], Array],
    rows: NDArray[np.intp],
    contributions: Array,
    promised: Array,
    levels: int = LEVELS,
) -> Array:
    """What owners in `rows` get: of models trained on 0, 1/levels, ... of all contributions the best one allowed."""
    shares = np.arange(levels) / levels
    worth = values(shares[:, None] * contributions)[:, rows]
    allowed = np.where(worth <= promised, worth, -np.inf).max(axis=0)
    return np.where(np.isfinite(allowed), allowed, worth.min(axis=0))


class NoisyModels(NamedTuple):
    """What the models are worth that some owners are handed, (k,), and the models, (k, P)."""

    worth: Array
    models: Tensor


def by_noise(
    engine: Engine, model: Tensor, rows: NDArray[np.intp], promised: Array, measure: Measure, seed: int
) -> NoisyModels:
    """What owners in `rows` get: the model with the least noise, in a direction of their own, that is allowed.

    Bisection of the noise's size, which supposes that more noise is worse.  It need not be: a guess may be worth more
    than a model that always gives an answer that is rare among the owner's.  Where bisection finds nothing allowed,
    sizes are halved from the loudest on, and if none of them is allowed either, the worst model is handed out.
    """
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(engine.data.owners, model.numel(), generator=generator)[torch.from_numpy(np.asarray(rows))]
    noise = noise.to(model.device) * model.square().mean().sqrt()

    def noisy(size: Array, of: NDArray[np.intp]) -> Tensor:
        scale = torch.as_tensor(size, dtype=model.dtype, device=model.device)
        return model + scale[:, None] * noise[of]

    def worth(size: Array, of: NDArray[np.intp]) -> Array:
        return measure.own(engine, noisy(size, of), rows[of])

    everybody = np.arange(len(rows))
    low, high = np.zeros(len(rows)), np.full(len(rows), _LOUDEST)
    found, size = worth(high, everybody), high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        there = worth(middle, everybody)
        enough = there <= promised
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        found, size = np.where(enough, there, found), np.where(enough, middle, size)
    lost = np.flatnonzero(found > promised)
    if len(lost):
        halved = _LOUDEST * 0.5 ** np.arange(_HALVINGS + 1)
        tried = np.stack([found[lost], *(worth(np.full(len(lost), size), lost) for size in halved[1:])])
        chosen = _quietest(tried, promised[lost])
        found[lost], size[lost] = tried[chosen, np.arange(len(lost))], halved[chosen]
    return NoisyModels(found, noisy(size, everybody))


def _quietest(worth: Array, promised: Array) -> NDArray[np.intp]:
    """Of what owners (columns) would get with less and less noise (rows): the last that is allowed, or the least."""
    allowed = worth <= promised
    last = len(worth) - 1 - allowed[::-1].argmax(axis=0)
    return np.where(allowed.any(axis=0), last, worth.argmin(axis=0))
