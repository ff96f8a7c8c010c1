"""One random stream per owner, and a few for everybody else, all from one seed.

Each stream is identified by a path below the seed, so that no draw depends on who else draws or how often: swapping one
owner's strategy leaves every other draw unchanged (common random numbers).  A stream does not reveal the seed that it
came from, so nobody can predict a neighbour's draws from its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import InputError

__all__ = ["Streams", "check_seed", "generator", "owner_streams"]

_KINDS = {"owner": 0, "server": 1, "activation": 2, "data": 3, "training": 4, "population": 5}


def check_seed(seed: int) -> None:
    """Raise unless the seed is a whole number that fits into the frames."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, got {seed!r}; give for instance 7")


def generator(seed: int, kind: str, *path: int) -> np.random.Generator:
    """The generator of one part of a run, for instance `generator(7, "owner", 3)`."""
    words = np.random.SeedSequence(seed, spawn_key=(_KINDS[kind], *path)).generate_state(4)
    return np.random.default_rng(words)


class Streams:
    """The generators of some owners; each draw gives one number per owner, from that owner's own generator.

    `drawn` says whether anybody has drawn since it was last set to False, also from streams that were taken from these:
    a run does not rest while owners throw dice.
    """

    def __init__(self, generators: Iterable[np.random.Generator]) -> None:
        self._dice = tuple(_Dice(one) for one in generators)
        self._marks: tuple[_Mark, ...] = (_Mark(),)

    def __len__(self) -> int:
        return len(self._dice)

    @property
    def drawn(self) -> bool:
        """Whether anybody has drawn."""
        return self._marks[0].set

    @drawn.setter
    def drawn(self, drawn: bool) -> None:
        self._marks[0].set = drawn

    def take(self, rows: Sequence[int] | np.ndarray) -> Streams:
        """The streams of some of the owners, in their present state; nobody else's can be reached from them."""
        some = Streams(())
        some._dice = tuple(self._dice[row] for row in rows)
        some._marks = (_Mark(), *self._marks)
        return some

    def joined_by(self, newcomer: np.random.Generator) -> Streams:
        """These and one more."""
        more = Streams((newcomer,))
        more._dice = (*self._dice, *more._dice)
        return more

    def each(self) -> tuple[np.random.Generator, ...]:
        """One generator per owner."""
        self._note()
        return tuple(dice.whole() for dice in self._dice)

    def uniform(self, low: float = 0.0, high: float = 1.0, where: Flags | None = None) -> Array:
        """One uniform number per owner; only owners `where` draw, the others get nan and their streams stay put."""
        if where is None:
            self._note()
            return low + (high - low) * np.array([dice.left.pop() if dice.left else dice.roll() for dice in self._dice])
        drawn = np.full(len(self), np.nan)
        rows = np.flatnonzero(where)
        if len(rows):
            drawn[rows] = self.take(rows).uniform(low, high)
        return drawn

    def normal(self) -> Array:
        """One standard normal number per owner."""
        return np.array([g.standard_normal() for g in self.each()])

    def choice(self, weights: Array) -> NDArray[np.intp]:
        """One number below k per owner, from its own row of probabilities (n, k), which need not sum to one."""
        edges = np.cumsum(weights, axis=1)
        spot = self.uniform() * edges[:, -1]
        return np.minimum((edges <= spot[:, None]).sum(axis=1), weights.shape[1] - 1)

    def _note(self) -> None:
        """Somebody draws."""
        for mark in self._marks:
            mark.set = True


class _Mark:
    """A flag that streams share with those that were taken from them."""

    def __init__(self) -> None:
        self.set = False


class _Dice:
    """One owner's generator, with uniform numbers drawn ahead: one call of the generator serves many steps.

    Nobody can tell: who asks for the generator itself gets it as if nothing had been drawn ahead.
    """

    #: how many numbers a generator is asked for at once
    AHEAD = 32
    __slots__ = ("generator", "left")

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        #: numbers drawn ahead, the next one last
        self.left: list[float] = []

    def roll(self) -> float:
        """Draw ahead, and give the first of the numbers."""
        self.left = self.generator.random(self.AHEAD)[::-1].tolist()
        return self.left.pop()

    def whole(self) -> np.random.Generator:
        """The generator, with the numbers that are left put back."""
        if self.left:
            bits: Any = self.generator.bit_generator
            # `advance` alone would forget the half of a draw that a generator may keep for later.
            kept = {name: bits.state[name] for name in ("has_uint32", "uinteger")}
            bits.advance(-len(self.left))
            bits.state = bits.state | kept
            self.left = []
        return self.generator


def owner_streams(seed: int, owners: int) -> Streams:
    """A stream for each of the owners of a run."""
    return Streams(generator(seed, "owner", owner) for owner in range(owners))
