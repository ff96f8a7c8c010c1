"""The state of all owners as arrays, one row per owner, so that thousands cost no more than a few array operations.

An `Owner` agent is a handle on one row.  Rows are private: only the model hands out views, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import MOST, InputError, nearest
from fedabm.common.random import Streams, owner_streams
from fedabm.games.costs import Cost, stack
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.games.sending import Effort, Tamper, Tampering
from fedabm.games.valuation import Deal
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Strategy
from fedabm.views import INFORMATION, Action, Experience, Flags, OwnerView, Payoff, Reports

Members = NDArray[np.intp]

__all__ = ["Cohort", "Population"]

#: numbers that stand for what a decision rests on
_CODES = {name: code for code, name in enumerate(INFORMATION)}


@dataclass(frozen=True)
class Cohort:
    """Owners with equal strategies, which act together, each on its own row."""

    strategy: Strategy
    members: Members
    capacity: Array
    cost: Cost
    rng: Streams
    eagerness: Array

    def narrow(self, keep: NDArray[np.bool_]) -> Cohort:
        """Some members only."""
        rows = np.flatnonzero(keep)
        private = self.capacity[rows], self.cost.take(rows), self.rng.take(rows), self.eagerness[rows]
        return Cohort(self.strategy, self.members[rows], *private)

    def view(self, step: int, offers: Offers, memory: tuple[Experience, Experience], **public: Any) -> OwnerView:
        """What the members see; `offers` and `memory` (of the last step and the one before) hold their rows only."""
        payoff, (last, before) = Payoff(offers, self.cost, self.capacity), memory
        return OwnerView(step, self.capacity, self.cost, last, payoff, self.rng, self.eagerness, before, **public)


class Population:
    """What every owner has, did, said and got."""

    def __init__(self, profiles: Sequence[OwnerProfile], seed: int) -> None:
        n = len(profiles)
        self.cost = stack([profile.cost for profile in profiles])
        self.capacity = np.array([profile.capacity for profile in profiles], dtype=float)
        self.eagerness = np.array([profile.eagerness for profile in profiles], dtype=float)
        self.joins = np.array([profile.joins for profile in profiles])
        self.person = _persons(profiles)
        self.money, self.owed = np.array([profile.budget for profile in profiles], dtype=float), np.zeros(n)
        self.information = np.zeros(n, dtype=np.int8)
        self.roles = tuple(profile.role for profile in profiles)
        self._start = np.array([profile.start for profile in profiles], dtype=float)
        self.contribution, self.gain, self.best = np.zeros(n), np.zeros(n), np.zeros(n)
        self.claimed, self.claimed_size, self.claimed_eagerness = np.zeros(n), np.zeros(n), np.zeros(n)
        self.claimed_cost = Cost(np.zeros(n), np.ones(n), np.zeros(n))
        self.accuracy, self.payment, self.cost_paid = np.zeros(n), np.zeros(n), np.zeros(n)
        self.utility = np.zeros(n)
        self.stayed, self.rejected = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self.dropped = np.zeros(n, dtype=bool)
        self._tampers: dict[int, Tamper] = {}
        self.strategies = tuple(profile.strategy for profile in profiles)
        self._cohorts = self._sort(seed)
        self.arrive(1)
        self._memory = (self.experience(np.arange(n)),) * 2

    def __len__(self) -> int:
        return len(self.capacity)

    def _sort(self, seed: int) -> list[Cohort]:
        """Group the owners by strategy, in order of first appearance."""
        groups: dict[Strategy, list[int]] = {}
        for row, strategy in enumerate(self.strategies):
            groups.setdefault(strategy, []).append(row)
        self._streams = owner_streams(seed, len(self))
        return [self._cohort(strategy, np.array(rows), self._streams) for strategy, rows in groups.items()]

    def _cohort(self, strategy: Strategy, rows: Members, streams: Streams) -> Cohort:
        capacity, cost, eagerness = self.capacity[rows], self.cost.take(rows), self.eagerness[rows]
        for column in (capacity, cost.rate, cost.exponent, cost.fixed, eagerness):
            column.setflags(write=False)
        return Cohort(strategy, rows, capacity, cost, streams.take(rows), eagerness)

    def arrive(self, step: int) -> None:
        """Let in who joins in this step; newcomers say what they have before anybody acts."""
        new = (self.joins == step) & ~self.stayed
        self.stayed |= new
        self.contribution[new], self.utility[new] = self._start[new], np.nan
        for cohort in self.cohorts(np.flatnonzero(new)):
            rows = cohort.members
            said = cohort.strategy.declare(
                Reports(self.contribution[rows], cohort.capacity, cohort.cost, cohort.eagerness)
            )
            self._hear(rows, said, _sound_report(said, cohort.cost))

    def awaited(self, step: int) -> bool:
        """Whether somebody joins after this step."""
        return bool(np.any(self.joins > step))

    @property
    def present(self) -> Members:
        """The owners that have not left."""
        return np.flatnonzero(self.stayed)

    def cohorts(self, members: Members) -> list[Cohort]:
        """The cohorts among some owners."""
        if len(members) == len(self):
            return self._cohorts
        asked = np.zeros(len(self), dtype=bool)
        asked[members] = True
        return [cohort.narrow(asked[cohort.members]) for cohort in self._cohorts if np.any(asked[cohort.members])]

    def stance(self) -> tuple[Array, ...]:
        """What every owner does and says, and whether it stays."""
        said = self.claimed_cost
        columns = (self.contribution, self.claimed, self.claimed_size, said.rate, said.fixed, self.claimed_eagerness)
        return tuple(column.copy() for column in (*columns, self.stayed.astype(float)))

    def moved(self, since: tuple[Array, ...]) -> float:
        """The largest change of any owner's stance, as a share of its capacity or cost; leaving counts as 1."""
        rate, fixed, one = self.cost.rate, self.cost.fixed, np.ones(1)
        units = (self.capacity, self.capacity, self.capacity, rate, fixed, self.eagerness, one)
        changes = zip(since, self.stance(), units, strict=True)
        return max(_change(then, now, unit) for then, now, unit in changes)

    def begin(self) -> None:
        """A new step: what was the last one becomes the one before, and nobody has acted yet."""
        self._memory = (self._memory[1], self.experience(np.arange(len(self))))
        self.information[:] = _CODES["repeated"]

    def memory(self, members: Members) -> tuple[Experience, Experience]:
        """What some owners remember of the last step and of the one before."""
        return self.experience(members), self._memory[0].take(members)

    def effort(self) -> Effort:
        """What everybody contributes and claims."""
        return Effort(self.contribution.copy(), self.claimed.copy())

    def tampering(self) -> tuple[Tampering, ...]:
        """Who changes its model updates in the same way, together."""
        groups: dict[int, tuple[Tamper, list[int]]] = {}
        for row, tamper in sorted(self._tampers.items(), key=lambda item: item[0]):
            groups.setdefault(id(tamper), (tamper, []))[1].append(row)
        return tuple(Tampering(np.array(rows), tamper, self._streams.take(rows)) for tamper, rows in groups.values())

    @property
    def unusable(self) -> Flags:
        """Whose report or model update of this step counted as nothing."""
        return self.rejected | self.dropped

    def experience(self, members: Members) -> Experience:
        """What some owners remember of the last step."""
        columns = (self.contribution, self.accuracy, self.payment, self.utility)
        return Experience(*(column[members] for column in columns))

    def reports(self, members: Members, *, with_cost: bool, with_eagerness: bool = False) -> Reports:
        """What some owners have told the server; costs and eagerness only if it asked for them."""
        cost = self.claimed_cost.take(members) if with_cost else None
        eagerness = self.claimed_eagerness[members] if with_eagerness else None
        return Reports(self.claimed[members], self.claimed_size[members], cost, eagerness)

    def apply(self, members: Members, action: Action) -> None:
        """Carry out what some owners decided.

        A contribution cannot leave [0, capacity].  An action or report that is not finite and non-negative (or absurdly
        large) is rejected: it counts as contributing nothing, so that it can hurt nobody else.  Rate and fixed part of
        a cost are the owner's secrets; its exponent is not, and a report with another one is rejected as well.
        """
        for what in (action.contribution, action.report.contribution, action.report.size, action.stay):
            if np.shape(what) != np.shape(members):
                raise InputError(
                    f"an action of shape {np.shape(what)} for {len(members)} owners; give one entry per row of the view"
                )
        good = _sound(action.contribution) & _sound_report(action.report, self.cost.take(members))
        self.contribution[members] = np.where(good, np.clip(action.contribution, 0.0, self.capacity[members]), 0.0)
        self._hear(members, action.report, good)
        self.rejected[members] = ~good
        self._arm(members, action.tamper)
        if action.used not in _CODES:
            raise InputError(f"a decision cannot rest on {action.used!r}; {nearest(action.used, _CODES)}")
        self.information[members] = _CODES[action.used]
        self._leave(members[~np.asarray(action.stay, dtype=bool)])

    def _hear(self, members: Members, said: Reports, good: Flags) -> None:
        """Note what some owners say; a bad report counts as nothing, beside the last good statement of the cost."""
        self.claimed[members] = np.where(good, said.contribution, 0.0)
        self.claimed_size[members] = np.where(good, said.size, 0.0)
        if said.eagerness is not None:
            self.claimed_eagerness[members] = np.where(good, said.eagerness, 0.0)
        if said.cost is not None:
            for name in ("rate", "exponent", "fixed"):
                column = getattr(self.claimed_cost, name)
                column[members] = np.where(good, getattr(said.cost, name), column[members])

    def _arm(self, members: Members, tamper: Tamper | None) -> None:
        """Note how some owners tamper with their updates from now on."""
        if tamper is not None:
            self._tampers.update(dict.fromkeys(members.tolist(), tamper))
        elif self._tampers:
            for row in members.tolist():
                self._tampers.pop(row, None)

    def _leave(self, members: Members) -> None:
        self.stayed[members] = self.rejected[members] = False
        self._arm(members, None)
        columns = (
            self.contribution,
            self.claimed,
            self.accuracy,
            self.payment,
            self.cost_paid,
            self.utility,
            self.gain,
        )
        for column in columns:
            column[members] = 0.0

    def deal(self, members: Members, accuracy: Array, imports: NDArray | None) -> Deal:
        """The true facts of a settled step, for the valuation."""
        private = self.contribution[members], self.capacity[members], self.cost.take(members), self.eagerness[members]
        return Deal(accuracy, *private, self.person[members], imports)

    def receive(self, members: Members, accuracy: Array, payment: Array, gain: Array, cost: Array) -> None:
        """Hand model and money to some owners and charge their true cost."""
        self.cost_paid[:] = 0.0
        self.cost_paid[members], self.gain[members] = cost, gain
        self.accuracy[members], self.payment[members] = accuracy, payment
        self.best[members] = np.maximum(self.best[members], accuracy)
        self.utility[members] = gain + payment - cost


def _persons(profiles: Sequence[OwnerProfile]) -> Members:
    """One number per person; an owner without one is a person of its own, whose number nobody else has."""
    named = [
        ("own", row) if profile.person is None else ("person", profile.person) for row, profile in enumerate(profiles)
    ]
    first = {who: row for row, who in reversed(list(enumerate(named)))}
    return np.array([first[who] for who in named])


def _change(then: Array, now: Array, unit: Array) -> float:
    if np.array_equal(then, now):
        return 0.0
    return float(np.max(np.abs(now - then) / np.where(unit > 0, unit, 1.0)))


def _sound(x: Array) -> Flags:
    return (np.asarray(x) >= 0) & (np.asarray(x) <= MOST)


def _sound_report(said: Reports, true: Cost) -> Flags:
    good = _sound(said.contribution) & _sound(said.size)
    if said.eagerness is not None:
        good &= _sound(said.eagerness)
    if said.cost is None:
        return good
    return good & _sound(said.cost.rate) & _sound(said.cost.fixed) & (said.cost.exponent == true.exponent)
