"""The Mesa model: a federation of strategic owners, one round at a time."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import mesa
import numpy as np

from fedabm.common.errors import check_kind
from fedabm.common.random import check_seed, generator
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import certified_gains
from fedabm.games.curves import Array
from fedabm.games.sending import Effort, Sending
from fedabm.results.columns import COLUMNS
from fedabm.results.frames import Frames, run_frame, shorten
from fedabm.simulation.agents import Owner, Server
from fedabm.simulation.ledger import Ledger, check_balanced
from fedabm.simulation.links import Links
from fedabm.simulation.population import Members, Population
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.treasury import Treasury, balances
from fedabm.views import Outcome, Reports, ServerView, Transfers

__all__ = ["Federation"]


class Federation(mesa.Model):
    """Owners with private costs and strategies meet a server with a mechanism.

    Each `step()` is one round as the papers describe it.  `running` turns False when nothing moves any more
    (`converged`) or when the scenario's steps are over; `run()` steps until then.  `mesa.batch_run` works: give the
    scenario and seeds as parameters, `batch_run(Federation, {"scenario": scenario, "seed": [1, 2]})`.
    """

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        check_kind("scenario", scenario, Scenario)
        check_seed(seed)
        super().__init__(seed=int(seed))
        self.scenario, self.seed = scenario, int(seed)
        self.population = Population(scenario.owners, self.seed)
        self.server = Server(self, scenario.mechanism)
        self.owners = mesa.agent.AgentSet([Owner(self, row) for row in range(len(scenario.owners))], random=self.random)
        self.ledger, self.treasury = Ledger(len(scenario.owners)), Treasury(self.population.money, scenario.pay_every)
        self.recorder = Recorder(scenario.record, with_cost=scenario.mechanism.asks_cost)
        self.datacollector = mesa.DataCollector(model_reporters=_REPORTERS)
        self.converged, self.moved = False, np.inf
        self._quiet = np.zeros(len(scenario.owners), dtype=bool)
        self._order = generator(self.seed, "activation")
        self.accuracy, self._learning = scenario.accuracy.seeded(self.seed), False
        self._restricted: tuple[Members, Accuracy, Accuracy] | None = None
        self._transfers = Transfers.central(np.zeros(0), "")
        self.links: list[Links] = []
        self._links: Links | None = None
        self.reciprocity = self.components = np.nan
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
        accuracy = self.learn(present, before)
        outcome = self.settle(present)
        self.deliver(present, outcome)
        self.record(present, outcome)
        self.receive(present, outcome, accuracy)
        self.watch(acted, self.population.moved(stance))
        self.collect()

    def run(self) -> Federation:
        """Step until the run ends by itself."""
        while self.running:
            self.step()
        return self

    # The phases of a round

    def announce(self, present: Members) -> tuple[Reports, Accuracy]:
        """What is public before owners decide: the others' last reports and the accuracies they promise."""
        rule = self.scenario.mechanism
        reports = self.population.reports(present, with_cost=rule.asks_cost, with_eagerness=rule.asks_eagerness)
        return reports, self.oracle(present).public

    def decide(self) -> Members:
        """Let the owners act, batch by batch, each on its own view; say who acted."""
        acted: list[Members] = [np.empty(0, dtype=np.intp)]
        for batch in self.scenario.activation.batches(self.population.stayed.copy(), self._order):
            present = self.population.present
            if not len(present):
                break
            reports, oracle = self.announce(present)
            offers = self.server.announce(reports, oracle)
            public = {"told": oracle.tells, "total": float(reports.contribution.sum())}
            for cohort in self.population.cohorts(batch):
                everyone = len(cohort.members) == len(present)
                mine = offers if everyone else offers.take(np.searchsorted(present, cohort.members))
                view = cohort.view(self.steps, mine, self.population.memory(cohort.members), **public)
                self.population.apply(cohort.members, cohort.strategy.act(view))
            acted.append(batch)
        return np.concatenate(acted)

    def learn(self, present: Members, before: Effort) -> Array:
        """One step of training; what the model is then worth to each owner on the true contributions."""
        sending, known = Sending(before, self.population.effort(), self.population.tampering()), self.accuracy
        self.accuracy, self.population.dropped = known.train(sending)
        self._learning = self.accuracy is not known
        if not len(present):
            return np.zeros(0)
        return self.oracle(present).values(self.population.contribution[present][None])[0]

    def settle(self, present: Members) -> Outcome:
        """The server applies its mechanism to the reports."""
        if not len(present):
            return Outcome.empty()
        reports, oracle = self.announce(present)
        size = np.where(reports.contribution > 0, reports.size, 0.0)
        outcome = self.server.settle(ServerView(self.steps, reports, oracle, self.accuracy.sent(present, size)))
        if self.scenario.mechanism.budget_balanced:
            check_balanced(type(self.scenario.mechanism).__name__, outcome.payments, oracle)
        return outcome

    def deliver(self, present: Members, outcome: Outcome) -> None:
        """Where everyone has a model of its own: the server sends back what each is to train on next."""
        if outcome.exchange is not None:
            self.accuracy = self.accuracy.deliver(present, outcome.exchange)

    def record(self, present: Members, outcome: Outcome) -> None:
        """Book the transfers, and who imports whose model."""
        table = outcome.adjacency
        self._links = None if table is None else Links(self.steps, len(self.population), present, table)
        if self._links is not None:
            self.reciprocity, self.components = self._links.reciprocity, float(self._links.components)
            self.links += [self._links] if self.recorder.wants(self.steps) else []
        debts = self.treasury.demand(
            self.steps, outcome.transfers.renumbered(present), last=self.steps >= self.scenario.steps
        )
        transfers = self.treasury.pay(debts)
        self.population.owed = balances(debts, len(self.population))
        self.ledger.record(self.steps, transfers, keep=self.recorder.wants(self.steps))
        self._transfers = transfers

    def receive(self, present: Members, outcome: Outcome, accuracy: Array) -> None:
        """Owners get their models and money, and bear their true costs."""
        imports = None if self._links is None else self._links.weights != 0
        deal, value = self.population.deal(present, outcome.access * accuracy, imports), self.scenario.valuation
        paid = balances(self._transfers, len(self.population))
        self.population.payment, self.population.utility = paid, np.where(self.population.stayed, 0.0, paid)
        self.population.receive(present, deal.accuracy, paid[present], value.gain(deal), value.cost(deal))

    def watch(self, acted: Members, moved: float) -> None:
        """Stop when everybody has acted since anybody last moved, and the model has learned all it can.

        In the first step nobody knows yet what it gains, so that standing still says nothing.
        """
        self.moved = moved
        if self.moved > self.scenario.tolerance or self._learning or self.treasury.waiting or self.steps == 1:
            self._quiet[:] = False
        else:
            self._quiet[acted] = True
        self.converged = bool(np.all(self._quiet | ~self.population.stayed)) and not self.population.awaited(self.steps)
        self.running = not self.converged and self.steps < self.scenario.steps

    def collect(self) -> None:
        """Keep what the scenario asked to keep of this step."""
        self.seconds.append(time.perf_counter() - self._began)
        self.datacollector.collect(self)
        self.recorder.keep(self.steps, self.population, self._transfers, self._links)

    # What can be asked of a run

    def oracle(self, present: Members) -> Accuracy:
        """The accuracies when only these owners take part."""
        if len(present) == len(self.population):
            return self.accuracy
        known = self._restricted
        if known is None or known[1] is not self.accuracy or not np.array_equal(known[0], present):
            known = self._restricted = (present, self.accuracy, self.accuracy.restrict(present))
        return known[2]

    def regrets(self, *, true: bool = False) -> Array:
        """The most each owner could still gain by another contribution, truthfully reported, certified.

        The game is the one announced: public accuracies and the others' reports, at their word.  So nobody regrets what
        it cannot know, and what a lie gains is not counted.  With `true` the others' contributions are the true ones:
        where somebody lies, regrets then tell what the lie costs those who believe it.  Owners that left have none.
        """
        people, present = self.population, self.population.present
        if not len(present):
            return np.zeros(len(people))
        reports, oracle = self.announce(present)
        given = people.contribution[present]
        offers = self.server.announce(reports, oracle)
        if true:
            offers = self.scenario.mechanism.offers(oracle, replace(reports, contribution=given))
        if offers.shape == "unknown" and offers.refund is None:
            return np.where(people.stayed, np.inf, 0.0)  # nothing could be proven, so no training is spent on it
        regrets = np.zeros(len(people))
        regrets[present] = certified_gains(offers, people.cost.take(present), people.capacity[present], given)
        return regrets

    @property
    def gap(self) -> float:
        """The certified gap: the largest regret of any owner; zero at a Nash equilibrium of the game announced."""
        return float(np.max(self.regrets()))

    # The columns of the steps frame, as Mesa's DataCollector reads them

    @property
    def total_contribution(self) -> float:
        """Data contributed by all owners."""
        return float(self.population.contribution.sum())

    @property
    def mean_accuracy(self) -> float:
        """Mean accuracy received by the owners present."""
        present = self.population.present
        return float(self.population.accuracy[present].mean()) if len(present) else 0.0

    @property
    def total_cost(self) -> float:
        """True cost of all contributions."""
        return float(self.population.cost_paid.sum())

    @property
    def transferred(self) -> float:
        """Money that owners received in this step."""
        return float(np.maximum(self.population.payment, 0.0).sum())

    @property
    def welfare(self) -> float:
        """Sum of all utilities."""
        return float(self.population.utility.sum())

    @property
    def server_balance(self) -> float:
        """The server's account since the beginning."""
        return self.ledger.balance()

    @property
    def present(self) -> int:
        """Owners that have not left."""
        return int(self.population.stayed.sum())

    @property
    def rejected(self) -> int:
        """Owners whose report or model update was unusable in this step."""
        return int(self.population.unusable.sum())

    # Results

    @property
    def status(self) -> str:
        """converged, stopped (steps used up) or interrupted."""
        if self.running or self._torn:
            return "interrupted"
        return "converged" if self.converged else "stopped"

    @property
    def _torn(self) -> bool:
        """Whether the current step was broken off: then the frames end with the step before."""
        return self.steps != self.recorder.step

    def frames(self, label: str = "", parameters: dict[str, Any] | None = None) -> Frames:
        """The run so far as tidy frames; the last complete step is always included."""
        row = {
            "label": label or type(self.scenario.mechanism).__name__,
            "scenario": self.scenario.name,
            "parameters": json.dumps(parameters or {}, sort_keys=True),
            "seed": self.seed,
            "mechanism": shorten(repr(self.scenario.mechanism)),
            "accuracy": shorten(repr(self.scenario.accuracy)),
            "owners": len(self.population),
            "steps": self.recorder.step,
            "status": self.status,
            "converged": self.converged and not self._torn,
            "gap": self.gap if self.steps and not self._torn else np.nan,
            "wall_time": time.perf_counter() - self._began,
        }
        owners, transfers = self.recorder.frame(self.population), self.ledger.frame(self.recorder.latest)
        steps = self.recorder.step_frame(self.datacollector.model_vars)
        return Frames.join([Frames(run_frame(row), steps, owners, transfers)])


#: columns of the steps frame and the attributes that fill them
_REPORTERS = {
    "step": "steps",
    "contribution": "total_contribution",
    "accuracy": "mean_accuracy",
    "cost": "total_cost",
    **{name: name for name in COLUMNS["steps"] if name not in ("run", "step", "contribution", "accuracy", "cost")},
}
