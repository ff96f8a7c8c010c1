"""One random stream per owner, and a few for everybody else, all from one seed.

Each stream is identified by a path below the seed, so that no draw depends on who else draws or how often: swapping one
owner's strategy leaves every other draw unchanged (common random numbers).  A stream does not reveal the seed that it
came from, so nobody can predict a neighbour's draws from its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags, apart, select_rows
from fedabm.common.errors import InputError
from fedabm.common.pcg64 import AT_ONCE, Bits, begun, spread, uniform

__all__ = ["Streams", "check_seed", "generator", "owner_streams", "run_streams"]

_KINDS = {
    "owner": 0,
    "server": 1,
    "activation": 2,
    "data": 3,
    "training": 4,
    "population": 5,
    "sample": 6,
    "participation": 7,
}


def check_seed(seed: int) -> None:
    """Raise unless the seed is a whole number that fits into the frames."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, got {seed!r}; give for instance 7")


def generator(seed: int, kind: str, *path: int) -> np.random.Generator:
    """The generator of one part of a run, for instance `generator(7, "owner", 3)`.

    Parameters
    ----------
    seed : int
        Seed of all random draws; the same seed gives the same numbers.
    kind : str
        Whose generator, such as "owner" or "data".
    *path : int
        Numbers that tell generators of one kind apart.

    Returns
    -------
    np.random.Generator
        The generator.
    """
    words = np.random.SeedSequence(seed, spawn_key=(_KINDS[kind], *path)).generate_state(4)
    return np.random.default_rng(words)


class Streams:
    """The generators of some owners; each draw gives one number per owner, from that owner's own generator.

    All take a step in one array operation, and nobody can tell: who asks for a generator itself (`each`) gets what
    `generator` gives, as far as it has been drawn from, and from then on it is that one that is drawn from.
    `drawn` says whether anybody has drawn since it was last set to False, also from streams that were taken from these:
    a run does not rest while owners draw random numbers.

    Parameters
    ----------
    generators : Iterable[np.random.Generator], optional
        One generator per owner.
    """

    def __init__(self, generators: Iterable[np.random.Generator] = ()) -> None:
        whole = dict(enumerate(generators))
        self._home = _Home(np.zeros((len(whole), 4), dtype=np.uint32), whole)
        self._rows: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._home.words) if self._rows is None else len(self._rows)

    @property
    def drawn(self) -> bool:
        """Whether anybody has drawn."""
        return self._home.drawn

    @drawn.setter
    def drawn(self, drawn: bool) -> None:
        self._home.drawn = drawn

    def take(self, rows: Sequence[int] | np.ndarray) -> Streams:
        """The streams of some of the owners: who draws from these draws from those."""
        some = Streams()
        some._home = self._home
        some._rows = np.arange(len(self))[rows] if self._rows is None else self._rows[rows]
        return some

    def lent(self, rows: Sequence[int] | np.ndarray) -> Streams:
        """Streams of some of the owners from which nobody else's can be reached; they are to be `returned`.

        The rows are in ascending order; if they are all, there is nobody else.
        """
        if len(rows) == len(self):
            return self
        some = Streams()
        some._home = self._home.part(np.asarray(rows, dtype=np.intp) if self._rows is None else self._rows[rows])
        return some

    def lent_singly(self, rows: NDArray[np.intp]) -> Iterator[Streams]:
        """The same of each of some owners, one by one."""
        for home in self._home.parts(rows if self._rows is None else self._rows[rows]):
            some = Streams.__new__(Streams)
            some._home, some._rows = home, None
            yield some

    def returned(self, rows: Sequence[int] | np.ndarray, lent: Streams) -> None:
        """Take back what was lent, as far as it has been drawn from."""
        if lent.drawn and lent._home is not self._home:
            self._home.put(self.take(rows)._places, lent._home)

    def joined_by(self, newcomers: Streams) -> Streams:
        """These and some more."""
        both = Streams()
        both._home = self._home.part(self._places)
        both._home.append(newcomers._home.part(newcomers._places))
        return both

    def each(self) -> tuple[np.random.Generator, ...]:
        """One generator per owner."""
        self.drawn = True
        return tuple(self._home.generator(place) for place in self._places.tolist())

    def uniform(self, low: float = 0.0, high: float = 1.0, where: Flags | None = None) -> Array:
        """One uniform number per owner; only owners `where` draw, the others get nan and their streams stay put."""
        if where is None:
            self.drawn = True
            return low + (high - low) * self._home.uniform(self._rows)
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

    @property
    def _places(self) -> NDArray[np.intp]:
        return np.arange(len(self)) if self._rows is None else self._rows


class _Home:
    """The states of some generators as arrays, from the words that they begin with; some may be `whole` ones."""

    def __init__(self, words: NDArray[np.uint32], whole: dict[int, np.random.Generator]) -> None:
        self.words, self.whole = words, whole
        #: None as long as nobody has drawn
        self.bits: Bits | None = None
        self.drawn = False

    def part(self, rows: NDArray[np.intp]) -> _Home:
        """Those in some rows, in arrays of their own."""
        known = enumerate(rows.tolist()) if self.whole else ()
        some = _Home(
            select_rows(self.words, rows), {place: self.whole[row] for place, row in known if row in self.whole}
        )
        some.bits = None if self.bits is None else Bits(*(column[rows] for column in self.bits))
        return some

    def parts(self, rows: NDArray[np.intp]) -> Iterator[_Home]:
        """Each of those in some rows, in arrays of its own."""
        if self.whole or self.bits is not None:
            return (self.part(row[None]) for row in rows)
        return (_Home(words, {}) for words in apart(self.words[rows]))

    def put(self, rows: NDArray[np.intp], part: _Home) -> None:
        """Bring those in some rows up to date."""
        if part.bits is not None:
            for mine, theirs in zip(self.begin(), part.bits, strict=True):
                mine[rows] = theirs
        self.whole.update({int(rows[place]): one for place, one in part.whole.items()})

    def append(self, more: _Home) -> None:
        """Some more at the end."""
        known = len(self.words)
        if self.bits is not None or more.bits is not None:
            pairs = zip(self.begin(), more.begin(), strict=True)
            self.bits = Bits(*(np.concatenate(pair) for pair in pairs))
        self.words = np.concatenate([self.words, more.words])
        self.whole.update({known + row: one for row, one in more.whole.items()})

    def begin(self) -> Bits:
        """The states, made when they are first asked for."""
        if self.bits is None:
            self.bits = begun(self.words)
        return self.bits

    def uniform(self, rows: NDArray[np.intp] | None) -> Array:
        """A number from [0, 1) from each of the generators in some rows (None: from all)."""
        if not self.whole:
            return uniform(self.begin(), rows)
        places = np.arange(len(self.words)) if rows is None else rows
        apart = np.array([row in self.whole for row in places.tolist()], dtype=bool)
        drawn = np.empty(len(places))
        drawn[~apart] = uniform(self.begin(), places[~apart])
        drawn[apart] = [self.whole[row].random() for row in places[apart].tolist()]
        return drawn

    def generator(self, row: int) -> np.random.Generator:
        """The generator in a row as an object of its own, which is drawn from ever after."""
        if row not in self.whole:
            made = self.whole[row] = np.random.default_rng(self.words[row])
            if self.bits is not None:
                high, low = int(self.bits.high[row]), int(self.bits.low[row])
                state: Any = made.bit_generator.state
                made.bit_generator.state = state | {"state": {**state["state"], "state": high << 64 | low}}
        return self.whole[row]


def owner_streams(seed: int, owners: int, first: int = 0) -> Streams:
    """A stream for each of this many owners of a run from a `first` on: `generator(seed, "owner", owner)`."""
    return _begun(np.array([seed], dtype=np.uint64), np.arange(first, first + owners, dtype=np.uint32))


def run_streams(seeds: Sequence[int], owners: int) -> Streams:
    """The same for each of this many owners of several runs, run by run."""
    runs = np.repeat(np.array(seeds, dtype=np.uint64), owners)
    return _begun(runs, np.tile(np.arange(owners, dtype=np.uint32), len(seeds)))


def _begun(seeds: NDArray[np.uint64], owners: NDArray[np.uint32]) -> Streams:
    # The words of `SeedSequence(seed, spawn_key=(kind, owner))`: a seed of two words, room for four, and the key.
    low, high = (seeds & np.uint64(0xFFFFFFFF)).astype(np.uint32), (seeds >> np.uint64(32)).astype(np.uint32)
    common = [np.array([word], dtype=np.uint32) for word in (0, 0, _KINDS["owner"])]
    streams, words = Streams(), np.empty((len(owners), 4), dtype=np.uint32)
    for begin in range(0, len(owners), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        of = slice(None) if len(seeds) == 1 else part
        words[part] = spread([low[of], high[of], *common, owners[part]], 4)
    streams._home = _Home(words, {})
    return streams
