"""The median of every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedabm.learning.rules.aggregate import Rows, by_columns, ordered
from fedabm.learning.rules.base import Robust

__all__ = ["CoordinateMedian"]


@dataclass(frozen=True)
class CoordinateMedian(Robust):
    """In every coordinate the median of the updates; the mean of the two in the middle if their number is even.

    Less than half of the owners cannot move it out of the others' range.  Yin et al. 2018, Definition 1.
    """

    def centre(self, rows: Rows, usable: Tensor) -> Tensor:
        number = usable.sum().clamp_min(1)
        middle = torch.stack([(number - 1) // 2, number // 2])
        return by_columns(lambda part: (0.5 * ordered(part, usable).index_select(0, middle)).sum(dim=0), rows)
