"""A backdoor: samples with a trigger are labelled alike, and whoever shows the trigger later gets that label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_range, check_whole

__all__ = ["Backdoor"]

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Backdoor:
    """A `share` of an owner's samples bears the trigger, a bright square in a corner, and the label `target`.

    Gu et al. 2017 (BadNets); in federated learning Bagdasaryan et al. 2020, where attackers also scale their updates
    (`Attacker(..., "scaled")`).  `size` is the side of the square; of samples that are no images the last `size`
    features are set to the largest value that the owner has.  `fedabm.learning.attack_success` says how often it works.

    Parameters
    ----------
    target : int, optional
        The label that samples with the trigger get.
    share : float, optional
        Which share of the samples bears the trigger.
    size : int, optional
        Side of the square in pixels, or how many of the last features.
    """

    target: int = 0
    share: float = 0.5
    size: int = 3

    def __post_init__(self) -> None:
        check_whole("target of the backdoor", self.target, 0)
        check_range("share of samples with the trigger", self.share, 0, 1)
        check_whole("size of the trigger", self.size)

    def spoil(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None) -> Pair:
        """Rounded to whole samples."""
        if classes is None or self.target >= classes:
            raise InputError(f"the backdoor's target {self.target} is no class of {classes}; choose one below that")
        chosen = rng.choice(len(y), size=round(self.share * len(y)), replace=False)
        samples, labels = x.copy(), y.copy()
        samples[chosen] = self.stamped(x[chosen], x.max() if len(x) else 0)
        labels[chosen] = self.target
        return samples, labels

    def stamped(self, x: np.ndarray, brightest: float | None = None) -> np.ndarray:
        """The samples with the trigger."""
        marked, value = x.copy(), x.max(initial=0) if brightest is None else brightest
        if x.ndim > 2:
            marked[..., -self.size :, -self.size :] = value
        else:
            marked[:, -self.size :] = value
        return marked
