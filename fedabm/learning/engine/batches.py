"""Which samples each owner trains on at each step.

An owner that contributes s samples goes through them in a fresh random order each epoch, `batch` at a time, the last
mini-batch of an epoch being what is left; with a number of steps it goes on until it has taken that many.  The orders
come from the owner's own generator, so they do not depend on who else is trained, in which chunk, or how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.learning.engine.augment import CropAndFlip

__all__ = ["Batches", "TrainingLength", "mini_batches"]

Generators = Sequence[np.random.Generator]


@dataclass(frozen=True)
class TrainingLength:
    """How long to train: a number of epochs, or a number of steps."""

    batch: int = 10
    epochs: int | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise InputError(f"give either epochs or steps, got epochs={self.epochs} and steps={self.steps}")
        check_whole("batch", self.batch)
        check_whole("steps" if self.epochs is None else "epochs", self.steps if self.epochs is None else self.epochs, 0)

    def lengths(self, counts: np.ndarray) -> np.ndarray:
        """How many steps each owner takes; without samples none."""
        if self.epochs is not None:
            return -(-counts // self.batch) * self.epochs
        return np.where(counts > 0, self.steps or 0, 0)


@dataclass(frozen=True, eq=False)
class Batches:
    """The mini-batches of some owners, longest training first.

    owners   their numbers, sorted by the number of steps, so that those still training are always the first ones
    active   how many still train at each step, (steps,)
    widths   the largest mini-batch at each step, (steps,)
    samples  rows of the training data, (steps, owners, batch); padded with the owner's first sample
    sizes    how many of them count, (steps, owners)
    keys     a random number for each step of each owner, (steps, owners), or None
    moves    how every image is moved, (steps, owners, batch, 3), or None
    """

    owners: np.ndarray
    active: np.ndarray
    widths: np.ndarray
    samples: np.ndarray
    sizes: np.ndarray
    keys: np.ndarray | None
    moves: np.ndarray | None = None

    @property
    def steps(self) -> int:
        """How many steps the longest training has."""
        return len(self.active)


def mini_batches(
    owners: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    plan: TrainingLength,
    rngs: Generators,
    keyed: bool = False,
    augment: CropAndFlip | None = None,
) -> Batches:
    """Draw the orders of some owners: `counts` samples each, whose rows begin at `starts`."""
    lengths = plan.lengths(counts)
    places = np.argsort(-lengths, kind="stable")
    owners = owners[places]
    counts = counts[places]
    starts = starts[places]
    lengths = lengths[places]
    steps = int(lengths.max(initial=0))
    samples = np.full((len(owners), steps, plan.batch), -1, dtype=np.int64)
    keys = np.zeros((len(owners), steps), dtype=np.int64) if keyed else None
    moves = None if augment is None else np.zeros((len(owners), steps, plan.batch, 3), dtype=np.int64)
    for row, place in enumerate(places):
        length = int(lengths[row])
        samples[row, :length] = _order(int(counts[row]), length, plan.batch, rngs[place])
        if keys is not None:
            keys[row, :length] = rngs[place].integers(2**62, size=length)
        if augment is not None and moves is not None:
            moves[row, :length] = augment.draw(rngs[place], (length, plan.batch))
    sizes = (samples >= 0).sum(axis=2).T
    rows = np.maximum(samples, 0) + starts[:, None, None]
    active = (lengths[None, :] > np.arange(steps)[:, None]).sum(axis=1)
    return Batches(
        owners,
        active,
        sizes.max(axis=1, initial=0),
        rows.transpose(1, 0, 2),
        sizes,
        None if keys is None else keys.T,
        None if moves is None else moves.transpose(1, 0, 2, 3),
    )


def _order(count: int, length: int, batch: int, rng: np.random.Generator) -> np.ndarray:
    """`length` mini-batches of `count` samples in fresh orders, (length, batch), padded with -1."""
    per_epoch = -(-count // batch) if count else 1
    epochs = -(-length // per_epoch)
    order = np.full((epochs, per_epoch * batch), -1, dtype=np.int64)
    for epoch in order:
        epoch[:count] = rng.permutation(count)
    return order.reshape(-1, batch)[:length]
