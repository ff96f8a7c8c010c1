"""Who joins whom: owners choose coalitions by what each of these brings its members.

A hedonic game.  A partition of the owners is *core stable* if no group has a coalition of its own that all its members
like better, and *individually stable* if nobody likes another coalition (or being alone) better whose members are all
no worse off with it.  Bogomolnaia and Jackson 2002; Donahue and Kleinberg 2021, Section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags

__all__ = ["Coalition", "HedonicGame", "Partition", "groups", "partitions"]

Coalition = tuple[int, ...]
Partition = tuple[Coalition, ...]

#: with more owners there are too many coalitions to look at them all
_MOST = 12
#: what is lost to rounding, as a share of what is compared
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class HedonicGame:
    """Owners who care only about whom they are with.

    Parameters
    ----------
    owners : int
        How many there are, at most 12.
    value : callable
        From the sorted members of a coalition to what each of them has in it.

    Examples
    --------
    >>> from fedabm.games.accuracy import MeanEstimation
    >>> game = HedonicGame.of_accuracy(MeanEstimation(10.0, 1.0), [5, 5, 25])
    >>> game.stable("core"), game.stable("individual")
    ([((0, 1), (2,))], [((0, 1), (2,))])
    """

    owners: int
    value: Callable[[Coalition], Array]

    def __post_init__(self) -> None:
        check_whole("owners", self.owners)
        if self.owners > _MOST:
            raise InputError(f"{self.owners} owners have {2**self.owners:,} coalitions; take at most {_MOST}")

    @classmethod
    def of_accuracy(cls, accuracy: Accuracy, sizes: Sequence[float]) -> HedonicGame:
        """Everyone gives a coalition all its data and has the accuracy of the model."""
        data = np.asarray(sizes, dtype=float)

        def value(members: Coalition) -> Array:
            present = np.zeros_like(data)
            present[list(members)] = data[list(members)]
            return accuracy.values(present[None])[0][list(members)]

        return cls(len(data), value)

    @cached_property
    def worth(self) -> dict[Coalition, Array]:
        """What every coalition brings its members."""
        return {members: np.asarray(self.value(members), dtype=float) for members in groups(self.owners)}

    def utilities(self, partition: Iterable[Iterable[int]]) -> Array:
        """What every owner has in a partition."""
        found = np.full(self.owners, np.nan)
        for members in self._checked(partition):
            found[list(members)] = self.worth[members]
        return found

    def blocking(self, partition: Iterable[Iterable[int]]) -> list[Coalition]:
        """The groups whose members would all have more in a coalition of their own."""
        now = self.utilities(partition)
        return [group for group, worth in self.worth.items() if np.all(_more(worth, now[list(group)]))]

    def moves(self, partition: Iterable[Iterable[int]]) -> list[tuple[int, Coalition]]:
        """Owners and the coalitions (empty: being alone) that they like better and that are no worse off with them."""
        parts, now = self._checked(partition), self.utilities(partition)
        found = []
        for owner in range(self.owners):
            for target in (*parts, ()):
                joined = tuple(sorted((*target, owner)))
                if owner not in target and self._welcomed(owner, joined, now):
                    found.append((owner, target))
        return found

    def is_stable(self, partition: Iterable[Iterable[int]], kind: Literal["core", "individual"] = "core") -> bool:
        """Whether nobody leaves, together or one by one."""
        return not (self.blocking(partition) if kind == "core" else self.moves(partition))

    def stable(self, kind: Literal["core", "individual"] = "core") -> list[Partition]:
        """All stable partitions."""
        return [one for one in partitions(self.owners) if self.is_stable(one, kind)]

    def settle(self, start: Iterable[Iterable[int]], limit: int = 1000) -> list[Partition]:
        """The partitions on the way if owners move one by one, the lowest number first; the last is where they rest.

        A way that leads back to where it was ends there, as then it would go on for ever.
        """
        path = [self._checked(start)]
        while len(path) <= limit and (ways := self.moves(path[-1])):
            owner, target = ways[0]
            left = [tuple(one for one in part if one != owner) for part in path[-1] if part != target]
            path.append(self._checked([part for part in (*left, (*target, owner)) if part]))
            if path[-1] in path[:-1]:
                break
        return path

    def _welcomed(self, owner: int, joined: Coalition, now: Array) -> bool:
        worth, before = self.worth[joined], now[list(joined)]
        own = np.array(joined) == owner
        return bool(np.all(_more(worth, before)[own]) and not np.any(_more(before, worth)[~own]))

    def _checked(self, partition: Iterable[Iterable[int]]) -> Partition:
        parts = tuple(sorted(tuple(sorted(part)) for part in partition))
        if sorted(one for part in parts for one in part) != list(range(self.owners)) or () in parts:
            raise InputError(f"{parts} is no partition of {self.owners} owners; put each of them into one coalition")
        return parts


def groups(owners: int) -> list[Coalition]:
    """All coalitions, the small ones first.

    >>> groups(2)
    [(0,), (1,), (0, 1)]
    """
    return [one for size in range(1, owners + 1) for one in combinations(range(owners), size)]


def partitions(owners: int) -> Iterator[Partition]:
    """All partitions of this many owners; Bell's number of them.

    >>> len(list(partitions(4))), list(partitions(2))
    (15, [((0, 1),), ((0,), (1,))])

    Parameters
    ----------
    owners : int
        How many owners there are.

    Yields
    ------
    Iterator[Partition]
        Partitions, each a tuple of groups.
    """
    if owners == 0:
        yield ()
        return
    for rest in partitions(owners - 1):
        for place, part in enumerate(rest):
            yield tuple(sorted((*rest[:place], (*part, owners - 1), *rest[place + 1 :])))
        yield tuple(sorted((*rest, (owners - 1,))))


def _more(one: Array, other: Array) -> Flags:
    """Where one is more than the other by more than rounding."""
    return np.asarray(one > other + _ROUNDING * np.maximum(np.abs(one), np.abs(other)))
