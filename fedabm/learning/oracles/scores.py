"""What a model is worth to an owner: its accuracy on the owner's test part, or a reference less its loss there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_range
from fedabm.learning.engine.engine import Engine, Owners
from fedabm.learning.engine.host import pull

__all__ = ["Measure"]


@dataclass(frozen=True)
class Measure:
    """ "accuracy": the share of right answers (1 - squared error for real targets); "loss": a_i = reference - loss_i.

    The latter is Doshi et al. 2025, Section 4; unlike the share of right answers it is smooth in the model.

    Parameters
    ----------
    kind : str, optional
        "accuracy" or "loss".
    reference : float, optional
        What the loss is taken from.
    """

    kind: str = "accuracy"
    reference: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in ("accuracy", "loss"):
            raise InputError(f"a measure is accuracy or loss, got {self.kind!r}; choose one of them")
        check_range("reference", self.reference, -1e100, 1e100)

    def of(self, engine: Engine, models: Tensor, owners: Owners = None) -> np.ndarray:
        """What models (k, P) or one model (P,) are worth to every owner, or to some, (k, n)."""
        return self.worth(pull(self._judged(engine, models, owners)))

    def own(self, engine: Engine, models: Tensor, owners: Iterable[int]) -> np.ndarray:
        """What each of the models (k, P) is worth to its own owner, (k,)."""
        # Every model sees other samples, so that there is nothing to do together.
        judged = [self._judged(engine, models[place], [owner]) for place, owner in enumerate(owners)]
        return self.worth(pull(torch.cat(judged)))[:, 0] if judged else np.zeros(0)

    def _judged(self, engine: Engine, models: Tensor, owners: Owners) -> Tensor:
        scores = engine.evaluate(models, owners)
        return scores.accuracy if self.kind == "accuracy" else scores.loss

    def worth(self, judged: np.ndarray) -> np.ndarray:
        """Accuracies as they are, or losses (k, n) turned into what they are worth."""
        if not np.all(np.isfinite(judged)):
            owner = int(np.argmax(~np.isfinite(judged).all(axis=0)))
            raise InputError(f"a model's {self.kind} for owner {owner} is no number: training diverged; lower the rate")
        return judged if self.kind == "accuracy" else self.reference - judged
