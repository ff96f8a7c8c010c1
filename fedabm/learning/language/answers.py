"""What an owner's model is worth to it, by the answers it gives to the owner's own test examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine

__all__ = ["AnswerScores"]


@dataclass(frozen=True)
class AnswerScores:
    """The share of answers that are right to the letter or, for owners in `likely`, how likely the answers are.

    An answer is right if greedy decoding gives it: that is so if every token of it is the likeliest one after those
    before it.  Likely is exp(-loss), the geometric mean of the chances of the answers' tokens, for answers such as code
    that can be right in many ways.
    """

    likely: frozenset[int] = frozenset()

    def own(self, engine: Engine, models: Tensor) -> Array:
        """What the models (n, P) are worth to their owners, (n,)."""
        found = []
        for owner in range(engine.data.owners):
            loss, accuracy = engine.evaluate(models[owner], [owner]).numpy()
            found.append(np.exp(-loss[0, 0]) if owner in self.likely else accuracy[0, 0])
        return np.nan_to_num(np.array(found, dtype=float))
