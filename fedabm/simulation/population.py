"""The state of all owners as arrays, one row per owner, so that thousands cost no more than a few array operations.

An `Owner` agent is a handle on one row.  Rows are private: only the model hands out views, row by row.

Whoever is handed a whole column (a view, the frames, whoever compares with the step before) holds the column itself,
which cannot be written to from then on: what changes is written to a copy, or is a new column.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags, taken
from fedabm.common.errors import InputError, as_numbers, shown
from fedabm.common.random import Streams, owner_streams
from fedabm.games.costs import Cost, replaced
from fedabm.games.sending import Effort, Tamper, Tampering
from fedabm.games.valuation import Deal
from fedabm.simulation.activation import Members
from fedabm.simulation.cohorts import Facts, Turn, grouped
from fedabm.simulation.deeds import checked_action, checked_report, sound_report
from fedabm.simulation.failures import named, told
from fedabm.simulation.owners import NOBODY_ELSE, OwnerProfile, Owners
from fedabm.simulation.soundness import sound
from fedabm.strategies import Strategy
from fedabm.views import INFORMATION, Action, Experience, Reports
from fedabm.views.memory import row_of

__all__ = ["Population"]

#: numbers that stand for what a decision rests on
_CODES = {name: code for code, name in enumerate(INFORMATION)}


Columns = tuple[np.ndarray, ...]


class Stance(NamedTuple):
    """What every owner does and says, and whether it stays: columns of numbers, and the costs that are claimed."""

    columns: Columns
    cost: Cost


class Population:
    """What every owner has, did, said and got.

    `alone` are the owners whose agents decide for themselves, one by one.  `restless` says whether anybody threw dice,
    learned something or decided for itself since the step began: such owners may move again though they stand still.
    """

    # deeds and what came of them, 0 before there are any
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
    # what is so or not
    stayed: Flags
    rejected: Flags
    dropped: Flags

    def __init__(self, owners: Owners, seed: int, alone: Iterable[int] = (), streams: Streams | None = None) -> None:
        n = len(owners)
        self.seed = seed
        self.cost = owners.cost
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
        self.information = np.zeros(n, dtype=np.int8)
        self.claimed_cost = self.cost.scaled(0.0)
        #: whose claimed cost is the true one
        self._candid = np.zeros(n, dtype=bool)
        for name in _DEEDS:
            setattr(self, name, np.zeros(n))
        for name in _STATES:
            setattr(self, name, np.zeros(n, dtype=bool))
        self._tampers: dict[int, Tamper] = {}
        self._streams = owner_streams(seed, n) if streams is None else streams
        self._alone = set(alone)
        self._cohorts = grouped(self.strategies, self._alone, self._facts(), self._streams, ())
        self._regroup = False
        self.labels: list[str] = []
        self.codes = np.zeros(n, dtype=np.intp)
        for cohort in self._cohorts:
            self.codes[cohort.members] = self._code(cohort.strategy)
        self.restless = False
        self._present: Members | None = None
        self.arrive(1)
        self._lately = (self.experience(self.everyone),) * 2

    def __len__(self) -> int:
        return len(self.capacity)

    def _facts(self) -> Facts:
        return Facts(self.capacity, self.cost, self.eagerness)

    @property
    def everyone(self) -> Members:
        """All rows."""
        return np.arange(len(self))

    def _code(self, strategy: Strategy) -> int:
        """The place of a strategy's name among the `labels`."""
        if strategy.label not in self.labels:
            self.labels.append(strategy.label)
        return self.labels.index(strategy.label)

    # Who is there

    def add(self, profile: OwnerProfile, step: int, *, alone: bool = False) -> int:
        """One more owner, which takes part from the next step on (or from the one in which its profile joins)."""
        row = len(self)
        for name in _DEEDS:
            setattr(self, name, np.append(getattr(self, name), 0.0))
        for name in _STATES:
            setattr(self, name, np.append(getattr(self, name), False))
        self.cost = replaced(self.cost, np.array([row]), profile.cost)
        self.claimed_cost = replaced(self.claimed_cost, np.array([row]), profile.cost.scaled(0.0))
        self.capacity = np.append(self.capacity, profile.capacity)
        self.eagerness = np.append(self.eagerness, profile.eagerness)
        self.joins = np.append(self.joins, max(profile.joins, step + 1))
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
        self._streams = self._streams.joined_by(owner_streams(self.seed, 1, first=row))
        first, second = self._lately
        self._lately = (first.with_newcomer(), second.with_newcomer())
        self._alone |= {row} if alone else set()
        self._regroup = True
        self._present = None
        return row

    def change(
        self, row: int, strategy: Strategy | None = None, capacity: float | None = None, cost: Cost | None = None
    ) -> None:
        """Give an owner another strategy, another amount of data or another cost, from now on."""
        if strategy is not None:
            self.strategies = self.strategies.with_value(row, strategy)
            self.codes = self.codes.copy()
            self.codes[row] = self._code(strategy)
        if capacity is not None:
            self.capacity = self.capacity.copy()
            self.capacity[row] = capacity
            self._put("contribution", [row], min(self.contribution[row], capacity))
        if cost is not None:
            self.cost = replaced(self.cost, np.array([row]), cost)
            self._candid[row] = False
        self._regroup = True

    def arrive(self, step: int) -> None:
        """Let in who joins in this step; newcomers say what they have before anybody acts."""
        new = np.flatnonzero((self.joins == step) & ~self.stayed)
        if not len(new):
            return
        self._put("stayed", new, np.ones(len(new), dtype=bool))
        self._put("contribution", new, self._start[new])
        self._put("utility", new, np.full(len(new), np.nan))
        self._present = None
        for turn in self.turns(new):
            rows, facts = turn.members, turn.facts
            truth = Reports(self.contribution[rows], facts.capacity, facts.cost, facts.eagerness)
            with told(turn.cohort.strategy, rows, f"when it joined in step {step}"):
                said = checked_report(turn.cohort.strategy.declare(truth), len(rows))
                self._hear(turn, said, sound_report(said, facts))

    def leave(self, members: Members) -> None:
        """Some owners leave for good."""
        if not len(members):
            return
        for name in ("stayed", "rejected"):
            self._put(name, members, np.zeros(len(members), dtype=bool))
        for name in ("contribution", "claimed", "accuracy", "payment", "cost_paid", "utility", "gain"):
            self._put(name, members, np.zeros(len(members)))
        self.joins[members] = 0
        self._arm(members, None)
        self._present = None

    def awaited(self, step: int) -> bool:
        """Whether somebody joins after this step."""
        return bool(np.any(self.joins > step))

    @property
    def present(self) -> Members:
        """The owners that have not left."""
        if self._present is None:
            self._present = np.flatnonzero(self.stayed)
        return self._present

    def turns(self, members: Members) -> list[Turn]:
        """Whose turn it is among some owners, cohort by cohort."""
        if self._regroup:
            self._cohorts = grouped(self.strategies, self._alone, self._facts(), self._streams, self._cohorts)
            self._regroup = False
        if len(members) == len(self):
            return [Turn.of(cohort) for cohort in self._cohorts]
        asked = np.zeros(len(self), dtype=bool)
        asked[members] = True
        chosen = ((cohort, np.flatnonzero(asked[cohort.members])) for cohort in self._cohorts)
        return [Turn.of(cohort, places) for cohort, places in chosen if len(places)]

    def memory(self, row: int) -> dict[str, Any]:
        """What one owner remembers."""
        (turn,) = self.turns(np.array([row]))
        return row_of(turn.cohort.memory, int(np.searchsorted(turn.cohort.members, row)))

    def freeze(self) -> None:
        """What strategies see cannot be written to, also after a checkpoint has been read."""
        for cohort in self._cohorts:
            cohort.facts.freeze()

    def take(self, rows: Members) -> Population:
        """Only the owners in `rows`, in ascending order, who go on as they are; the others are forgotten."""
        some = copy(self)
        for name in (*_DEEDS, *_STATES, *_FACTS):
            setattr(some, name, getattr(self, name)[rows])
        some.cost, some.claimed_cost = self.cost.take(rows), self.claimed_cost.take(rows)
        some.roles, some.names, some.strategies = (
            column.take(rows) for column in (self.roles, self.names, self.strategies)
        )
        some._streams = self._streams.lent(rows)
        some._lately = (self._lately[0].take(rows), self._lately[1].take(rows))
        some._cohorts = [cohort.take(rows) for cohort in self._cohorts]
        some._present = None
        numbers = {row: number for number, row in enumerate(rows.tolist())}
        some._tampers = {numbers[row]: tamper for row, tamper in self._tampers.items() if row in numbers}
        some._alone = {numbers[row] for row in self._alone if row in numbers}
        return some

    # Columns

    def _put(self, name: str, members: Members | list[int], values: Any) -> None:
        """Overwrite some rows of a column, or all by a new one."""
        column = getattr(self, name)
        if len(members) == len(self) and getattr(values, "dtype", None) == column.dtype:
            values.setflags(write=False)
            setattr(self, name, values)
            return
        if not column.flags.writeable:  # somebody holds it
            column = column.copy()
            setattr(self, name, column)
        column[members] = values

    def shared(self, *names: str) -> Columns:
        """Whole columns for others to hold; nobody can write to them any more."""
        columns = tuple(getattr(self, name) for name in names)
        for column in columns:
            column.setflags(write=False)
        return columns

    def _rows(self, members: Members, *names: str) -> Columns:
        """Some rows of some columns, which cannot be written to."""
        if len(members) == len(self):
            return self.shared(*names)
        columns = tuple(taken(getattr(self, name), members) for name in names)
        for column in columns:
            column.setflags(write=False)
        return columns

    # What they do

    def begin(self) -> None:
        """A new step: what was the last one becomes the one before, and nobody has acted yet."""
        self._lately = (self._lately[1], self.experience(self.present if self._full else self.everyone))
        self.information = np.full(len(self), _CODES["repeated"], dtype=np.int8)
        self.restless = False

    @property
    def _full(self) -> bool:
        """Whether nobody has left and nobody is awaited."""
        return len(self.present) == len(self)

    def lately(self, members: Members) -> tuple[Experience, Experience]:
        """What happened to some owners in the last step and in the one before."""
        before = self._lately[0]
        return self.experience(members), before if len(members) == len(self) else before.take(members)

    def experience(self, members: Members) -> Experience:
        """What happened to some owners in the last step."""
        return Experience(*self._rows(members, "contribution", "accuracy", "payment", "utility", "progress"))

    def streams(self, turn: Turn) -> Streams:
        """The random numbers of those whose turn it is; what they draw is noted when they have acted."""
        rng = self._streams.lent(turn.members)
        rng.drawn = False
        return rng

    @property
    def measures(self) -> bool:
        """Whether anybody wants to know what its own training brings."""
        return any(cohort.strategy.measures for cohort in self._cohorts)

    def apply(self, turn: Turn, action: Action, rng: Streams) -> None:
        """Carry out what some owners decided, who may have drawn from `rng`.

        A contribution cannot leave [0, capacity]; what cannot be used is rejected (see `deeds`).
        """
        members = turn.members
        # An agent that acted before them may have removed them.
        gone = np.bool_(False) if self._full else ~self.stayed[members]
        action = checked_action(action, len(members))
        good = sound_report(action.report, turn.facts)
        if action.report.contribution is not action.contribution:
            good &= sound(action.contribution)
        given = np.clip(action.contribution, 0.0, turn.facts.capacity)
        self._put("contribution", members, _usable(given, good, known=True))
        self._hear(turn, action.report, good)
        if np.any(self.rejected) or not np.all(good):
            self._put("rejected", members, ~good)
        self._arm(members, action.tamper)
        self._put("information", members, np.full(len(members), _CODES[action.used], dtype=np.int8))
        learned = turn.remember(action.memory)
        self._streams.returned(members, rng)
        self.restless |= learned or turn.cohort.alone or rng.drawn
        leaving = gone | ~action.stay
        self.leave(members[leaving] if np.any(leaving) else members[:0])

    def act(self, row: int, contribution: float) -> None:
        """Make an owner contribute this much, and say so, as if it had decided to."""
        value = as_numbers("contribution", contribution)
        most = self.capacity[row]
        if value.ndim or not 0 <= value <= most:
            raise InputError(f"owner {row} cannot contribute {shown(contribution)}; give a number from 0 to {most:g}")
        for name in ("contribution", "claimed"):
            self._put(name, [row], float(value))

    def _hear(self, turn: Turn, said: Reports, good: Flags) -> None:
        """Note what some owners say; a bad report counts as nothing, beside the last good statement of the cost."""
        members, facts = turn.members, turn.facts
        copied = len(members) < len(self)
        self._put("claimed", members, _usable(said.contribution, good, known=copied))
        self._put("claimed_size", members, _usable(said.size, good, known=said.size is facts.capacity))
        if said.eagerness is not None:
            eager = _usable(said.eagerness, good, known=said.eagerness is facts.eagerness)
            self._put("claimed_eagerness", members, eager)
        truly = said.cost is facts.cost
        if said.cost is None or (truly and (np.all(self._candid) or np.all(self._candid[members] | ~good))):
            return  # as most owners say the same in every step
        rows = np.flatnonzero(good)
        everyone = len(rows) == len(self) == said.cost.owners
        self.claimed_cost = said.cost if everyone else replaced(self.claimed_cost, members[rows], said.cost.take(rows))
        self._candid[members[rows]] = truly

    def _arm(self, members: Members, tamper: Tamper | None) -> None:
        """Note how some owners tamper with their updates from now on."""
        if tamper is not None:
            self._tampers.update(dict.fromkeys(members.tolist(), tamper))
        elif self._tampers:
            for row in members.tolist():
                self._tampers.pop(row, None)

    # What they have done, for the model

    def stance(self) -> Stance:
        """What every owner does and says, and whether it stays."""
        return Stance(self.shared(*_STANCE), self.claimed_cost)

    def moved(self, since: Stance) -> float:
        """The largest change of any owner's stance, as a share of its capacity or cost; leaving counts as 1."""
        columns = (getattr(self, name) for name in _STANCE)
        units = (self.capacity, self.capacity, self.capacity, self.eagerness, np.ones(1))
        most = max(_change(then, now, unit) for then, now, unit in zip(since.columns, columns, units, strict=True))
        if since.cost is self.claimed_cost:
            return most
        return max(most, _change(since.cost.figures(), self.claimed_cost.figures(), self.cost.figures()))

    def changes(self, since: Stance) -> Array:
        """How far each owner's stance has moved, in the same measure; for owners whose costs stay of one kind."""
        columns = (self.contribution, self.claimed, self.claimed_size, self.claimed_eagerness)
        units = (self.capacity, self.capacity, self.capacity, self.eagerness)
        parts = [_share(then, now, unit) for then, now, unit in zip(since.columns, columns, units, strict=False)]
        left = (since.columns[-1] != self.stayed).astype(float)
        costs = _share(since.cost.figures(), self.claimed_cost.figures(), self.cost.figures()).max(axis=1)
        return np.max([*parts, left, costs], axis=0)

    def effort(self) -> Effort:
        """What everybody contributes and claims."""
        return Effort(*self.shared("contribution", "claimed"))

    def tampering(self, step: int) -> tuple[Tampering, ...]:
        """Who changes its model updates in the same way, together."""
        groups: list[tuple[Tamper, list[int]]] = []
        for row, tamper in sorted(self._tampers.items(), key=lambda item: item[0]):
            known = next((rows for other, rows in groups if other is tamper), None)
            if known is None:
                groups.append((tamper, [row]))
            else:
                known.append(row)
        return tuple(
            Tampering(np.array(rows), tamper, self._streams.lent(rows), self._attacking(rows, step))
            for tamper, rows in groups
        )

    def tampered(self, groups: tuple[Tampering, ...]) -> None:
        """Note what was drawn on the way."""
        for group in groups:
            self._streams.returned(group.members, group.rng)

    def _attacking(self, rows: list[int], step: int) -> str:
        """Whose attack it is, for the error of one that goes wrong."""
        return f"{named(self.strategies[rows[0]], np.array(rows))} failed in step {step} with its update"

    @property
    def unusable(self) -> Flags:
        """Whose report or model update of this step counted as nothing."""
        return self.rejected | self.dropped

    def unusable_of(self, members: Members) -> Flags:
        """Whether that holds of some owners."""
        return self.unusable if len(members) == len(self) else self.unusable[members]

    def given(self, members: Members) -> Array:
        """What some owners really contribute."""
        return self._rows(members, "contribution")[0]

    def received(self, members: Members) -> Array:
        """What the models are worth that some owners got."""
        return self._rows(members, "accuracy")[0]

    def reports(self, members: Members, *, with_cost: bool, with_eagerness: bool = False) -> Reports:
        """What some owners have told the server; costs and eagerness only if it asked for them."""
        cost = None
        if with_cost:
            cost = self.claimed_cost if len(members) == len(self) else self.claimed_cost.take(members)
        contribution, size, eager = self._rows(members, "claimed", "claimed_size", "claimed_eagerness")
        return Reports(contribution, size, cost, eager if with_eagerness else None, members)

    def costs_of(self, members: Members) -> Cost:
        """The true costs of some owners."""
        return self.cost if len(members) == len(self) else self.cost.take(members)

    def deal(self, members: Members, accuracy: Array, imports: NDArray | None) -> Deal:
        """The true facts of a settled step, for the valuation."""
        contribution, capacity, eagerness = self._rows(members, "contribution", "capacity", "eagerness")
        person = self.person if len(members) == len(self) else self.person[members]
        return Deal(accuracy, contribution, capacity, self.costs_of(members), eagerness, person, imports)

    def receive(self, members: Members, accuracy: Array, payment: Array, gain: Array, cost: Array) -> None:
        """Hand models to some owners, everybody its `payment`, and charge their true cost."""
        self.payment = payment
        if len(members) < len(self):
            self.cost_paid, self.utility = np.zeros(len(self)), np.where(self.stayed, 0.0, payment)
            payment = payment[members]
        for name, values in {"cost_paid": cost, "gain": gain, "accuracy": accuracy}.items():
            self._put(name, members, values)
        self._put("best", members, np.maximum(self._rows(members, "best")[0], accuracy))
        self._put("utility", members, gain + payment - cost)


#: columns of what every owner did and got, and of what is so or not
_DEEDS = tuple(name for name, kind in Population.__annotations__.items() if kind == "Array")
_STATES = tuple(name for name, kind in Population.__annotations__.items() if kind == "Flags")
#: and of what is known of everybody from the beginning
_FACTS = ("capacity", "eagerness", "joins", "money", "_start", "person", "information", "_candid", "codes")


#: columns of what every owner does and says, and whether it stays
_STANCE = ("contribution", "claimed", "claimed_size", "claimed_eagerness", "stayed")


def _usable(values: np.ndarray, good: Flags, *, known: bool = False) -> np.ndarray:
    """Numbers of owners, nothing of those whose action is not good; what nobody will write to needs no copy."""
    if known and np.all(good):
        return values
    return np.where(good, values, 0.0)


def _change(then: np.ndarray, now: np.ndarray, unit: Array) -> float:
    if then is now or np.array_equal(then, now):
        return 0.0
    if then.shape != now.shape or unit.shape not in (now.shape, (1,)):
        return 1.0  # somebody has another kind of cost
    return float(np.max(_share(then, now, unit)))


def _share(then: np.ndarray, now: np.ndarray, unit: Array) -> Array:
    """How far each number has moved, in units of its own where there are any."""
    moved = np.subtract(now, then, dtype=float)
    np.abs(moved, out=moved)
    positive = unit > 0
    return np.divide(moved, unit, out=moved, where=True if np.all(positive) else positive)
