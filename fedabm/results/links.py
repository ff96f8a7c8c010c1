"""Who imports whose model in one step: the collaboration graph and its measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fedabm.common.state import WHOLE, FrozenRecord, Maybe, Numbers
from fedabm.games.curves import Array

__all__ = ["LINKS", "Links"]


@dataclass(frozen=True, eq=False)
class Links:
    """`weights[i, j]` is how much of the model of member j goes into that of member i; a model's own part is left out.

    Where `imported` says so, i imports j's model even if it gets no weight.

    >>> links = Links(2, 4, np.array([0, 1, 3]), np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]))
    >>> links.imports.tolist(), links.isolated.tolist(), links.reciprocity, links.components
    ([1, 1, 0, 0], [False, False, False, True], 1.0, 2)
    """

    step: int
    owners: int
    members: NDArray[np.intp]
    weights: Array
    imported: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=float)
        np.fill_diagonal(weights, 0.0)
        object.__setattr__(self, "weights", weights)

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Who (row) imports whose model (column)."""
        if self.imported is None:
            return self.weights != 0
        return (self.weights != 0) | (self.imported & ~np.eye(len(self.weights), dtype=bool))

    @property
    def imports(self) -> NDArray[np.int64]:
        """How many others' models go into each owner's."""
        return self._spread(self.linked.sum(axis=1)).astype(np.int64)

    @property
    def exports(self) -> NDArray[np.int64]:
        """Into how many others' models each owner's goes."""
        return self._spread(self.linked.sum(axis=0)).astype(np.int64)

    @property
    def isolated(self) -> NDArray[np.bool_]:
        """Who is there but neither imports nor exports."""
        alone = ~np.logical_or(self.linked.any(axis=0), self.linked.any(axis=1))
        return self._spread(np.asarray(alone)).astype(bool)

    @property
    def import_strength(self) -> Array:
        """How much of others' models goes into each owner's."""
        return self._spread(self.weights.sum(axis=1))

    @property
    def export_strength(self) -> Array:
        """How much of each owner's model goes into others'."""
        return self._spread(self.weights.sum(axis=0))

    @property
    def reciprocity(self) -> float:
        """The share of imports that go both ways; 0 without any."""
        linked = self.linked
        return float((linked & linked.T).sum() / max(linked.sum(), 1))

    @property
    def components(self) -> int:
        """Into how many groups without any import between them the owners present fall."""
        return int(connected_components(csr_array(self.linked), connection="weak")[0]) if len(self.members) else 0

    def edges(self, sample: NDArray[np.int64] | None = None) -> dict[str, np.ndarray]:
        """Every import with its weight, as columns; with a `sample`, those by or from one of these owners."""
        rows, columns = np.nonzero(self.linked)
        importer, exporter = (self.members[places].astype(np.int64) for places in (rows, columns))
        step, weight = np.full(len(rows), self.step, dtype=np.int64), self.weights[rows, columns]
        found = {"step": step, "importer": importer, "exporter": exporter, "weight": weight}
        if sample is None:
            return found
        ours = np.isin(importer, sample) | np.isin(exporter, sample)
        return {name: column[ours] for name, column in found.items()}

    def graph(self, roles: Sequence[str] | None = None) -> nx.DiGraph:
        """An edge from giver to importer with its `weight`; every owner present is a node, linked or not."""
        graph, names = nx.DiGraph(step=self.step), [f"owner {owner}" for owner in self.members.tolist()]
        alone = self.isolated[self.members].tolist()
        for name, owner, lonely in zip(names, self.members.tolist(), alone, strict=True):
            graph.add_node(name, owner=owner, role=roles[owner] if roles else "owner", isolated=lonely)
        importers, givers = np.nonzero(self.linked)
        for i, j in zip(importers.tolist(), givers.tolist(), strict=True):
            graph.add_edge(names[j], names[i], weight=float(self.weights[i, j]))
        return graph

    def _spread(self, values: np.ndarray) -> Array:
        """Values of the members as one entry per owner, 0 for those who are not there."""
        spread = np.zeros(self.owners)
        spread[self.members] = values
        return spread


#: how it is saved
LINKS = FrozenRecord(
    Links,
    step=WHOLE,
    owners=WHOLE,
    members=Numbers(1, "i"),
    weights=Numbers(2, "f"),
    imported=Maybe(Numbers(2, "b")),
)
