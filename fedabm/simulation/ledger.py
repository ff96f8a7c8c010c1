"""Every transfer of money, append-only: the only source of truth about who paid whom.  Graphs are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.results.streams import ROWS, LongTable, Stream
from fedabm.views import SERVER, Transfers

__all__ = ["Ledger", "check_balanced", "check_sound", "import_graph", "payment_graph", "write_graphml"]


def check_balanced(mechanism: str, payments: Array, oracle: Accuracy) -> None:
    """Raise unless payments sum to zero, up to rounding of the amounts that they are differences of."""
    left = np.abs(payments.sum(axis=-1))
    much = left > 1e-9 * np.maximum(np.abs(payments).sum(axis=-1), 1e-3)
    if np.any(much) and np.any(much & (left > 1e-12 * np.abs(oracle.at_zero(payments.shape[-1])).sum())):
        raise InputError(
            f"{mechanism} promises a balanced budget but its payments sum to {payments.sum():.3g}; "
            "mend the mechanism or set budget_balanced = False"
        )


def check_sound(transfers: Transfers) -> None:
    """Raise unless every amount is finite and not negative."""
    if not transfers.sound:
        raise InputError("a transfer must be a finite, non-negative amount; swap payer and payee instead")


class Ledger:
    """Accounts of all owners and the server.  Balances count every step, entries are kept for recorded steps only.

    With a `sample` of owners entries are those that one of them pays or gets.  Where there is a folder to stream to,
    entries go there as soon as they are many.
    """

    def __init__(self, owners: int, sample: NDArray[np.int64] | None = None) -> None:
        self._balances = np.zeros(owners + 1)
        self._entries: list[tuple[int, Transfers]] = []
        self._sample = sample
        self._stream = Stream("transfers")

    def stream(self, folder: str | Path) -> None:
        """Write entries to this folder from now on."""
        self._stream.open(folder)

    def add(self) -> None:
        """An account for one more owner; the server's stays the last."""
        self._balances = np.insert(self._balances, len(self._balances) - 1, 0.0)

    def record(self, step: int, transfers: Transfers, *, keep: bool = True) -> None:
        """Book the transfers of a step."""
        check_sound(transfers)
        self._balances += transfers.balances(len(self._balances) - 1)
        seen = self._seen(transfers) if keep else transfers
        if keep and len(seen):
            self._make_room(len(seen))
            self._entries.append((step, seen))

    def _seen(self, transfers: Transfers) -> Transfers:
        """The transfers that somebody in the sample pays or gets."""
        if self._sample is None:
            return transfers
        ours = np.isin(transfers.payer, self._sample) | np.isin(transfers.payee, self._sample)
        return Transfers(transfers.payer[ours], transfers.payee[ours], transfers.amount[ours], transfers.reason)

    def _make_room(self, rows: int) -> None:
        """Bring what is held to disk if so many more rows would be too many."""
        held = sum(len(entry) for _, entry in self._entries)
        if self._stream.folder and held and held + rows > ROWS:
            self._stream.put(_frame(self._entries), self._entries[0][0])
            self._entries = []

    def balance(self, account: int = SERVER) -> float:
        """What an account has received less what it has paid since the beginning (default: the server's)."""
        return float(self._balances[account])

    @property
    def balances(self) -> Array:
        """The balance of every owner."""
        return self._balances[:-1].copy()

    def frame(self, last: tuple[int, Transfers] | None = None) -> pd.DataFrame:
        """One row per kept transfer; with a `last` step and its transfers, these (kept or not) and those before it."""
        table = self.table(last)
        return table.frame() if isinstance(table, LongTable) else table

    def table(self, last: tuple[int, Transfers] | None = None) -> pd.DataFrame | LongTable:
        """The same, or where its rows lie."""
        entries = self._entries
        if last is not None:
            entries = [*(entry for entry in entries if entry[0] < last[0]), (last[0], self._seen(last[1]))]
        rest = _frame(entries)
        return LongTable(self._stream, rest) if self._stream.files else rest


def _frame(entries: Sequence[tuple[int, Transfers]]) -> pd.DataFrame:
    """One row per transfer."""
    columns: dict[str, list] = {"step": [], "payer": [], "payee": [], "amount": [], "reason": []}
    for step, entry in entries:
        columns["step"].append(np.full(len(entry), step, dtype=np.int64))
        columns["payer"].append(entry.payer.astype(np.int64))
        columns["payee"].append(entry.payee.astype(np.int64))
        columns["amount"].append(entry.amount)
        columns["reason"].append(np.full(len(entry), entry.reason, dtype=object))
    kinds = {"step": np.int64, "payer": np.int64, "payee": np.int64, "amount": float, "reason": object}
    joined = {k: np.concatenate(v) if v else np.empty(0, kinds[k]) for k, v in columns.items()}
    return pd.DataFrame(joined).astype({"reason": "str"})


def payment_graph(transfers: pd.DataFrame, step: int | None = None) -> nx.DiGraph:
    """Who paid whom, and how much: in one step, or cumulated over all steps of the frame.

    An edge payer -> payee carries the `amount` and every `reason`.  The server is the node "server".
    """
    chosen = _chosen(transfers, step)
    graph = nx.DiGraph()
    if chosen.empty:
        return graph
    sums = chosen.groupby(["payer", "payee"])
    table = sums.agg(amount=("amount", "sum"), reason=("reason", lambda r: ", ".join(sorted(set(r)))))
    for (payer, payee), row in table.iterrows():
        graph.add_edge(_node(payer), _node(payee), amount=float(row["amount"]), reason=str(row["reason"]))
    return graph


def import_graph(owners: pd.DataFrame, step: int | None = None, adjacency: Array | None = None) -> nx.DiGraph:
    """Who imports whose model or data: an edge from the giver to the importer.

    Where everyone gets one shared model, data flow owner -> server (`weight` = contribution) and the model flows
    server -> owner (`weight` = accuracy received).  With an `adjacency` (importer i, giver j) edges run between owners.
    Without a step, weights are summed over all steps of the frame.
    """
    graph = nx.DiGraph()
    if adjacency is not None:
        for importer, giver in zip(*np.nonzero(adjacency), strict=True):
            graph.add_edge(_node(int(giver)), _node(int(importer)), weight=float(adjacency[importer, giver]))
        return graph
    chosen = _chosen(owners, step)
    sums = chosen[chosen["stayed"]].groupby("owner")[["contribution", "accuracy"]].sum()
    for row in sums.itertuples():
        if row.contribution > 0:
            graph.add_edge(_node(row.Index), "server", weight=float(row.contribution))
        graph.add_edge("server", _node(row.Index), weight=float(row.accuracy))
    return graph


def write_graphml(graph: nx.DiGraph, path: str | Path) -> Path:
    """Write a graph as GraphML, for Gephi, Cytoscape and the like."""
    nx.write_graphml(graph, path)
    return Path(path)


def _chosen(frame: pd.DataFrame, step: int | None) -> pd.DataFrame:
    """The rows of one step, or of all; they must belong to one run."""
    runs = frame["run"].nunique() if "run" in frame else 1
    if runs > 1:
        raise InputError(f"a graph shows one run, got {runs} runs; choose one, for instance frame[frame['run'] == 0]")
    return frame if step is None else frame[frame["step"] == step]


def _node(account: int) -> str:
    return "server" if account == SERVER else f"owner {account}"
