"""Models that are really worse, for mechanisms that promise owners less than the full model.

Karimireddy et al. 2022, Section 3.1: "it is always possible to use a subset of this data, or degrade the model in a
controlled way using noisy perturbations".  Both are done here, never better than promised unless even the worst model
at hand is:

- `by_subset`   a model trained on a share of everybody's data, the largest share on a grid that promises allow;
- `by_noise`    the full model with Gaussian noise on its weights, as little as promises allow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.scores import Measure

__all__ = ["LEVELS", "by_noise", "by_subset"]

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


def by_noise(
    engine: Engine, model: Tensor, rows: NDArray[np.intp], promised: Array, measure: Measure, seed: int
) -> Array:
    """What owners in `rows` get: the model with the least noise, in a direction of their own, that is allowed.

    Bisection of the noise's size, which supposes that more noise is worse.  It need not be: a guess may be worth more
    than a model that always gives an answer that is rare among the owner's.  Where bisection finds nothing allowed,
    sizes are halved from the loudest on, and if none of them is allowed either, the worst model is handed out.
    """
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(engine.data.owners, model.numel(), generator=generator)[torch.from_numpy(np.asarray(rows))]
    noise = noise.to(model.device) * model.square().mean().sqrt()

    def worth(size: Array, of: NDArray[np.intp]) -> Array:
        scale = torch.as_tensor(size, dtype=model.dtype, device=model.device)
        return measure.own(engine, model + scale[:, None] * noise[of], rows[of])

    everybody = np.arange(len(rows))
    low, high = np.zeros(len(rows)), np.full(len(rows), _LOUDEST)
    found = worth(high, everybody)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        there = worth(middle, everybody)
        enough = there <= promised
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        found = np.where(enough, there, found)
    lost = np.flatnonzero(found > promised)
    if len(lost):
        halved = _LOUDEST * 0.5 ** np.arange(1, _HALVINGS + 1)
        tried = [found[lost], *(worth(np.full(len(lost), size), lost) for size in halved)]
        found[lost] = _quietest(np.stack(tried), promised[lost])
    return found


def _quietest(worth: Array, promised: Array) -> Array:
    """Of what owners (columns) would get with less and less noise (rows): the last that is allowed, or the least."""
    allowed = worth <= promised
    last = len(worth) - 1 - allowed[::-1].argmax(axis=0)
    return np.where(allowed.any(axis=0), worth[last, np.arange(worth.shape[1])], worth.min(axis=0))
