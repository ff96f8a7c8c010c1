"""The Mesa model: a federation of strategic owners, one round at a time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import mesa
import numpy as np

from fedabm.common.names import spelled
from fedabm.common.random import generator
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.sending import Effort, Sending
from fedabm.results.frames import Frames, Streamed, run_frame, shorten
from fedabm.results.streams import LongTable
from fedabm.simulation.activation import Members
from fedabm.simulation.cohorts import Turn
from fedabm.simulation.failures import told
from fedabm.simulation.ledger import check_balanced
from fedabm.simulation.links import Links
from fedabm.simulation.measures import REPORTERS, Measured
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Progress
from fedabm.simulation.watching import RunBegun, Watcher, watched
from fedabm.views import Evidence, Outcome, OwnerView, ServerView, Transfers

__all__ = ["Federation"]


class Federation(Measured):
    """Owners with private costs and strategies meet a server with a mechanism.

    Each `step()` is one round as the papers describe it.  `running` turns False when the scenario's stopping rule says
    so or its steps are over; `run()` steps until then.  `mesa.batch_run` works: give the scenario and seeds as
    parameters, `batch_run(Federation, {"scenario": scenario, "seed": [1, 2]})`; where it has an `rng`, as in Mesa 3.5,
    seeds go there, `batch_run(Federation, {"scenario": scenario}, rng=[1, 2])`.

    `model.agents` are the owners, to select, get, set and aggregate as in any Mesa model.  Owners can be added and
    removed between steps (`Owner(model, profile)`, `owner.remove()`).  Reporters of one's own go into a subclass or a
    `mesa.DataCollector` put in place of `datacollector`; columns of the frames into the scenario's `columns`.
    """

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        super().__init__(scenario, seed)
        with_cost = scenario.mechanism.asks_cost
        self.recorder = Recorder(scenario.keep, scenario.columns, self._sample, with_cost=with_cost)
        self.datacollector = mesa.DataCollector(model_reporters=REPORTERS)
        self.moved = np.inf
        self.progress: list[Progress] = []
        self.links: list[Links] = []
        self.reciprocity = np.nan
        self.components = np.nan
        self._order = generator(self.seed, "activation")
        self._learning = False
        self._transfers = Transfers.central(np.zeros(0), "")
        #: what these bring every owner
        self._paid = np.zeros(len(self.population))
        self._links: Links | None = None
        self._began = time.perf_counter()
        #: when each step was complete, in seconds since the beginning
        self.seconds: list[float] = []

    def step(self) -> None:
        """One round: owners decide on what was announced, the model is learned, the server settles, owners receive."""
        self.population.arrive(self.steps)
        self.population.begin()
        before, stance = self.population.effort(), self.population.stance()
        acted = self.decide()
        present = self.population.present
        self.learn(before)
        worth = self.judge(present)
        outcome = self.settle(present, worth)
        worth = self.deliver(present, outcome, worth)
        self.record(present, outcome)
        self.receive(present, outcome, worth)
        self.watch(acted, self.population.moved(stance))
        self.collect()

    def stream(self, folder: str | Path) -> Federation:
        """Write rows of owners and transfers to this folder while the run goes on, so that memory stays bounded.

        Frames are those of any other run, and `fedabm.save` writes them without reading all of them at once:

            save(Federation(scenario).stream("rows").run().frames(), "results/large")
        """
        self.recorder.stream(folder)
        self.ledger.stream(folder)
        return self

    def run(self, *watchers: Watcher) -> Federation:
        """Step until the run ends by itself; watchers are told of every step."""
        facts = {"mechanism": self.scenario.mechanism, "accuracy": self.scenario.accuracy}
        begun = RunBegun(type(self.scenario.mechanism).__name__, self.seed, done=self.steps, facts=facts)
        with watched(watchers, begun) as tell:
            while self.running:
                self.step()
                tell(self.recorder.values)
        return self

    # The phases of a round

    def decide(self) -> Members:
        """Let the owners act, batch by batch, each on its own view; say who acted."""
        acted: list[Members] = [np.empty(0, dtype=np.intp)]
        for batch in self.scenario.activation.batches(self.population.stayed.copy(), self._order):
            present = self.population.present
            if not len(present):
                break
            if len(present) < len(self.population):
                batch = batch[self.population.stayed[batch]]  # agents may remove each other
            reports, oracle = self.announce(present)
            offers = self.server.announce(reports, oracle)
            public: dict[str, Any] = {"told": oracle.tells, "frozen": self.accuracy.frozen, "present": len(present)}
            public["total"] = float(reports.contribution.sum())
            quotas = self.scenario.mechanism.quotas(reports)
            for turn in self.population.turns(batch):
                rows = self._places(turn.members, present)
                mine = offers if rows is present else offers.take(rows)
                public["quota"] = quotas if quotas is None or rows is present else quotas[rows]
                seen = None if self.sight is None else self.sight.view(turn.members)
                rng, lately = self.population.streams(turn), self.population.lately(turn.members)
                view = turn.view(self.steps, mine, rng, lately, seen, **public)
                self.carry_out(turn, view)
            acted.append(batch)
        return np.concatenate(acted)

    def _places(self, members: Members, present: Members) -> Members:
        """Where some owners stand among those present."""
        if len(members) == len(present):
            return present
        return members if len(present) == len(self.population) else np.searchsorted(present, members)

    def carry_out(self, turn: Turn, view: OwnerView) -> None:
        """Ask whose turn it is, and do what they say; what goes wrong there is told with class, owner and step."""
        strategy: Any = turn.cohort.strategy
        agent = self._seated.get(int(turn.members[0])) if turn.cohort.alone else None
        if turn.cohort.alone and agent is None:
            return
        with told(agent or strategy, turn.members, f"in step {self.steps}"):
            self.population.apply(turn, agent.decide(view) if agent else strategy.act(view), view.rng)

    def learn(self, before: Effort) -> None:
        """One step of training."""
        people, known = self.population, self.accuracy
        seats = getattr(known, "owners", None) or len(people)
        measured = people.measures and not known.frozen
        tampering = people.tampering(self.steps)
        sending = Sending(before.padded(seats), people.effort().padded(seats), tampering, measured)
        self.accuracy, dropped = known.train(sending)
        people.tampered(tampering)
        people.dropped = dropped[: len(people)]
        seen = self.accuracy.progress if measured else None
        people.progress = np.broadcast_to(0.0, len(people)) if seen is None else np.array(seen[: len(people)])
        self._learning = self.accuracy is not known

    def settle(self, present: Members, accuracy: Array) -> Outcome:
        """The server applies its mechanism to the reports and to what it saw for itself."""
        if not len(present):
            return Outcome.empty()
        reports, oracle = self.announce(present)
        rule = self.scenario.mechanism
        sent = self.accuracy.sent(present, reports, with_losses=rule.asks_losses)
        evidence = Evidence(self.population.unusable_of(present), accuracy)
        outcome = self.server.settle(ServerView(self.steps, reports, oracle, sent, evidence))
        if rule.budget_balanced:
            check_balanced(type(rule).__name__, outcome.payments, oracle)
        return outcome

    def deliver(self, present: Members, outcome: Outcome, worth: Array) -> Array:
        """Where everyone has a model of its own the server sends back what each is to train on next; its new worth."""
        if outcome.exchange is None:
            return worth
        self.accuracy = self.accuracy.deliver(present, outcome.exchange)
        return self.judge(present)

    def judge(self, present: Members) -> Array:
        """What each owner's model, or the one that all share, is worth to it on the true contributions."""
        if not len(present):
            return np.zeros(0)
        return self.oracle(present).values(self.population.given(present)[None])[0]

    def record(self, present: Members, outcome: Outcome) -> None:
        """Book the transfers, and who imports whose model."""
        table = outcome.adjacency
        taken = None if outcome.exchange is None else outcome.exchange.taken
        self._links = None if table is None else Links(self.steps, len(self.population), present, table, taken)
        if self._links is not None:
            self.reciprocity, self.components = self._links.reciprocity, float(self._links.components)
            self.links += [self._links] if self.recorder.wants(self.steps) else []
        owners, owed = len(self.population), outcome.transfers
        owed = owed if len(present) == owners else owed.renumbered(present)
        debts = self.treasury.demand(self.steps, owed, last=self.steps >= self.scenario.steps)
        transfers = self.treasury.pay(debts)
        self.population.owed = debts.balances(owners)[:-1]
        self._paid = self.population.owed if transfers is debts else transfers.balances(owners)[:-1]
        self.population.money = self.treasury.money
        self.ledger.record(self.steps, transfers, keep=self.recorder.wants(self.steps))
        self._transfers = transfers

    def receive(self, present: Members, outcome: Outcome, accuracy: Array) -> None:
        """Owners get their models and money, and bear their true costs."""
        imports = None if self._links is None else self._links.linked
        people, value = self.population, self.scenario.valuation
        deal = people.deal(present, self.hand_out(present, outcome, accuracy), imports)
        gain, cost = (value.gain(deal), value.cost(deal)) if len(present) else (np.zeros(0), np.zeros(0))
        people.receive(present, deal.accuracy, self._paid, gain, cost)
        if self.sight is not None:
            self.sight.show(people.stayed, people.claimed, people.claimed_size, people.accuracy, people.payment)

    def hand_out(self, present: Members, outcome: Outcome, accuracy: Array) -> Array:
        """What the models are worth that owners are handed: the full one, or one that is as much worse as it says."""
        promised = outcome.access * accuracy
        if type(self.accuracy).hand_out is Accuracy.hand_out:
            return promised  # kept to the digit
        worse = outcome.access < 1.0
        if np.any(worse):
            promised[worse] = self.accuracy.hand_out(present[worse], self.population.contribution, promised[worse])
        return promised

    def watch(self, acted: Members, moved: float) -> None:
        """Note whether everybody has acted since anybody last moved, and ask the stopping rule.

        In the first step nobody knows yet what it gains, so that standing still says nothing.  Nor does it while
        owners throw dice or learn, while the model does, or while debts or newcomers are awaited.
        """
        self.moved = moved
        people = self.population
        unsettled = people.restless or self._learning or self.treasury.waiting or self.steps == 1
        if self.moved > self.scenario.tolerance or unsettled:
            self._quiet[:] = False
        else:
            self._quiet[acted] = True
        self.at_rest = bool(np.all(self._quiet | ~people.stayed)) and not people.awaited(self.steps)
        self._gap = None
        self.progress.append(Progress(self.steps, self.at_rest, self.total_contribution, self.welfare))
        self.running = self.steps < self.scenario.steps and not self.scenario.stopping.ends(self.progress)

    def collect(self) -> None:
        """Keep what the scenario asked to keep of this step."""
        self.seconds.append(time.perf_counter() - self._began)
        values = {column: getattr(self, name) for column, name in REPORTERS.items()}
        self.recorder.keep(self, self._transfers, self._links, values)
        self.datacollector.collect(self)

    # Results

    @property
    def status(self) -> str:
        """converged, at rest, stopped or interrupted, as the column of that name says."""
        if self.running or self._torn:
            return "interrupted"
        if not self.at_rest:
            return "stopped"
        return "converged" if self.converged else "at rest"

    @property
    def _torn(self) -> bool:
        """Whether the current step was broken off: then the frames end with the step before."""
        return self.steps != self.recorder.step

    def frames(self, label: str = "", parameters: dict[str, Any] | None = None) -> Frames:
        """The run so far as tidy frames; the last complete step is always included.

        Rows that were streamed are read when they are asked for.
        """
        row = {
            "label": label or type(self.scenario.mechanism).__name__,
            "scenario": self.scenario.name,
            "parameters": json.dumps(parameters or {}, sort_keys=True),
            "seed": self.seed,
            "mechanism": shorten(spelled(self.scenario.mechanism)),
            "accuracy": shorten(spelled(self.scenario.accuracy)),
            "owners": len(self.population),
            "steps": self.recorder.step,
            "status": self.status,
            "converged": not self._torn and self.converged,
            "gap": self.gap if self.steps and not self._torn else np.nan,
            "found": self.found if self.steps and not self._torn else np.nan,
            "machine": getattr(getattr(self.accuracy, "engine", None), "machine", ""),
            "wall_time": time.perf_counter() - self._began,
        }
        people, seen = self.population, self.recorder
        owners, transfers = seen.table(people), self.ledger.table(seen.latest)
        small = {"runs": run_frame(row), "steps": seen.step_frame(), "strategies": seen.strategy_frame(people)}
        if isinstance(owners, LongTable) or isinstance(transfers, LongTable):
            return Frames.join([Streamed(owners=owners, transfers=transfers, **small)])
        return Frames.join([Frames(owners=owners, transfers=transfers, **small)])
