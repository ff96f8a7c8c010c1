"""Every transfer of money, append-only: the only source of truth about who paid whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.common.state import WHOLE, Many, Numbers, Stateful, StatePart, Tuple
from fedabm.games.curves import Array
from fedabm.kernel import check_transfers
from fedabm.results.streams import ROWS, LongTable, Stream
from fedabm.simulation.saved import TRANSFERS
from fedabm.views import SERVER, Transfers

__all__ = ["Ledger"]


class Ledger(Stateful):
    """Accounts of all owners and the server.  Balances count every step, entries are kept for recorded steps only.

    With a `sample` of owners entries are those that one of them pays or gets.  Where there is a folder to stream to,
    entries go there as soon as they are many.
    """

    _changing: ClassVar = {
        "_balances": Numbers(),
        "_entries": Many(Tuple(WHOLE, TRANSFERS)),
        "_stream": StatePart(Stream),
    }
    _remade = frozenset({"_sample"})

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
        check_transfers(transfers)
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
        """Bring what is held to disk if this many more rows would be too many."""
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
