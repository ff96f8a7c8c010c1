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

    `drawn` says whether anybody has drawn since it was last set to False: a run does not rest while owners throw dice.
    """

    def __init__(self, generators: Iterable[np.random.Generator]) -> None:
        self._pool = _Pool(tuple(generators))
        self._rows = np.arange(len(self._pool.generators))
        self._source: Streams | None = None
        self.drawn = False

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, rows: Sequence[int] | np.ndarray) -> Streams:
        """The streams of some of the owners, each of them once, in their present state."""
        some = Streams.__new__(Streams)
        some._pool, some._rows, some._source = self._pool, self._rows[np.asarray(rows, dtype=np.intp)], self
        some.drawn = False
        return some

    def each(self) -> tuple[np.random.Generator, ...]:
        """One generator per owner."""
        self._note()
        return self._pool.whole(self._rows)

    def uniform(self, low: float = 0.0, high: float = 1.0, where: Flags | None = None) -> Array:
        """One uniform number per owner; only owners `where` draw, the others get nan and their streams stay put."""
        if where is None:
            self._note()
            return low + (high - low) * self._pool.uniform(self._rows)
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
        """Somebody draws, also in the eyes of those from whom these streams were taken."""
        self.drawn = True
        if self._source is not None:
            self._source._note()


class _Pool:
    """The generators behind some streams, with uniform numbers drawn ahead: one call of a generator serves many steps.

    Nobody can tell: who asks for the generators themselves gets them as if nothing had been drawn ahead.
    """

    #: how many numbers a generator is asked for at once
    AHEAD = 64

    def __init__(self, generators: tuple[np.random.Generator, ...]) -> None:
        self.generators = generators
        self._ahead: Array | None = None
        self._used = np.full(len(generators), self.AHEAD)

    def uniform(self, rows: NDArray[np.intp]) -> Array:
        """The next uniform number of each of these generators."""
        if self._ahead is None:
            self._ahead = np.empty((len(self.generators), self.AHEAD))
        for row in rows[self._used[rows] == self.AHEAD]:
            self.generators[row].random(out=self._ahead[row])
            self._used[row] = 0
        drawn = self._ahead[rows, self._used[rows]]
        self._used[rows] += 1
        return drawn

    def whole(self, rows: NDArray[np.intp]) -> tuple[np.random.Generator, ...]:
        """These generators, with the numbers that were drawn ahead and not used put back."""
        for row in rows[self._used[rows] < self.AHEAD]:
            _step_back(self.generators[row].bit_generator, int(self.AHEAD - self._used[row]))
            self._used[row] = self.AHEAD
        return tuple(self.generators[row] for row in rows)


def _step_back(bits: Any, draws: int) -> None:
    """Undo some draws of uniform numbers; `advance` alone would forget the half of a draw that is kept for later."""
    kept = {name: bits.state[name] for name in ("has_uint32", "uinteger")}
    bits.advance(-draws)
    bits.state = bits.state | kept


def owner_streams(seed: int, owners: int) -> Streams:
    """A stream for each of the owners of a run."""
    return Streams(generator(seed, "owner", owner) for owner in range(owners))
