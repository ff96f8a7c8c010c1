"""Attacks on robust rules of learning by colluders that see all updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings
from fedabm.strategies.attacks.base import Attack, honest, lengths, mean, normal, spread

__all__ = ["Copycat", "InnerProduct", "LittleIsEnough", "MinMax"]

_HALVINGS = 30


@dataclass(frozen=True)
class LittleIsEnough(Attack):
    """The honest mean less `scale` standard deviations in every number, which honest updates cover themselves.

    Baruch et al. 2019, Algorithm 3, with 1.5 standard deviations as in ByzFL; `unseen` says how many the paper lets
    attackers take so that a majority stays farther from the mean.  Omniscient: it sees all honest updates.  It hides
    within the spread, so that it hurts where spread is large: rounds of one gradient; after a whole epoch it hardly
    bites.
    """

    scale: float = 1.5
    omniscient: ClassVar[bool] = True

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The same for all attackers."""
        others = honest(around)
        return 0.0 * rows + mean(others) - self.scale * spread(others)

    @staticmethod
    def unseen(owners: int, attackers: int) -> float:
        """Phi^-1((n - m - s) / (n - m)) with s = floor(n / 2 + 1) - m supporters, m attackers among n; at least 0.

        >>> round(LittleIsEnough.unseen(50, 24), 2), round(LittleIsEnough.unseen(10, 3), 2)
        (1.43, 0.18)
        """
        honest = owners - attackers
        supporters = owners // 2 + 1 - attackers
        return max(float(ndtri(np.clip((honest - supporters) / honest, 1e-6, 1 - 1e-6))), 0.0)


@dataclass(frozen=True)
class InnerProduct(Attack):
    """-scale times the honest mean: a mean that takes it in points less along the gradient, or against it.

    Xie et al. 2020, "fall of empires": with epsilon = scale.  Omniscient: it sees all honest updates.
    """

    scale: float = 0.5
    omniscient: ClassVar[bool] = True

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The same for all attackers."""
        return 0.0 * rows - self.scale * mean(honest(around))


@dataclass(frozen=True)
class MinMax(Attack):
    """As far from the honest mean as may be without being farther from anybody than two honest updates are apart.

        u' = mean - gamma * std,      gamma = max{gamma: max_j |u' - u_j| <= scale * max_jk |u_j - u_k|}

    Shejwalkar and Houmansadr 2021, eq. (10), along the standard deviation.  Omniscient: it sees all honest updates.
    """

    omniscient: ClassVar[bool] = True

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The same for all attackers; bisection, since distances grow with gamma."""
        others = honest(around)
        centre, away = mean(others), spread(others)
        most = self.scale * max(float(lengths(others - one[None]).max()) for one in others)
        low, high = 0.0, 1.0
        while high < 1e6 and float(lengths(centre - high * away - others).max()) <= most:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            inside = float(lengths(centre - middle * away - others).max()) <= most
            low, high = (middle, high) if inside else (low, middle)
        return 0.0 * rows + centre - low * away


@dataclass(frozen=True)
class Copycat(Attack):
    """scale times the update of some honest owner, in turn: nothing trained, and everything as good as his.

    Omniscient, or the owner whose update it is gave it away.  No rule that values updates one by one tells who copied
    whom; with `noise`, in widths of the update, a test for duplicates does not find them either.
    """

    noise: float = field(default=0.0)
    omniscient: ClassVar[bool] = True

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """Attacker k copies the honest owner number k."""
        others = honest(around)
        taken = others[np.arange(len(rows)) % len(others)]
        width = ((taken**2).mean(1) ** 0.5)[:, None]
        return self.scale * taken + (self.noise * width * normal(rows, rng) if self.noise else 0.0)
