"""Owners with equal strategies act together, each on its own row and with its own memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.coded import Coded
from fedabm.common.random import Streams
from fedabm.common.state import FLAG, FrozenRecord, Numbers, Thing
from fedabm.games.costs import Cost
from fedabm.games.offers import Offers
from fedabm.simulation.activation import Members
from fedabm.simulation.failures import as_user_error
from fedabm.simulation.saved import MEMORY
from fedabm.simulation.validity import valid_costs, valid_numbers
from fedabm.strategies import Strategy
from fedabm.views import Experience, Memory, Neighbours, OwnerView, Payoff
from fedabm.views.memory import check_memory, held, put_rows, same_rows, take_rows

__all__ = ["COHORT", "Cohort", "Facts", "Turn", "grouped"]


@dataclass(frozen=True)
class Facts:
    """What owners privately have, one row each: data, what they cost, how eager it is for others'."""

    capacity: Array
    cost: Cost
    eagerness: Array

    @cached_property
    def sayable(self) -> Flags:
        """Whose true size, cost and eagerness could be reported as they are."""
        return valid_numbers(self.capacity) & valid_costs(self.cost) & valid_numbers(self.eagerness)

    def take(self, rows: Members) -> Facts:
        """The facts of some owners."""
        return Facts(self.capacity[rows], self.cost.take(rows), self.eagerness[rows])

    def freeze(self) -> Facts:
        """Strategies see these arrays, and cannot write to them."""
        for column in (self.capacity, *self.cost.columns, self.eagerness):
            column.setflags(write=False)
        return self


@dataclass(frozen=True, eq=False)
class Cohort:
    """Owners with equal strategies, their facts, and what they remember; `alone`: an agent that decides for itself."""

    strategy: Strategy
    members: Members
    facts: Facts
    memory: dict[str, Any]
    alone: bool = False

    def take(self, rows: Members) -> Cohort:
        """Those among `rows`, in ascending order, by their places there; they remember what they did."""
        places = np.flatnonzero(np.isin(self.members, rows))
        members = np.searchsorted(rows, self.members[places])
        memory = held(take_rows(self.memory, places), len(places), type(self.strategy).__name__)
        return Cohort(self.strategy, members, self.facts.take(places).freeze(), memory, self.alone)


#: how a cohort is saved
COHORT = FrozenRecord(
    Cohort,
    strategy=Thing(Strategy),
    members=Numbers(1, "i"),
    facts=FrozenRecord(Facts, capacity=Numbers(), cost=Thing(Cost), eagerness=Numbers()),
    memory=MEMORY,
    alone=FLAG,
)


@dataclass(frozen=True, eq=False)
class Turn:
    """Those of a cohort that act now: all (`places` is None), or those at some places among its members."""

    cohort: Cohort
    members: Members
    facts: Facts
    places: Members | None = None

    @classmethod
    def of(cls, cohort: Cohort, places: Members | None = None) -> Turn:
        """The turn of some members."""
        if places is None:
            return cls(cohort, cohort.members, cohort.facts)
        return cls(cohort, cohort.members[places], cohort.facts.take(places), places)

    def view(
        self,
        step: int,
        offers: Offers,
        rng: Streams,
        recent_experience: tuple[Experience, Experience],
        neighbours: Neighbours | None,
        **public: Any,
    ) -> OwnerView:
        """What they see.

        `offers`, `rng` and `recent_experience` (the last step and the one before) hold their rows only.
        """
        facts = self.facts
        return OwnerView(
            step,
            facts.capacity,
            facts.cost,
            recent_experience[0],
            Payoff(offers, facts.cost, facts.capacity),
            rng,
            facts.eagerness,
            recent_experience[1],
            owner=self.members,
            memory=take_rows(self.cohort.memory, self.places),
            neighbours=neighbours,
            **public,
        )

    def remember(self, given: Memory | None) -> bool:
        """Keep what they want to keep in mind; say whether anything of it is new."""
        if given is None:
            return False
        known = self.cohort.memory
        check_memory(known, given, len(self.members), type(self.cohort.strategy).__name__)
        changed = not same_rows(take_rows(known, self.places), given)
        if changed:
            put_rows(known, self.places, given)
        return changed


def grouped(
    strategies: Coded, alone: Iterable[int], facts: Facts, streams: Streams, before: Sequence[Cohort]
) -> list[Cohort]:
    """The owners by strategy, in order of first appearance; who was in a cohort `before` keeps what it remembers."""
    cohorts = []
    for strategy, members, apart in _groups(strategies, np.array(sorted(alone), dtype=np.intp)):
        mine = facts if len(members) == len(facts.capacity) else facts.take(members)
        known = [(cohort, *_common(cohort.members, members)) for cohort in before if cohort.strategy == strategy]
        new = np.ones(len(members), dtype=bool)
        for _, _, here in known:
            new[here] = False
        memory = _begun(strategy, members, streams, np.flatnonzero(new))
        for cohort, there, here in known if memory else ():
            put_rows(memory, here, take_rows(cohort.memory, there))
        cohorts.append(Cohort(strategy, members, mine.freeze(), memory, apart))
    return cohorts


def _groups(strategies: Coded, alone: Members) -> Iterator[tuple[Strategy, Members, bool]]:
    """Who has the same strategy, and each of those who decide `alone`; in order of the first row."""
    codes = strategies.codes.astype(np.intp)
    codes[alone] = len(strategies.values) + np.arange(len(alone))
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    for members in sorted(parts, key=lambda rows: rows[0]):
        yield strategies[members[0]], members, bool(codes[members[0]] >= len(strategies.values))


def _common(old: Members, now: Members) -> tuple[Members, Members]:
    """Where those stand who are in both lists."""
    _, there, here = np.intersect1d(old, now, assume_unique=True, return_indices=True)
    return there, here


def _begun(strategy: Strategy, members: Members, streams: Streams, new: Members) -> dict[str, Any]:
    """Room for what all of a cohort remember, with the beginning of those who are new to it.

    Old members' streams stay put: the others' beginning is only room for what they remember already.
    """
    rng = streams.lent(members[new])
    with as_user_error(strategy, members, "at its beginning"):
        begun = held(strategy.begin(len(new), rng), len(new), type(strategy).__name__)
    streams.returned(members[new], rng)
    return begun if len(new) == len(members) else _spread(begun, new, len(members))


def _spread(memory: dict[str, Any], places: Members, n: int) -> dict[str, Any]:
    room: dict[str, Any] = {}
    for name, part in memory.items():
        if isinstance(part, dict):
            room[name] = _spread(part, places, n)
        else:
            room[name] = np.zeros((n, *part.shape[1:]), dtype=part.dtype)
            room[name][places] = part
    return room
