"""What an owner's own model is worth to it, where everyone has a model of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.engine.training import DeviceSamples
from fedabm.learning.oracles.scores import Measure

__all__ = ["ClassMix", "OwnPart"]


@dataclass(frozen=True)
class OwnPart:
    """Model i on owner i's own test part."""

    measure: Measure = field(default_factory=Measure)

    def own(self, engine: Engine, models: Tensor) -> Array:
        """What the models (n, P) are worth to their owners, (n,)."""
        return self.measure.own(engine, models, range(engine.data.owners))


@dataclass(frozen=True)
class ClassMix:
    """Model i on everybody's test samples, each class counted as often as owner i has it among its training samples.

    a_i = sum_c share_ic * accuracy of model i on class c.  That is the accuracy of iPFL 2025, less noisy than that
    on the own test part.  A class without test samples does not count.
    """

    def own(self, engine: Engine, models: Tensor) -> Array:
        """What the models (n, P) are worth to their owners, (n,)."""
        samples, offsets, classes = _by_class(engine)
        # Before the first round, and wherever all keep the mean, rows are one and the same model.
        distinct = models[:1] if models.stride(0) == 0 or bool(pull((models == models[:1]).all())) else models
        accuracy = pull(engine.score(distinct, samples, offsets).accuracy)
        mix = engine.data.class_counts()[:, classes].astype(float)
        total = mix.sum(axis=1)
        if np.any(total == 0):
            raise InputError(
                f"owner {int(np.argmin(total))} has classes without test samples only; hold out more, or use OwnPart()"
            )
        return (mix * accuracy).sum(axis=1) / total


def _by_class(engine: Engine) -> tuple[DeviceSamples, Tensor, np.ndarray]:
    """All test samples class by class, where each class begins (and the end), and which classes there are."""
    samples, _ = engine.part("test")
    order = torch.argsort(samples.y, stable=True)
    classes, sizes = np.unique(engine.data.y_test, return_counts=True)
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])).to(engine.device)
    return samples.part(order), offsets, classes
