"""Many models on many owners' data: every model sees all samples, and losses are averaged owner by owner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.learning.general import losses

__all__ = ["Scores", "by_owner", "judge"]


class Scores(NamedTuple):
    """Mean loss and accuracy of every model (row) on every owner's data (column), as float64 on the device."""

    loss: Tensor
    accuracy: Tensor

    def numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """Both as arrays."""
        return self.loss.cpu().numpy(), self.accuracy.cpu().numpy()


def judge(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and hit of every sample for outputs (models, batch, k).

    A label is hit or not.  For a real target the "hit" is 1 - squared error, so that higher is better too.
    """
    loss = losses(outputs, y)
    return loss, (1.0 - loss) if y.is_floating_point() else (outputs.argmax(-1) == y).to(loss.dtype)


def by_owner(per_sample: Tensor, offsets: Tensor) -> Tensor:
    """Means (models, owners) of samples (models, N) that stand owner by owner."""
    sums = torch.nn.functional.pad(per_sample.to(torch.float64).cumsum(1), (1, 0))
    return (sums[:, offsets[1:]] - sums[:, offsets[:-1]]) / (offsets[1:] - offsets[:-1])
