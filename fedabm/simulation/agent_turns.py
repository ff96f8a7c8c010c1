"""Agents that decide for themselves: each is asked on a view of its own, and what they decide is carried out together.

Nobody can tell: whoever looks at the population, or changes it, finds all carried out that was decided before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from fedabm.common.arrays import apart, made
from fedabm.common.random import Streams
from fedabm.games.offers import Offers
from fedabm.simulation.activation import Members
from fedabm.simulation.cohorts import Cohort, Facts, Turn
from fedabm.simulation.population import Population
from fedabm.views import INFORMATION, Action, Experience, Neighbours, OwnerView, Payoff, Reports
from fedabm.views.memory import take_rows

__all__ = ["AgentTurns", "Seen"]

_FLOAT, _FLAG = np.dtype(float), np.dtype(bool)


@dataclass(frozen=True)
class Seen:
    """What some agents are shown beside their own facts and experience, one row each, and what is the same for all."""

    offers: Offers
    quota: Any
    neighbours: Neighbours | None
    public: dict[str, Any]


class AgentTurns:
    """The turns of some agents within a batch, in order.

    `shown(members)` is what they see; it is asked for again once somebody has looked at the population, or changed it.
    """

    def __init__(self, people: Population, turns: Sequence[Turn], step: int, shown: Callable[[Members], Seen]) -> None:
        self._people, self._turns, self._step, self._shown = people, turns, step, shown
        self._members: Members = np.array([turn.members[0] for turn in turns], dtype=np.intp)
        #: as of the beginning of the batch
        self._facts: Facts = people.facts.take(self._members)
        #: whose decisions wait to be carried out, what they contribute, claim and whether they stay, and who has drawn
        self._rows: dict[int, None] = {}
        self._decided: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._drawn: list[tuple[int, Streams]] = []
        #: what these decisions rest on
        self._used = ""
        self._looked = False
        #: whether anybody tampers with updates, which ends when it decides again
        self._armed = bool(people.attackers)

    def views(self) -> Iterator[tuple[Turn, OwnerView]]:
        """Whose turn it is, and its view; what it decides is to be given to `decided` before the next one is asked."""
        first, size = 0, len(self._turns)
        while first < len(self._turns):
            self._looked = False
            for view in self._cut(first, min(first + size, len(self._turns))):
                yield self._turns[first], view
                first += 1
                if self._looked:
                    break
            size = 1 if self._looked else 2 * size

    def _cut(self, first: int, last: int) -> Iterator[OwnerView]:
        """The views of some, one by one; nobody else's numbers can be reached from them."""
        members = self._members[first:last]
        seen, streams = self._shown(members), self._people.streams_of_each(members)
        experience = map(_experience, apart(np.column_stack([*_columns(self._people.recent_experience(members))])))
        quotas = repeat(None) if seen.quota is None else apart(seen.quota)
        refused = apart(self._people.unusable_of(members))
        near = repeat(None) if seen.neighbours is None else (seen.neighbours.take([row]) for row in range(len(members)))
        turns, step, public = self._turns[first:last], self._step, seen.public
        rows = zip(turns, seen.offers.singly(), streams, experience, quotas, near, refused, strict=False)
        for turn, offers, rng, last_two, quota, others, rejected in rows:
            facts = turn.facts
            yield made(
                OwnerView,
                step=step,
                capacity=facts.capacity,
                cost=facts.cost,
                last=last_two[0],
                payoff=made(Payoff, offers=offers, cost=facts.cost, capacity=facts.capacity),
                rng=rng,
                eagerness=facts.eagerness,
                before=last_two[1],
                owner=turn.members,
                memory=take_rows(turn.cohort.memory, None),
                neighbours=others,
                quota=quota,
                rejected=rejected,
                **public,
            )

    def decided(self, turn: Turn, action: Action, rng: Streams) -> None:
        """Note what the agent in turn has decided, or carry it out if there is more to it than a contribution."""
        row = int(turn.members[0])
        if self._armed or not _plain(action, turn.facts):
            self.carry_out()
            self._people.apply(turn, action, rng)
            self._armed = bool(self._people.attackers)
            return
        if action.used != self._used:
            self.carry_out()
            self._used = action.used
        self._rows[row] = None
        self._decided.append((action.contribution, action.report.contribution, action.stay))
        if rng.drawn:
            self._drawn.append((row, rng))

    def look(self, row: int | None = None) -> None:
        """Carry out what has been decided, as somebody wants to see a row of the population (None: all of it)."""
        if row is None or row in self._rows:
            self.carry_out()
            self._looked = True

    def carry_out(self) -> None:
        """Carry out what has been decided."""
        if not self._rows:
            return
        members = np.array(list(self._rows), dtype=np.intp)
        facts = self._facts.take(np.searchsorted(self._members, members))
        given, claimed, stay = map(np.concatenate, zip(*self._decided, strict=True))
        action = Action(given, Reports(claimed, facts.capacity, facts.cost, facts.eagerness), stay, used=self._used)
        who = Cohort(self._turns[0].cohort.strategy, members, facts, {}, alone=True)
        self._people.apply(Turn.of(who), action, Streams())
        for row, rng in self._drawn:
            self._people.take_back(row, rng)
        self._rows, self._decided, self._drawn = {}, [], []


def _experience(numbers: np.ndarray) -> tuple[Experience, Experience]:
    """What happened to an agent in two steps, from its ten numbers (1, 10)."""
    numbers.setflags(write=False)
    a, b, c, d, e, *before = numbers[0, :, None]
    last = made(Experience, contribution=a, accuracy=b, payment=c, utility=d, progress=e)
    a, b, c, d, e = before
    return last, made(Experience, contribution=a, accuracy=b, payment=c, utility=d, progress=e)


def _columns(experience: tuple[Experience, Experience]) -> Iterator[np.ndarray]:
    """The five columns of each of two steps."""
    for one in experience:
        progress = np.zeros(len(one.utility)) if one.progress is None else one.progress
        yield from (one.contribution, one.accuracy, one.payment, one.utility, progress)


def _plain(action: Any, facts: Facts) -> bool:
    """Whether it is one contribution and a true report (of whatever contribution), in numbers of the usual kind."""
    if type(action) is not Action or type(action.report) is not Reports:
        return False
    said, given, stay = action.report, action.contribution, action.stay
    if action.tamper is not None or action.memory is not None:
        return False
    if type(action.used) is not str or action.used not in INFORMATION:
        return False
    if said.cost is not facts.cost or said.size is not facts.capacity or said.eagerness is not facts.eagerness:
        return False
    if type(given) is not np.ndarray or given.shape != (1,) or given.dtype != _FLOAT:
        return False
    claimed = said.contribution
    if claimed is not given and (type(claimed) is not np.ndarray or claimed.shape != (1,) or claimed.dtype != _FLOAT):
        return False
    return type(stay) is np.ndarray and stay.shape == (1,) and stay.dtype == _FLAG
