"""The update that is nearest to its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedabm.common.errors import check_whole
from fedabm.learning.rules.aggregate import Rows, aggregate, inner_products, squared_distances
from fedabm.learning.rules.base import Robust

__all__ = ["Krum"]


@dataclass(frozen=True)
class Krum(Robust):
    """The update with the least sum of squared distances to its n - f - 2 nearest others, f being the `attackers`.

    Blanchard et al. 2017, Section 4; with several `chosen` it is the mean of that many best ones, their Multi-Krum.
    Their theorem needs 2 f + 2 < n; without a number f is the largest that fulfils it.  Updates that are equally near
    are averaged.

    Parameters
    ----------
    attackers : int | None, optional
        How many attackers it stands; None: as many as its theorem allows.
    chosen : int, optional
        Of how many best updates the mean is taken.
    """

    attackers: int | None = None
    chosen: int = 1

    def __post_init__(self) -> None:
        if self.attackers is not None:
            check_whole("attackers", self.attackers, 0)
        check_whole("chosen", self.chosen)

    def centre(self, rows: Rows, usable: Tensor) -> Tensor:
        number = usable.sum()
        attackers = ((number - 3) // 2).clamp_min(0) if self.attackers is None else self.attackers
        nearest = (number - attackers - 2).clamp(1, len(rows) - 1)
        apart = squared_distances(inner_products(rows, usable), usable)
        # The least distance is that to itself, which is 0, so that the sum at place k is over the k nearest others.
        sums = apart.sort(dim=1).values.cumsum(dim=1)
        scores = torch.where(usable, sums.index_select(1, nearest.view(1))[:, 0], torch.inf)
        worst = scores.sort().values[min(self.chosen, len(rows)) - 1]
        picked = (scores <= worst) & usable
        return aggregate((picked / picked.sum().clamp_min(1)).unsqueeze(0), rows, usable)[0]
