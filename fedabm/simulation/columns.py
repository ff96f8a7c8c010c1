"""The state of all owners as columns, one row per owner, so that thousands cost no more than a few array operations.

Whoever is handed a whole column (a view, the frames, whoever compares with the step before) holds the column itself,
which cannot be written to from then on: what changes is written to a copy, or is a new column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Flags, select_rows
from fedabm.common.coded import Coded
from fedabm.common.state import TEXT, WHOLE, Dict, Many, Numbers, Stateful, Thing
from fedabm.games.costs import Cost, replaced
from fedabm.simulation.activation import Members
from fedabm.simulation.owners import NOBODY_ELSE, OwnerProfile, Owners
from fedabm.strategies import Strategy

__all__ = ["OwnerColumns"]


class OwnerColumns(Stateful):
    """What every owner has, did, said and got; what these mean is up to the `Population`."""

    # actions and what came of them, 0 before there are any
    contribution: Array
    claimed: Array
    claimed_size: Array
    claimed_eagerness: Array
    accuracy: Array
    best: Array
    gain: Array
    cost_paid: Array
    owed: Array
    payment: Array
    utility: Array
    progress: Array
    #: what an absent owner last contributed and claimed, and how much is taken off a late update, as a share
    intended: Array
    intended_claim: Array
    discount: Array
    # what is so or not
    stayed: Flags
    rejected: Flags
    dropped: Flags
    absent: Flags

    def __init__(self, owners: Owners) -> None:
        n = len(owners)
        self.cost: Cost = owners.cost
        self.capacity = owners.capacity
        self.eagerness = owners.eagerness
        self.joins = owners.joins.copy()
        self.money = owners.budget
        self._start = owners.start
        self._accounts: dict[int, int] = {}
        self.person = np.arange(n)
        for row in np.flatnonzero(owners.person != NOBODY_ELSE).tolist():
            self.person[row] = self._accounts.setdefault(int(owners.person[row]), row)
        self.roles = owners.role
        self.names = owners.name
        self.strategies = owners.strategy
        self.labels: list[str] = []
        self.codes = np.zeros(n, dtype=np.intp)
        self.information = np.zeros(n, dtype=np.int8)
        self.claimed_cost: Cost = self.cost.scaled(0.0)
        #: whose claimed cost is the true one
        self._candid = np.zeros(n, dtype=bool)
        for name in _ACTIONS:
            setattr(self, name, np.zeros(n))
        for name in _STATES:
            setattr(self, name, np.zeros(n, dtype=bool))

    def __len__(self) -> int:
        return len(self.capacity)

    @property
    def everyone(self) -> Members:
        """All rows."""
        return np.arange(len(self))

    def _code(self, strategy: Strategy) -> int:
        """The place of a strategy's name among the `labels`."""
        if strategy.label not in self.labels:
            self.labels.append(strategy.label)
        return self.labels.index(strategy.label)

    def _append(self, profile: OwnerProfile, joins: int) -> int:
        """One more row."""
        row = len(self)
        for name in _ACTIONS:
            setattr(self, name, np.append(getattr(self, name), 0.0))
        for name in _STATES:
            setattr(self, name, np.append(getattr(self, name), False))
        self.cost = replaced(self.cost, np.array([row]), profile.cost)
        self.claimed_cost = replaced(self.claimed_cost, np.array([row]), profile.cost.scaled(0.0))
        self.capacity = np.append(self.capacity, profile.capacity)
        self.eagerness = np.append(self.eagerness, profile.eagerness)
        self.joins = np.append(self.joins, joins)
        self.money = np.append(self.money, profile.budget)
        self._start = np.append(self._start, profile.start)
        # One number per person: the row of its first account.  An owner without one is a person of its own.
        person = row if profile.person is None else self._accounts.setdefault(profile.person, row)
        self.person = np.append(self.person, person)
        self.information = np.append(self.information, np.int8(0))
        self._candid = np.append(self._candid, False)
        self.roles = self.roles.with_value(row, profile.role)
        self.names = self.names.with_value(row, profile.name)
        self.strategies = self.strategies.with_value(row, profile.strategy)
        self.codes = np.append(self.codes, self._code(profile.strategy))
        return row

    def _keep(self, rows: Members) -> None:
        """Only some of the rows, in ascending order."""
        for name in (*_ACTIONS, *_STATES, *_FACTS):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("cost", "claimed_cost", "roles", "names", "strategies"):
            setattr(self, name, getattr(self, name).take(rows))

    def _put(self, name: str, members: Members | list[int], values: Any) -> None:
        """Overwrite some rows of a column, or all by a new one."""
        column = getattr(self, name)
        whole = isinstance(values, np.ndarray) and values.shape == column.shape and values.dtype == column.dtype
        if whole and len(members) == len(self):
            values.setflags(write=False)
            setattr(self, name, values)
            return
        if not column.flags.writeable:  # somebody holds it
            column = column.copy()
            setattr(self, name, column)
        column[members] = values

    def shared(self, *names: str) -> tuple[np.ndarray, ...]:
        """Whole columns for others to hold; nobody can write to them any more."""
        columns = tuple(getattr(self, name) for name in names)
        for column in columns:
            column.setflags(write=False)
        return columns

    def shown(self) -> dict[str, np.ndarray]:
        """The columns that a `Round` shows, by the names they have in the frames; nobody can write to them any more."""
        return dict(zip(_SHOWN, self.shared(*_SHOWN.values()), strict=True))

    def _rows(self, members: Members, *names: str) -> tuple[np.ndarray, ...]:
        """Some rows of some columns, which cannot be written to."""
        if len(members) == len(self):
            return self.shared(*names)
        columns = tuple(select_rows(getattr(self, name), members) for name in names)
        for column in columns:
            column.setflags(write=False)
        return columns


#: columns of what every owner did and got, and of what is so or not
_ACTIONS = tuple(name for name, kind in OwnerColumns.__annotations__.items() if kind == "Array")
_STATES = tuple(name for name, kind in OwnerColumns.__annotations__.items() if kind == "Flags")
#: and of what is known of everybody from the beginning
_FACTS = ("capacity", "eagerness", "joins", "money", "_start", "person", "information", "_candid", "codes")
#: columns that a `Round` shows, and the names that they have here
_SHOWN = {
    "capacity": "capacity",
    "contribution": "contribution",
    "reported_contribution": "claimed",
    "reported_size": "claimed_size",
    "accuracy": "accuracy",
    "best_accuracy": "best",
    "gain": "gain",
    "cost": "cost_paid",
    "owed": "owed",
    "payment": "payment",
    "money": "money",
    "utility": "utility",
    "stayed": "stayed",
    "refused": "rejected",
    "dropped": "dropped",
    "absent": "absent",
    "discount": "discount",
    "information": "information",
    "strategy_codes": "codes",
}

OwnerColumns._changing = {
    **{name: Numbers(1, "f") for name in _ACTIONS},
    **{name: Numbers(1, "b") for name in _STATES},
    **{name: Numbers() for name in _FACTS},
    **dict.fromkeys(("cost", "claimed_cost"), Thing(Cost)),
    **dict.fromkeys(("roles", "names", "strategies"), Thing(Coded)),
    "labels": Many(TEXT),
    "_accounts": Dict(WHOLE, WHOLE),
}
