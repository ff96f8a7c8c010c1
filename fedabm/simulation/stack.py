"""Many runs of one kind, stepped together: thousands of small runs at the price of a few large ones.

One `Population` holds the owners of all runs, run by run; strategies act on all rows at once, as they do in a large
federation.  What the server reckons is a table (runs, owners): the mechanism's own `offers` along the last axis.  Runs
that have ended drop out.  Results are those of `Federation`, bit for bit; `fedabm.simulation.alike` says of which
runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import InputError
from fedabm.common.names import spelled
from fedabm.common.random import run_streams
from fedabm.games.certificate import Gains, weigh
from fedabm.games.costs import Cost, PowerCost
from fedabm.games.intervals import Limits
from fedabm.games.offers import Offers
from fedabm.games.promises import MOST_CHECKED
from fedabm.results.frames import LINKED, shorten, versions
from fedabm.results.stacked import StackedFrames, in_order
from fedabm.simulation.ledger import check_balanced, check_sound
from fedabm.simulation.measures import ROUNDING
from fedabm.simulation.owners import Owners
from fedabm.simulation.population import Population
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Progress
from fedabm.views import INFORMATION, SERVER, Outcome, Reports, ServerView
from fedabm.views.memory import changed_rows, take_rows

__all__ = ["Stack"]

#: runs, or rows of owners
Numbers = NDArray[np.intp]


class Stack:
    """The runs of some scenarios of one kind (`kind_of`), each with its seed."""

    def __init__(self, scenarios: Sequence[Scenario], seeds: Sequence[int]) -> None:
        self.scenarios, self.seeds = scenarios, seeds
        self.scenario, self.owners = scenarios[0], len(scenarios[0].owners)
        self.recorder = Recorder(self.scenario.keep, with_cost=self.scenario.mechanism.asks_cost)
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
        #: pieces of the frames, by table
        self._kept: dict[str, list[dict[str, np.ndarray]]] = {"steps": [], "owners": [], "transfers": []}
        self._offers = self._flat(self.scenario.mechanism.offers(self.scenario.accuracy, self._reports()))

    def run(self) -> StackedFrames:
        """Step until all have ended by themselves."""
        while len(self.runs):
            self.step()
        tables = {name: in_order(pieces, len(self.rows)) for name, pieces in self._kept.items()}
        owners, transfers = tables["owners"].columns, tables["transfers"].columns
        rows = owners.pop("run") * self.owners + owners["owner"]
        for name, column in (("role", self._everyone.role), ("name", self._everyone.name)):
            owners[name] = _texts(column.values, column.codes[rows])
        owners["strategy"] = _texts(self.people.labels, owners["strategy"])
        owners["information"] = _texts(list(INFORMATION), owners["information"])
        owners |= {name: np.zeros(len(rows), dtype=kind) for name, kind in LINKED.items()}
        transfers["reason"] = _texts([type(self.scenario.mechanism).__name__], np.zeros_like(transfers["step"]))
        return StackedFrames(self.rows, tables)

    def step(self) -> None:
        """One round of every run that goes on, as `Federation.step` has it."""
        self.steps += 1
        self.people.begin()
        stance = self.people.stance()
        restless = self.decide()
        outcome = self.settle()
        self.receive(outcome)
        self.watch(self._table(self.people.changes(stance)).max(axis=1), restless)

    # The phases of a round

    def decide(self) -> Flags:
        """Let all owners act, cohort by cohort, on their own rows; in which runs somebody drew or learned."""
        people, restless = self.people, np.zeros(len(self.people), dtype=bool)
        total = np.repeat(self._table(people.claimed).sum(axis=1), self.owners)
        accuracy = self.scenario.accuracy
        public: dict[str, Any] = {"told": accuracy.tells, "frozen": accuracy.frozen, "present": self.owners}
        for turn in people.turns(np.arange(len(people))):
            rows = turn.members
            offers = self._offers if len(rows) == len(people) else self._offers.take(rows)
            rng, seen = people.streams(turn), people.lately(turn.members)
            view = turn.view(self.steps, offers, rng, seen, None, quota=None, total=total[rows], **public)
            action = turn.cohort.strategy.act(replace(view, owner=rows % self.owners))
            known = take_rows(turn.cohort.memory, None)
            if action.memory is not None:
                restless[rows] = changed_rows(known, action.memory, len(rows))
            restless[rows] |= rng.drawn
            people.apply(turn, action, rng)
        if not np.all(people.stayed):
            raise InputError("an owner left its federation; such runs are stepped one by one")
        return np.any(self._table(restless), axis=1)

    def settle(self) -> Outcome:
        """The server applies its mechanism to the reports of each run."""
        rule, oracle = self.scenario.mechanism, self.scenario.accuracy
        outcome = rule.settle(ServerView(self.steps, self._reports(), oracle))
        if rule.budget_balanced:
            check_balanced(type(rule).__name__, outcome.payments, oracle)
        self._offers = self._flat(outcome.offers)
        return outcome

    def receive(self, outcome: Outcome) -> None:
        """Owners get their models and money, and bear their true costs; the server's accounts are kept."""
        people, everyone = self.people, np.arange(len(self.people))
        worth = self.scenario.accuracy.values(self._table(people.contribution))
        deal = people.deal(everyone, (outcome.access * worth).ravel(), None)
        check_sound(outcome.transfers)
        paid = outcome.transfers.balances(len(people))[:-1]
        people.owed = paid
        value = self.scenario.valuation
        people.receive(everyone, deal.accuracy, paid, value.gain(deal), value.cost(deal))
        self.balance -= self._table(paid).sum(axis=1)
        self._transfers = outcome.transfers

    def watch(self, moved: Array, restless: Flags) -> None:
        """Keep what is to be kept of this step, end the runs whose time has come, and go on with the others."""
        resting = ~(restless | (moved > self.scenario.tolerance) | (self.steps == 1))
        values = self._values(moved)
        ended = np.zeros(len(self.runs), dtype=bool)
        for place, run in enumerate(self.runs.tolist()):
            seen = (values["contribution"][place], values["welfare"][place])
            self.progress[run].append(Progress(self.steps, bool(resting[place]), float(seen[0]), float(seen[1])))
            ended[place] = self.steps >= self.scenario.steps or self.scenario.stopping.ends(self.progress[run])
        self._keep(values, np.full(len(self.runs), True) if self.recorder.wants(self.steps) else ended)
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
        self.rows[run] = {
            "label": type(scenario.mechanism).__name__,
            "scenario": scenario.name,
            "parameters": "{}",
            "seed": self.seeds[run],
            "mechanism": shorten(spelled(scenario.mechanism)),
            "accuracy": shorten(spelled(scenario.accuracy)),
            "owners": self.owners,
            "steps": self.steps,
            "status": status,
            "converged": status == "converged",
            "gap": gap,
            "found": found,
            **versions(),
            "machine": "",
        }

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
        gains = weigh(*facts, Limits(), largest)
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
        people, cost = self.people, None
        if self.scenario.mechanism.asks_cost:
            cost = PowerCost(*map(self._table, people.claimed_cost.columns))
        return Reports(self._table(people.claimed), self._table(people.claimed_size), cost)

    def _values(self, moved: Array) -> dict[str, np.ndarray]:
        """The columns of the steps, one entry per run."""
        people, unknown = self.people, np.full(len(self.runs), np.nan)
        sums = {
            "contribution": people.contribution,
            "cost": people.cost_paid,
            "transferred": np.maximum(people.payment, 0.0),
            "welfare": people.utility,
            "rejected": people.unusable,
        }
        return {
            **{name: self._table(column).sum(axis=1) for name, column in sums.items()},
            "accuracy": self._table(people.accuracy).mean(axis=1),
            "server_balance": self.balance.copy(),
            "step": np.full(len(self.runs), self.steps, dtype=np.int64),
            "present": np.full(len(self.runs), self.owners, dtype=np.int64),
            "moved": moved,
            "reciprocity": unknown,
            "components": unknown,
        }

    def _keep(self, values: dict[str, np.ndarray], chosen: Flags) -> None:
        """Keep this step of some runs."""
        if not np.any(chosen):
            return
        places = np.flatnonzero(chosen)
        rows, runs = self._rows(places), np.repeat(self.runs, self.owners)
        owners = {name: column[rows] for name, column in self.recorder.owners(self.steps, self.people).items()}
        self._kept["steps"].append({"run": self.runs[places], **{name: part[places] for name, part in values.items()}})
        self._kept["owners"].append(owners | {"run": runs[rows], "owner": rows % self.owners})
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


def _texts(names: Sequence[str], codes: NDArray[Any]) -> np.ndarray:
    """The name of every code."""
    return np.array(names, dtype=object)[codes]
