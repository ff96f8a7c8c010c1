"""All owners: who is there, what they do and what they get, on columns with one row per owner (`columns`).

An `Owner` agent is a handle on one row.  Rows are private: only the model hands out views, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.coded import Coded
from fedabm.common.errors import InputError, as_numbers, shown
from fedabm.common.random import Streams, owner_streams
from fedabm.common.state import FLAG, WHOLE, Many, Set, Thing, Tuple
from fedabm.games.costs import Cost, replaced
from fedabm.games.messages import Effort, Tamper, Tampering
from fedabm.kernel import Private, Receipt
from fedabm.simulation.action_checks import checked_action, checked_report, usable_report
from fedabm.simulation.activation import Members
from fedabm.simulation.cohorts import COHORT, Facts, Turn, grouped
from fedabm.simulation.columns import OwnerColumns
from fedabm.simulation.failures import as_user_error, named
from fedabm.simulation.owners import OwnerProfile, Owners
from fedabm.simulation.saved import EXPERIENCE
from fedabm.simulation.snapshot import ProfileSnapshot
from fedabm.simulation.validity import valid_numbers
from fedabm.strategies import Strategy
from fedabm.views import INFORMATION, Action, Experience, Reports
from fedabm.views.memory import row_of

__all__ = ["Population"]

#: numbers that stand for what a decision rests on
_CODES = {name: code for code, name in enumerate(INFORMATION)}
#: columns of what every owner does and says
_SAID = ("contribution", "claimed", "claimed_size", "claimed_eagerness")


class _Tampers:
    """How owners tamper with their updates, by number: functions of theirs that the scenario holds."""

    schema = "tampers"

    def state(self, value: dict[int, Tamper]) -> Any:
        """Each with its owner."""
        return [Tampering(np.array([row]), tamper, Streams()) for row, tamper in value.items()]

    def value(self, state: Any) -> dict[int, Tamper]:
        """By number."""
        found = Many(Thing(Tampering)).value(state)
        return {row: one.change for one in found for row in one.members.tolist()}


class Population(OwnerColumns):
    """What every owner has, did, said and got.

    `alone` are the owners whose agents decide for themselves, one by one.  `restless` says whether anybody drew random
    numbers, learned something or decided for itself since the step began: such owners may move again though they stand
    still.
    """

    _changing: ClassVar = {
        **OwnerColumns._changing,
        "_tampers": _Tampers(),
        "_streams": Thing(Streams),
        "_alone": Set(WHOLE),
        "_cohorts": Many(COHORT),
        "_regroup": FLAG,
        "restless": FLAG,
        "_recent": Tuple(EXPERIENCE, EXPERIENCE),
    }
    _remade = frozenset({"seed", "_present"})

    def __init__(self, owners: Owners, seed: int, alone: Iterable[int] = (), streams: Streams | None = None) -> None:
        super().__init__(owners)
        self.seed = seed
        self._tampers: dict[int, Tamper] = {}
        self._streams = owner_streams(seed, len(owners)) if streams is None else streams
        self._alone = set(alone)
        self._cohorts = grouped(self.strategies, self._alone, self.facts, self._streams, ())
        self._regroup = False
        for cohort in self._cohorts:
            self.codes[cohort.members] = self._code(cohort.strategy)
        self.restless = False
        self._present: Members | None = None
        self.arrive(1)
        self._recent = (self.experience(self.everyone),) * 2

    @property
    def facts(self) -> Facts:
        """What owners privately have."""
        return Facts(self.capacity, self.cost, self.eagerness)

    # Who is there

    def add(self, profile: OwnerProfile, step: int, *, alone: bool = False) -> int:
        """One more owner, which takes part from the next step on (or from the one in which its profile joins)."""
        row = self._append(profile, joins=max(profile.joins, step + 1))
        self._streams = self._streams.joined_by(owner_streams(self.seed, 1, first=row))
        first, second = self._recent
        self._recent = (first.with_newcomer(), second.with_newcomer())
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
            self._resize(row, float(capacity))
        if cost is not None:
            self.cost = replaced(self.cost, np.array([row]), cost)
            self._candid[row] = False
        self._regroup = True

    def _resize(self, row: int, capacity: float) -> None:
        """Another amount of data; who said what it has and gives says so of the new amount."""
        given = min(float(self.contribution[row]), capacity)
        if self.claimed[row] == self.contribution[row]:
            self._put("claimed", [row], given)
        if self.claimed_size[row] == self.capacity[row]:
            self._put("claimed_size", [row], capacity)
        self._put("contribution", [row], given)
        self.capacity = self.capacity.copy()
        self.capacity[row] = capacity

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
            with as_user_error(turn.cohort.strategy, rows, f"when it joined in step {step}"):
                said = checked_report(turn.cohort.strategy.declare(truth), len(rows))
                self._hear(turn, said, usable_report(said, facts))

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

    def attend(self, there: Flags) -> None:
        """Let only some owners take part: the others do and claim nothing until they are back, then as before."""
        away = self.stayed & ~there
        if not np.any(away) and not np.any(self.absent):
            return
        back, going = np.flatnonzero(self.absent & there & self.stayed), np.flatnonzero(away & ~self.absent)
        for name, kept in (("contribution", "intended"), ("claimed", "intended_claim")):
            self._put(kept, going, getattr(self, name)[going])
            self._put(name, going, np.zeros(len(going)))
            self._put(name, back, getattr(self, kept)[back])
        self._put("rejected", going, np.zeros(len(going), dtype=bool))
        self.absent = away

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
            self._cohorts = grouped(self.strategies, self._alone, self.facts, self._streams, self._cohorts)
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

    def from_state(self, state: Any) -> Self:
        """As they were saved; what strategies see cannot be written to."""
        super().from_state(state)
        self._present = None
        self._check()
        for cohort in self._cohorts:
            cohort.facts.freeze()
        return self

    def _check(self) -> None:
        """Raise ValueError unless every column has a row for each owner, and every owner a strategy."""
        for name in self._changing:
            column = getattr(self, name)
            if isinstance(column, np.ndarray | Coded | Streams) and len(column) != len(self):
                raise ValueError(f"its column {name} has {len(column)} rows for {len(self)} owners")
        for column, kind in ((self.strategies, Strategy), (self.roles, str), (self.names, str)):
            if not all(isinstance(one, kind) for one in column.values):
                raise ValueError(f"something among the {kind.__name__}s is none")

    def take(self, rows: Members) -> Population:
        """Only the owners in `rows`, in ascending order, who go on as they are; the others are forgotten."""
        some = copy(self)
        some._keep(rows)
        some._streams = self._streams.lent(rows)
        some._recent = (self._recent[0].take(rows), self._recent[1].take(rows))
        some._cohorts = [cohort.take(rows) for cohort in self._cohorts]
        some._present = None
        numbers = {row: number for number, row in enumerate(rows.tolist())}
        some._tampers = {numbers[row]: tamper for row, tamper in self._tampers.items() if row in numbers}
        some._alone = {numbers[row] for row in self._alone if row in numbers}
        return some

    # What they do

    def begin(self) -> None:
        """A new step: what was the last one becomes the one before, and nobody has acted yet."""
        self._recent = (self._recent[1], self.experience(self.present if self._full else self.everyone))
        self.information = np.full(len(self), _CODES["repeated"], dtype=np.int8)
        self.restless = False

    @property
    def _full(self) -> bool:
        """Whether nobody has left and nobody is awaited."""
        return len(self.present) == len(self)

    def recent_experience(self, members: Members) -> tuple[Experience, Experience]:
        """What happened to some owners in the last step and in the one before."""
        before = self._recent[0]
        return self.experience(members), before if len(members) == len(self) else before.take(members)

    def experience(self, members: Members) -> Experience:
        """What happened to some owners in the last step."""
        return Experience(*self._rows(members, "contribution", "accuracy", "payment", "utility", "progress"))

    def streams(self, turn: Turn) -> Streams:
        """The random numbers of those whose turn it is; what they draw is noted when they have acted."""
        rng = self._streams.lent(turn.members)
        rng.drawn = False
        return rng

    def streams_of_each(self, members: Members) -> Iterator[Streams]:
        """The random numbers of some owners, each apart from the others'."""
        return self._streams.lent_singly(members)

    def take_back(self, row: int, rng: Streams) -> None:
        """Note what an owner has drawn from its random numbers."""
        self._streams.returned([row], rng)

    @property
    def measures(self) -> bool:
        """Whether anybody wants to know what its own training brings."""
        return any(cohort.strategy.measures for cohort in self._cohorts)

    def apply(self, turn: Turn, action: Action, rng: Streams) -> None:
        """Carry out what some owners decided, who may have drawn from `rng`.

        A contribution cannot leave [0, capacity]; what cannot be used is rejected (see `action_checks`).
        """
        members = turn.members
        # An agent that acted before them may have removed them.
        gone = np.bool_(False) if self._full else ~self.stayed[members]
        action = checked_action(action, len(members))
        good = usable_report(action.report, turn.facts)
        if action.report.contribution is not action.contribution:
            good &= valid_numbers(action.contribution)
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

    def snapshot(self) -> ProfileSnapshot:
        """What every owner does and says, and whether it stays, to be compared with later."""
        self.shared(*_SAID, "stayed")
        return self._snapshot()

    def _snapshot(self) -> ProfileSnapshot:
        said = tuple(getattr(self, name) for name in _SAID)
        units = (self.capacity, self.capacity, self.capacity, self.eagerness)
        return ProfileSnapshot(said, units, self.claimed_cost, self.cost, self.stayed)

    def moved(self, since: ProfileSnapshot) -> float:
        """How far owners have moved at most."""
        return self._snapshot().moved(since)

    def changes(self, since: ProfileSnapshot) -> Array:
        """How far each owner has moved."""
        return self._snapshot().changes(since)

    def effort(self) -> Effort:
        """What everybody contributes and claims, as far as it counts."""
        if not np.any(self.discount):
            return Effort(*self.shared("contribution", "claimed"))
        return Effort(np.where(self.discount < 1, self.contribution, 0.0), self.claimed * (1.0 - self.discount))

    def tampering(self, step: int) -> tuple[Tampering, ...]:
        """Who changes its model updates in the same way, together."""
        groups: list[tuple[Tamper, list[int]]] = []
        there = (item for item in self._tampers.items() if not self.absent[item[0]])
        for row, tamper in sorted(there, key=lambda item: item[0]):
            known = next((rows for other, rows in groups if other is tamper), None)
            if known is None:
                groups.append((tamper, [row]))
            else:
                known.append(row)
        return tuple(
            Tampering(np.array(rows), tamper, self._streams.lent(rows), self._attacking(rows, step))
            for tamper, rows in groups
        )

    @property
    def attackers(self) -> list[int]:
        """Who changes its model updates."""
        return sorted(self._tampers)

    @property
    def as_asked(self) -> bool:
        """Whether anybody's last decision rests on a quota."""
        return bool(np.any(self.information == _CODES["quota"]))

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

    def unusable_of(self, members: Members, *, updates: bool = True) -> Flags:
        """Whether that holds of some owners; without `updates` of their reports only."""
        found = self.unusable if updates else self.rejected.copy()
        return found if len(members) == len(self) else found[members]

    def given(self, members: Members) -> Array:
        """What some owners really contribute, as far as it counts."""
        given, discount = self._rows(members, "contribution", "discount")
        return given * (1.0 - discount) if np.any(discount) else given

    def received(self, members: Members) -> Array:
        """What the models are worth that some owners got."""
        return self._rows(members, "accuracy")[0]

    def reports(self, members: Members, *, with_cost: bool, with_eagerness: bool = False) -> Reports:
        """What some owners have told the server; costs and eagerness only if it asked for them."""
        cost = None
        if with_cost:
            cost = self.claimed_cost if len(members) == len(self) else self.claimed_cost.take(members)
        contribution, size, eager = self._rows(members, "claimed", "claimed_size", "claimed_eagerness")
        (discount,) = self._rows(members, "discount")
        if np.any(discount):
            contribution = contribution * (1.0 - discount)
        return Reports(contribution, size, cost, eager if with_eagerness else None, members)

    def costs_of(self, members: Members) -> Cost:
        """The true costs of some owners."""
        return self.cost if len(members) == len(self) else self.cost.take(members)

    def private(self, members: Members) -> Private:
        """What is true of some owners in this step."""
        contribution, capacity, eagerness = self._rows(members, "contribution", "capacity", "eagerness")
        person = self.person if len(members) == len(self) else self.person[members]
        return Private(contribution, capacity, self.costs_of(members), eagerness, person)

    def receive(self, members: Members, got: Receipt, payment: Array) -> None:
        """Hand some owners what they got, and everybody its `payment`, also those who are not there any more."""
        self.payment = payment
        if len(members) < len(self):
            self.cost_paid, self.utility = np.zeros(len(self)), np.where(self.stayed, 0.0, payment)
        for name, values in {"cost_paid": got.cost, "gain": got.gain, "accuracy": got.accuracy}.items():
            self._put(name, members, values)
        self._put("best", members, np.maximum(self._rows(members, "best")[0], got.accuracy))
        self._put("utility", members, got.utility)


def _usable(values: np.ndarray, good: Flags, *, known: bool = False) -> np.ndarray:
    """Numbers of owners, nothing of those whose action is not good; what nobody will write to needs no copy."""
    if known and np.all(good):
        return values
    return np.where(good, values, 0.0)
