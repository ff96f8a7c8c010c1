"""Many models on many owners' data: every model sees all samples, and losses are averaged owner by owner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.data.federated import IGNORED
from fedabm.learning.engine.general import answer_losses, losses
from fedabm.learning.engine.host import pull

__all__ = ["Scores", "by_owner", "judge"]


class Scores(NamedTuple):
    """Mean loss and accuracy of every model (row) on every owner's data (column), as float64 on the device."""

    loss: Tensor
    accuracy: Tensor

    def numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """Both as arrays."""
        return pull(self.loss), pull(self.accuracy)


def judge(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and hit of every sample for outputs (models, batch, k).

    A label is hit or not, and outputs that are no numbers hit nothing (else they would count as a guess of class 0).
    For a real target the "hit" is 1 - squared error, so that higher is better too.  An answer of several labels, with
    outputs (models, batch, labels, k), is hit if all of them are: that is what greedy decoding would have answered.
    """
    if outputs.dim() == 4:
        loss = answer_losses(outputs, y)
        right = ((outputs.argmax(-1) == y) | (y == IGNORED)).all(-1)
        return loss, (right & ~loss.isnan()).to(loss.dtype)
    loss = losses(outputs, y)
    if y.is_floating_point():
        return loss, 1.0 - loss
    return loss, ((outputs.argmax(-1) == y) & ~loss.isnan()).to(loss.dtype)


def by_owner(per_sample: Tensor, offsets: Tensor) -> Tensor:
    """Means (models, owners) of samples (models, N) that stand owner by owner; each of its own samples only.

    Differences of running sums would be as fast, but one owner's infinite loss would be everybody's after it.
    """
    samples = per_sample.T.to(torch.float64).contiguous()
    return torch.segment_reduce(samples, "mean", offsets=offsets, axis=0).T
