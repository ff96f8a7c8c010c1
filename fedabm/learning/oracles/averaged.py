"""What the averaged models of coalitions are worth, without training any of them again.

The model of coalition X is the mean of its members' models, weighted by contributions (the start for nobody): a row of
mixing @ models.  An averaged model's first pre-activation is the average of its members' first pre-activations, so
those are computed once per member and mixed; for a linear model that is everything.  The other layers run batched over
coalitions.  Values are kept on disk by content, so that an interrupted computation goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_positive, finite_vector
from fedabm.common.timing import timed
from fedabm.learning.engine import threads
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.evaluate import by_owner, judge
from fedabm.learning.engine.first_layer import FirstLayer, Members
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.memory import AnswerCache, digest
from fedabm.learning.rules.aggregate import screen

__all__ = ["AveragedModels"]

#: values are saved whenever this many are new
_SAVED = 256
#: members' first outputs are kept for the next question up to this many numbers
_KEPT = 2**25


class AveragedModels:
    """Accuracies (or losses) of coalitions' models on the test parts of `judges` (default: all owners).

    start          the model of the empty coalition (P,)
    models         everybody's model (n, P); one that is not finite counts as the start
    contributions  everybody's weight (n,)
    folder         where values are kept, or None to keep them in memory only
    known          the memory to keep them in, instead of a folder
    """

    def __init__(
        self,
        engine: Engine,
        start: Tensor,
        models: Tensor,
        contributions: np.ndarray | Sequence[float],
        judges: Sequence[int] | None = None,
        folder: str | Path | None = None,
        measure: str = "accuracy",
        known: AnswerCache | None = None,
    ) -> None:
        if measure not in ("accuracy", "loss"):
            raise InputError(f"measure must be accuracy or loss, got {measure!r}; choose one of them")
        rows = engine.rows(models)
        usable = screen(rows).unsqueeze(1)
        self._rows = torch.cat([engine.rows(start).unsqueeze(0), torch.where(usable, rows, engine.rows(start))])
        self._weights = finite_vector("contributions", contributions, len(rows))
        check_positive("contributions", self._weights, zero=True)
        self._engine, self._measure = engine, measure
        self._samples, self._offsets = engine.part("test", judges)
        self.owners, self.judges = len(rows), len(self._offsets) - 1
        self._memory = AnswerCache(folder, "" if folder is None else self._digest()) if known is None else known
        self._first = FirstLayer.of(engine, self.owners + 1)
        self._members: dict[int, Members] = {}

    def mixing(self, coalitions: np.ndarray) -> np.ndarray:
        """The weights (k, n + 1) of the start and of everybody's model in each coalition's model."""
        weights = np.where(coalitions, self._weights, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        nobody = total[:, 0] <= 0
        return np.column_stack([nobody, weights / np.where(nobody[:, None], 1.0, total)])

    def values(self, coalitions: np.ndarray) -> np.ndarray:
        """Values (k, judges) of coalitions given as rows of a boolean matrix (k, n); only new ones are computed."""
        wanted = np.asarray(coalitions, dtype=bool)
        if wanted.ndim != 2 or wanted.shape[1] != self.owners:
            raise InputError(f"coalitions must be a matrix with {self.owners} columns, got {wanted.shape}")
        found = self._memory.answers(np.packbits(wanted, axis=1), self._values, _SAVED)
        return found.reshape(len(wanted), self.judges)

    @property
    def judged(self) -> int:
        """How many coalitions' values are known."""
        return len(self._memory)

    def _values(self, packed: np.ndarray) -> np.ndarray:
        """Values (k, judges) of coalitions given as rows of bits."""
        return self._compute(np.unpackbits(packed, axis=1, count=self.owners).astype(bool))

    @timed("evaluation")
    @torch.no_grad()
    def _compute(self, coalitions: np.ndarray) -> np.ndarray:
        mixing = torch.from_numpy(self.mixing(coalitions)).to(self._rows)
        if self._first is not None:
            return pull(self._mixed(mixing, self._first))
        return pull(torch.cat([self._averaged(part) for part in mixing.split(64)]))

    def _averaged(self, mixing: Tensor) -> Tensor:
        """Values of a few models by plain evaluation: the way of large and of unknown networks."""
        scores = self._engine.score(mixing @ self._rows, self._samples, self._offsets)
        return scores.accuracy if self._measure == "accuracy" else scores.loss

    def _mixed(self, mixing: Tensor, first: FirstLayer) -> Tensor:
        """Values by mixing what the first layer gives, one batch of samples after the other."""
        result = self._rows.new_empty(len(mixing), len(self._samples.y))
        width = self._engine.width(len(self._samples.y))
        for i in range(0, len(self._samples.y), width):
            batch = slice(i, i + width)
            self._judge(mixing, first, self._first_outputs(first, batch), self._samples.y[batch], result[:, batch])
        return by_owner(result, self._offsets)

    def _first_outputs(self, first: FirstLayer, batch: slice) -> Members:
        """Everybody's outputs of the first layer on one batch of samples, found once where they take little room."""
        if batch.start in self._members:
            return self._members[batch.start]
        blocks = self._engine.layout.gather(self._rows)
        found = first.members(blocks, self._samples.scaled(self._samples.x[batch]))
        if sum(one.numbers.numel() for one in self._members.values()) + found.numbers.numel() <= _KEPT:
            self._members[batch.start] = found
        return found

    def _judge(self, mixing: Tensor, first: FirstLayer, members: Members, y: Tensor, result: Tensor) -> None:
        """Fill in what every mixture is worth on one batch of samples."""

        def one(_: None, models: slice) -> None:
            rest = self._rest(mixing[models], first.parameters)
            loss, hit = judge(first.outputs(mixing[models], members, rest), y)
            result[models] = hit if self._measure == "accuracy" else loss

        models_at_once = self._engine.models_at_once(len(y), members.numbers.shape[2])
        jobs = [slice(i, i + models_at_once) for i in range(0, len(mixing), models_at_once)]
        threads.run(jobs, one, lambda: None, self._engine.staff(len(jobs), models_at_once * len(y)))

    def _rest(self, mixing: Tensor, after: int) -> list[Tensor]:
        """The coalitions' parameters behind the first layer; nothing stands for those before."""
        layout = self._engine.layout
        begin = layout.bounds[after]
        mixed = mixing @ self._rows[:, begin:]
        blocks = [mixed.new_empty(len(mixing), 0)] * after
        sizes = np.diff(layout.bounds[after:]).tolist()
        parts = mixed.split(sizes, dim=1) if sizes else ()
        shapes = layout.shapes[after:]
        return blocks + [p.reshape(len(mixing), *shape) for p, shape in zip(parts, shapes, strict=True)]

    def _digest(self) -> str:
        """A name that changes with the network, the models, their weights, the data and what is measured."""
        tensors = (self._rows, self._samples.x, self._samples.y, self._offsets)
        words = f"{self._engine.layout}{self._engine.describe()}{self._measure}"
        return digest(words, *(pull(tensor) for tensor in tensors), self._weights)
