"""Who sees whom: a NetworkX graph of owners, and what those who are linked see of each other.

Any graph with one node per owner will do, as NetworkX's generators make it.  Nodes 0 .. n - 1 are owners by number and
nodes that bear the owners' names are owners by name; of any other graph node k in its own order is owner k.  An edge
lets both ends see each other; in a directed graph i -> j means that i sees j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags, Rows
from fedabm.common.errors import InputError
from fedabm.common.state import Many, Numbers, Stateful, Tuple
from fedabm.views import Neighbours

__all__ = ["Sight", "check_network"]


def check_network(network: object, owners: int) -> None:
    """Raise unless it is a graph with one node per owner."""
    if not isinstance(network, nx.Graph):
        raise InputError(f"a network must be a NetworkX graph, got {network!r}; for instance nx.cycle_graph({owners})")
    if len(network) != owners:
        raise InputError(f"{owners} owners but a network of {len(network)} nodes; give one node per owner")


def _in_order(network: nx.Graph, names: Sequence[str]) -> list[Any]:
    """The nodes as owners 0, 1, 2, ..."""
    for known in (range(len(network)), names):
        if len(known) == len(network) and set(network) == set(known):
            return list(known)
    return list(network)


def _version(network: nx.Graph) -> object:
    """An object that stays the same until the graph is changed: NetworkX clears what it keeps with a graph then."""
    kept = getattr(network, "__networkx_cache__", None)
    return object() if kept is None else kept.setdefault("fedabm", object())


class Sight(Stateful):
    """Whom every owner sees, and what there was to see in the last step: actions that are public, and of whom.

    Parameters
    ----------
    network : nx.Graph
        Who sees whom.
    names : Sequence[str], optional
        What owners are called.
    """

    _changing: ClassVar = {
        "_seen": Many(Numbers(1, "i")),
        "_there": Numbers(1, "b"),
        "_actions": Tuple(*[Numbers()] * 4),
    }
    _remade = frozenset({"_offsets", "_entries", "_network", "_place", "_as_read"})

    def __init__(self, network: nx.Graph, names: Sequence[str] = ()) -> None:
        self._network = network
        self._place = {node: row for row, node in enumerate(_in_order(network, names))}
        self._seen = self._read()
        self._as_read = _version(network)
        self._offsets = np.zeros(1, dtype=np.intp)
        self._entries = np.zeros(0, dtype=np.intp)
        self._index()
        self._there: Flags = np.zeros(len(self._seen), dtype=bool)
        self._actions: tuple[Array, ...] = (np.zeros(len(self._seen)),) * 4

    def _read(self) -> list[NDArray[np.intp]]:
        """Whom every owner of the graph sees, as it is now."""
        network, place = self._network, self._place
        if set(network) != set(place):
            raise InputError(f"a network of {len(place)} owners has other nodes now; change its edges only")
        return [
            np.array(sorted({place[other] for other in network[node]} - {row}), dtype=np.intp)
            for node, row in place.items()
        ]

    def look_again(self) -> None:
        """Read the graph again if its edges have been changed; newcomers, who are no nodes of it, keep their links."""
        if (now := _version(self._network)) is self._as_read:
            return
        self._as_read, seen = now, self._read()
        for row in range(len(seen), len(self._seen)):
            for other in self._seen[row][self._seen[row] < len(self._place)]:
                seen[other] = np.append(seen[other], row)
        self._seen[: len(seen)] = seen
        self._index()

    def _index(self) -> None:
        self._offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in self._seen])]).astype(np.intp)
        self._entries = np.concatenate([*self._seen, np.zeros(0, dtype=np.intp)])

    def from_state(self, state: Any) -> Self:
        """With whom everybody saw."""
        super().from_state(state)
        self._as_read = _version(self._network)
        self._index()
        return self

    def add(self, sees: Sequence[int]) -> None:
        """One more owner, which sees these and is seen by them."""
        row = len(self._seen)
        unknown = [other for other in sees if other not in range(row)]
        if unknown:
            raise InputError(f"a newcomer sees owner {unknown[0]}, but owners are 0 .. {row - 1}; use those numbers")
        self._seen.append(np.array(sorted(set(sees)), dtype=np.intp))
        for other in self._seen[-1]:
            self._seen[other] = np.append(self._seen[other], row)
        self._index()
        self._there = np.append(self._there, False)
        self._actions = tuple(np.append(column, 0.0) for column in self._actions)

    def of(self, owner: int) -> list[int]:
        """The owners that this one sees."""
        return [int(other) for other in self._seen[owner]]

    def show(self, there: Flags, contribution: Array, size: Array, accuracy: Array, payment: Array) -> None:
        """Note what everybody present did in a step and what came of it, as far as it is public."""
        self._there = there.copy()
        self._actions = tuple(column.copy() for column in (contribution, size, accuracy, payment))

    def view(self, rows: Rows) -> Neighbours:
        """What some owners see of the last step; who was not there is not seen."""
        rows = np.asarray(rows, dtype=np.intp)
        count = np.diff(self._offsets)[rows]
        ends = np.cumsum(count)
        places = np.repeat(self._offsets[rows] - (ends - count), count) + np.arange(ends[-1] if len(ends) else 0)
        others: NDArray[np.intp] = self._entries[places]
        seen = self._there[others]
        kept = np.bincount(np.repeat(np.arange(len(rows)), count)[seen], minlength=len(rows))
        offsets = np.concatenate([[0], np.cumsum(kept)]).astype(np.intp)
        others = others[seen]
        return Neighbours(offsets, others, *(column[others] for column in self._actions))
