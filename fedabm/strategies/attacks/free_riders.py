"""Free-riders that hide: they train nothing and send what looks like an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings
from fedabm.strategies.attacks.base import Attack, like, normal

__all__ = ["DeltaNoise", "DeltaWeights", "DisguisedNoise", "RandomWeights"]


@dataclass(frozen=True)
class RandomWeights(Attack):
    """Numbers drawn evenly from -scale to scale.  Lin et al. 2019, "random weights"."""

    scale: float = 0.01

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """Each row from its owner's own stream."""
        drawn = np.stack([one.uniform(-self.scale, self.scale, rows.shape[1]) for one in rng.each()])
        return like(rows, drawn.astype(np.float32))


@dataclass(frozen=True)
class DeltaWeights(Attack):
    """scale times how the shared model moved in the last round, w^t - w^{t-1}; nothing in the first one.

    Lin et al. 2019, "delta weights".  A mean of honest updates lies along honest updates, so that cosines take it for
    one of the best.
    """

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The same for all free-riders."""
        return 0.0 * rows + self.scale * around.moved


@dataclass(frozen=True)
class DeltaNoise(Attack):
    """How the shared model moved in the last round, with normal noise of scale times its own width.

    Lin et al. 2019, "advanced delta weights": the noise adapts to the size of honest updates and makes free-riders
    differ from each other, which a test for duplicates then misses.
    """

    scale: float = 0.1

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """Each with noise of its own."""
        width = ((around.moved**2).mean() ** 0.5) * self.scale
        return 0.0 * rows + around.moved + width * normal(rows, rng)


@dataclass(frozen=True)
class DisguisedNoise(Attack):
    """Nothing, disguised by normal noise that fades as honest updates do: width scale * t^-fading in round t.

    Rounds count from 1.  Fraboni et al. 2021, Section 3.3, "disguised free-riding with additive noise".
    """

    scale: float = 0.01
    fading: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("fading of the noise", self.fading, zero=True)

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """Noise around the model received."""
        return self.scale * (around.round + 1.0) ** -self.fading * normal(rows, rng)
