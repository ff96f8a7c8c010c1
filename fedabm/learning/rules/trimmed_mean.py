"""The mean without the extremes of every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.learning.rules.aggregate import Rows, by_columns, ordered
from fedabm.learning.rules.base import Robust

__all__ = ["TrimmedMean"]


@dataclass(frozen=True)
class TrimmedMean(Robust):
    """In every coordinate the mean of the updates without the `share` largest and the `share` smallest.

    As many are left out at each end as to make up the share or more, but never all.  Up to that many owners cannot move
    it out of the others' range.  Yin et al. 2018, Definition 2, with beta = share.

    Parameters
    ----------
    share : float, optional
        Which share is left out at each end.
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.share < 0.5:
            raise InputError(f"share must lie in [0, 0.5), got {self.share}; what is left out at both ends is not all")

    def centre(self, rows: Rows, usable: Tensor) -> Tensor:
        number = usable.sum().clamp_min(1)
        cut = torch.minimum((self.share * number - 1e-9).ceil().to(number.dtype).clamp_min(0), (number - 1) // 2)
        places = torch.arange(len(rows), device=rows.device)
        inside = ((places >= cut) & (places < number - cut)).unsqueeze(1)

        def mean(part: Tensor) -> Tensor:
            return torch.where(inside, ordered(part, usable), 0.0).sum(dim=0) / (number - 2 * cut)

        return by_columns(mean, rows)
