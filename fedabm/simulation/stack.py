"""Many runs of one kind, stepped together: thousands of small runs at the price of a few large ones.

One `Population` holds the owners of all runs, run by run; strategies act on all rows at once, as they do in a large
federation.  What the server computes is a table (runs, owners): the mechanism's own `offers` along the last axis.  Runs
that have ended drop out.  Results are those of `Federation`, bit for bit; `fedabm.simulation.stacking` says of which
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags
from fedabm.common.random import run_streams
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import Gains, weigh
from fedabm.games.costs import Cost, PowerCost
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import Offers
from fedabm.games.promises import MOST_CHECKED
from fedabm.games.varied import joined, rows_of
from fedabm.kernel import Private, Receipt, check_transfers, receive, settle
from fedabm.results.columns import COLUMNS, Column, columns_of, filled
from fedabm.results.frames import run_row
from fedabm.results.round import NotStackable, Round
from fedabm.results.stacked import StackedColumns, StackedFrames, as_one, in_order, of_runs
from fedabm.simulation.effect import estimated, say_unattackable, without_effect
from fedabm.simulation.measures import ROUNDING
from fedabm.simulation.owners import Owners
from fedabm.simulation.population import Population
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Progress
from fedabm.views import INFORMATION, SERVER, Outcome, Reports, ServerView
from fedabm.views.memory import changed_rows, take_rows

__all__ = ["StackedRuns"]

#: runs, or rows of owners
Numbers = NDArray[np.intp]


class StackedRuns:
    """The runs of some scenarios of one kind (`kind_of`), each with its seed."""

    def __init__(self, scenarios: Sequence[Scenario], seeds: Sequence[int]) -> None:
        self.scenarios, self.seeds = scenarios, seeds
        self.scenario, self.owners = scenarios[0], len(scenarios[0].owners)
        streams = run_streams(seeds, self.owners)
        self._everyone = Owners.joined([Owners.of(one.owners) for one in scenarios])
        self.people = Population(self._everyone, 0, streams=streams)
        #: the numbers of the runs that have not ended, in order; row k of every table is that of runs[k]
        self.runs: Numbers = np.arange(len(scenarios))
        self.steps = 0
        #: what the server has received less what it has paid, of every run that has not ended
        self.balance = np.zeros(len(scenarios))
        self.progress: list[list[Progress]] = [[] for _ in scenarios]
        self.rows: list[dict[str, Any]] = [{} for _ in scenarios]
        #: runs in which somebody has tampered with its update
        self._attacked: set[int] = set()
        #: pieces of the frames, by table
        self._kept: dict[str, list[Mapping[str, np.ndarray]]] = {"steps": [], "owners": [], "transfers": []}
        #: which runs have ended and were forgotten
        self._forgotten = np.zeros(len(scenarios), dtype=bool)
        #: of all runs; numbers in which they differ are columns
        self.mechanism = joined([one.mechanism for one in scenarios])
        self.accuracy = joined([cast(Accuracy, one.accuracy) for one in scenarios])  # no training stacks
        self._offers = self._flat(self.mechanism.offers(self.accuracy, self._reports()))

    def run(self) -> StackedFrames:
        """Step until all have ended by themselves."""
        while len(self.runs):
            self.step()
        return self.frames(self.ended)

    @property
    def ended(self) -> Numbers:
        """The runs that have ended, but for those that were forgotten."""
        return np.flatnonzero(np.array([bool(row) for row in self.rows]) & ~self._forgotten)

    def frames(self, runs: Numbers) -> StackedFrames:
        """The frames of some runs that have ended."""
        tables = {name: self._table_of(name, runs) for name in self._kept}
        owners, transfers = tables["owners"].columns, tables["transfers"].columns
        rows = owners["run"] * self.owners + owners["owner"]
        for name, column in (("role", self._everyone.role), ("name", self._everyone.name)):
            owners[name] = _texts(column.values, column.codes[rows])
        owners["strategy"] = _texts(self.people.labels, owners["strategy"])
        owners["information"] = _texts(list(INFORMATION), owners["information"])
        transfers["reason"] = _texts([type(self.mechanism).__name__], np.zeros_like(transfers["step"]))
        return StackedFrames([self.rows[run] for run in runs.tolist()], tables)

    def _table_of(self, name: str, runs: Numbers) -> StackedColumns:
        self._kept[name] = [as_one(self._kept[name])]  # once, however often runs are asked for
        found = in_order([of_runs(self._kept[name][0], self._among(runs))], len(self.rows))
        return StackedColumns(found.columns, found.lengths[runs])

    def _among(self, runs: Numbers) -> Flags:
        """For every run whether it is one of these."""
        flags = np.zeros(len(self.rows), dtype=bool)
        flags[runs] = True
        return flags

    def forget(self, runs: Numbers) -> None:
        """Drop what was kept of some runs that have ended: somebody has it."""
        gone = self._among(runs)
        kept: dict[str, list[Mapping[str, np.ndarray]]] = {
            name: [of_runs(as_one(pieces), ~gone)] for name, pieces in self._kept.items()
        }
        self._forgotten = self._forgotten | gone  # first: should Ctrl-C come now, they are repeated, not empty
        self._kept = kept

    def step(self) -> None:
        """One round of every run that goes on, as `Federation.step` has it."""
        self.steps += 1
        self.people.begin()
        snapshot = self.people.snapshot()
        restless = self.decide()
        outcome = self.settle()
        self.receive(outcome)
        self.watch(self._table(self.people.changes(snapshot)).max(axis=1), restless)

    # The phases of a round

    def decide(self) -> Flags:
        """Let all owners act, cohort by cohort, on their own rows; in which runs somebody drew or learned."""
        people, restless = self.people, np.zeros(len(self.people), dtype=bool)
        total = np.repeat(self._table(people.claimed).sum(axis=1), self.owners)
        public: dict[str, Any] = {"curve_known": self.accuracy.tells, "frozen": False, "present": self.owners}
        for turn in people.turns(np.arange(len(people))):
            rows = turn.members
            offers = self._offers if len(rows) == len(people) else self._offers.take(rows)
            rng, seen = people.streams(turn), people.recent_experience(turn.members)
            own = {"quota": None, "rejected": people.unusable_of(rows), "total": total[rows]}
            view = turn.view(self.steps, offers, rng, seen, None, **own, **public)
            action = turn.cohort.strategy.act(replace(view, owner=rows % self.owners))
            known = take_rows(turn.cohort.memory, None)
            if action.memory is not None:
                restless[rows] = changed_rows(known, action.memory, len(rows))
            restless[rows] |= rng.drawn
            people.apply(turn, action, rng)
        if people.attackers:
            say_unattackable(self.scenario)
            self._attacked |= {int(self.runs[row // self.owners]) for row in people.attackers}
        if not np.all(people.stayed):
            raise NotStackable("an owner left its federation; such runs are stepped one by one")
        return np.any(self._table(restless), axis=1)

    def settle(self) -> Outcome:
        """The server applies its mechanism to the reports of each run."""
        outcome = settle(self.mechanism, ServerView(self.steps, self._reports(), self.accuracy))
        self._offers = self._flat(outcome.offers)
        return outcome

    def receive(self, outcome: Outcome) -> None:
        """Owners get their models and money, and bear their true costs; the server's accounts are kept."""
        people, everyone = self.people, np.arange(len(self.people))
        worth = self.accuracy.values(self._table(people.contribution))
        check_transfers(outcome.transfers)
        paid = outcome.transfers.balances(len(people))[:-1]
        people.owed = paid
        got = receive(outcome, worth, self.scenario.valuation, self._private(), payment=self._table(paid))
        people.receive(everyone, Receipt(*map(np.ravel, got)), paid)
        self.balance -= got.payment.sum(axis=1)
        self._transfers = outcome.transfers

    def watch(self, moved: Array, restless: Flags) -> None:
        """Keep what is to be kept of this step, end the runs whose time has come, and go on with the others."""
        resting = ~(restless | (moved > self.scenario.tolerance) | (self.steps == 1))
        round = self._round(moved)
        given, welfare = round.total("contribution"), round.total("utility")
        ended = np.zeros(len(self.runs), dtype=bool)
        for place, run in enumerate(self.runs.tolist()):
            seen = Progress(self.steps, bool(resting[place]), float(given[place]), float(welfare[place]))
            self.progress[run].append(seen)
            ended[place] = self.steps >= self.scenario.steps or self.scenario.stopping.ends(self.progress[run])
        self._keep(round, np.full(len(self.runs), True) if self.scenario.keep.wants(self.steps) else ended)
        if np.any(ended):
            self._close(np.flatnonzero(ended), resting)
            self._go_on(np.flatnonzero(~ended))

    # What ends, and what goes on

    def _close(self, places: Numbers, resting: Flags) -> None:
        """Weigh what owners could still gain in the runs that have ended, and write their rows."""
        people, gains = self.people, self._gains(places)
        amounts = np.abs([people.gain, people.cost_paid, people.payment]).max(axis=0)
        rounding = ROUNDING * self._table(amounts).max(axis=1)
        for number, place in enumerate(places.tolist()):
            found, gap = float(gains.found[number]), float(gains.bound[number])
            good = bool(resting[place]) and gap <= max(self.scenario.gap_tolerance, rounding[place])
            status = ("converged" if good else "at rest") if resting[place] else "stopped"
            self._write_row(int(self.runs[place]), status, gap, found)

    def _write_row(self, run: int, status: str, gap: float, found: float) -> None:
        scenario = self.scenarios[run]
        self.rows[run] = run_row(
            status,
            mechanism=scenario.mechanism,
            accuracy=scenario.accuracy,
            scenario=scenario.name,
            seed=self.seeds[run],
            owners=self.owners,
            steps=self.steps,
            gap=gap,
            found=found,
            knowledge=scenario.knows.kind(scenario.accuracy),
            knowledge_error=0.0,
            without_effect=without_effect(scenario, attacked=run in self._attacked),
            estimated=estimated(scenario, sampled=self._offers.payment.sampled),
            stacked=True,
        )

    def _gains(self, places: Numbers) -> Gains:
        """The most that anybody could gain in each of some runs."""
        # The limits of a proof hold for one game, so each gets its own where a proof takes more than tangents.
        plain = self._offers.shape == "concave" and self._offers.refund is None
        once = max(1, MOST_CHECKED // self.owners) if plain else 1
        parts = [self._weighed(self._rows(places[first : first + once])) for first in range(0, len(places), once)]
        return Gains(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _weighed(self, rows: Numbers) -> Gains:
        facts = self._facts(rows)
        largest = np.repeat(facts[-1].reshape(-1, self.owners).max(axis=1), self.owners)
        gains = weigh(*facts, ProofLimits(), largest)
        return Gains(*(column.reshape(-1, self.owners).max(axis=1) for column in gains))

    def _facts(self, rows: Numbers) -> tuple[Offers, Cost, Array, Array]:
        """What some owners are offered, their costs, what they have and what they contribute."""
        people = self.people
        return self._offers.take(rows), people.cost.take(rows), people.capacity[rows], people.contribution[rows]

    def _go_on(self, places: Numbers) -> None:
        """Forget all runs but some."""
        rows = self._rows(places)
        self._offers = self._offers.take(rows)
        self.people = self.people.take(rows)
        self.runs, self.balance = self.runs[places], self.balance[places]
        self.mechanism, self.accuracy = rows_of(self.mechanism, places), rows_of(self.accuracy, places)

    # Tables and rows

    def _table(self, column: np.ndarray) -> np.ndarray:
        """What is known of every owner, run by run, (runs, owners)."""
        return column.reshape(-1, self.owners)

    def _rows(self, places: Numbers) -> Numbers:
        """The rows of all owners of some runs."""
        return (places[:, None] * self.owners + np.arange(self.owners)).ravel()

    def _flat(self, offers: Offers) -> Offers:
        """Offers in a table as offers row by row."""
        places: Any = np.unravel_index(np.arange(len(self.people)), (len(self.runs), self.owners))
        return offers.take(places)

    def _reports(self) -> Reports:
        """What the owners of every run have told their server."""
        people = self.people
        return Reports(self._table(people.claimed), self._table(people.claimed_size), self._claimed_cost())

    def _private(self) -> Private:
        """What is true of the owners of every run in this step."""
        true = self.people.private(np.arange(len(self.people)))
        columns = (self._table(column) for column in true if isinstance(column, np.ndarray))
        given, capacity, eagerness, person = columns
        return Private(given, capacity, self._cost_table(true.cost), eagerness, person)

    def _claimed_cost(self) -> PowerCost | None:
        """The costs that owners state, if they are asked."""
        return self._cost_table(self.people.claimed_cost) if self.mechanism.asks_cost else None

    def _cost_table(self, cost: Cost) -> PowerCost:
        """The costs of all owners, run by run."""
        return PowerCost(*map(self._table, cost.columns))

    def _round(self, moved: Array) -> Round:
        """What happened in this step, as the columns of the frames see it."""
        columns: dict[str, Any] = {name: self._table(column) for name, column in self.people.shown().items()}
        return Round(
            step=self.steps,
            **columns,
            reported_cost=self._claimed_cost(),
            labels=self.people.labels,
            balance=self.balance.copy(),
            moved=moved,
        )

    def _keep(self, round: Round, chosen: Flags) -> None:
        """Keep this step of some runs."""
        if not np.any(chosen):
            return
        places = np.flatnonzero(chosen)
        rows, runs = self._rows(places), np.repeat(self.runs, self.owners)
        own = self.scenario.columns
        steps = {entry.name: _values(entry, round) for entry in columns_of("steps", own)}
        owners = {entry.name: _values(entry, round).ravel() for entry in columns_of("owners", own)}
        owners |= {"strategy": round.strategy_codes.ravel(), "information": round.information.ravel(), "run": runs}
        self._kept["steps"].append({"run": self.runs[places], **{name: part[places] for name, part in steps.items()}})
        self._kept["owners"].append({name: column[rows] for name, column in owners.items()})
        self._kept["transfers"].append(self._entries(chosen))

    def _entries(self, chosen: Flags) -> dict[str, np.ndarray]:
        """The transfers of this step in some runs."""
        made = self._transfers
        place = np.maximum(made.payer, made.payee) // self.owners
        kept = np.flatnonzero(chosen[place])
        accounts = {
            name: np.where(account < 0, SERVER, account % self.owners).astype(np.int64)[kept]
            for name, account in (("payer", made.payer), ("payee", made.payee))
        }
        step = np.full(len(kept), self.steps, dtype=np.int64)
        return {"run": self.runs[place[kept]], "step": step, **accounts, "amount": made.amount[kept]}


def _values(entry: Column, round: Round) -> np.ndarray:
    """A column of all runs; one of the user's own must be what it is for the first and the last run alone."""
    if entry.name in COLUMNS[entry.frame]:
        return filled(entry, entry.of(round), round.stayed.shape)
    return _checked(entry, round)


def _checked(entry: Column, round: Round) -> np.ndarray:
    """The values of a column of the user's own, which may have been written with one run in mind."""
    try:
        values = filled(entry, entry.of(round), round.stayed.shape)
        same = all(
            np.array_equal(filled(entry, entry.of(round.one(run)), round.owners), values[run], equal_nan=True)
            for run in (0, -1)
        )
    except Exception as error:
        raise NotStackable(f"column {entry.name!r} cannot be had for many runs at once ({error})") from error
    if not same:
        raise NotStackable(f"column {entry.name!r} mixes runs; reduce along the last axis, as in .sum(axis=-1)")
    return values


def _texts(names: Sequence[str], codes: NDArray[Any]) -> np.ndarray:
    """The name of every code."""
    return np.array(names, dtype=object)[codes]
