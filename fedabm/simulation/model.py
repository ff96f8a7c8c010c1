"""The Mesa model: a federation of strategic owners, one round at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mesa
import numpy as np

from fedabm.common.errors import InputError, check_kind
from fedabm.common.random import check_seed, generator
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import certified_gains
from fedabm.games.curves import Array
from fedabm.games.sending import Effort, Sending
from fedabm.results.columns import COLUMNS
from fedabm.results.frames import Frames, run_frame, shorten
from fedabm.simulation.activation import Members
from fedabm.simulation.agents import Owner, Server
from fedabm.simulation.cohorts import Turn
from fedabm.simulation.ledger import Ledger, check_balanced
from fedabm.simulation.links import Links
from fedabm.simulation.network import Sight
from fedabm.simulation.population import Population
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.simulation.stopping import Progress
from fedabm.simulation.treasury import Treasury, balances
from fedabm.views import Action, Outcome, OwnerView, Reports, ServerView, Transfers

__all__ = ["Federation"]


class Federation(mesa.Model):
    """Owners with private costs and strategies meet a server with a mechanism.

    Each `step()` is one round as the papers describe it.  `running` turns False when the scenario's stopping rule says
    so or its steps are over; `run()` steps until then.  `mesa.batch_run` works: give the scenario and seeds as
    parameters, `batch_run(Federation, {"scenario": scenario, "seed": [1, 2]})`.

    `model.agents` are the owners, to select, get, set and aggregate as in any Mesa model.  Owners can be added and
    removed between steps (`Owner(model, profile)`, `owner.remove()`).  Reporters of one's own go into a subclass or a
    `mesa.DataCollector` put in place of `datacollector`; columns of the frames into the scenario's `columns`.
    """

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        check_kind("scenario", scenario, Scenario)
        check_seed(seed)
        super().__init__(seed=int(seed))
        self.scenario = scenario
        self.seed = int(seed)
        agents = [profile.agent or Owner for profile in scenario.owners]
        alone = [row for row, agent in enumerate(agents) if _minded(agent)]
        self.population = Population(scenario.owners, self.seed, alone)
        self.server = Server(self, scenario.mechanism)
        self._seated: list[Owner | None] = [None] * len(agents)
        for row, agent in enumerate(agents):
            agent(self, row=row)
        self.ledger = Ledger(len(agents))
        self.treasury = Treasury(self.population.money, scenario.pay_every)
        self.sight = None if scenario.network is None else Sight(scenario.network)
        self.recorder = Recorder(scenario.record, scenario.columns, with_cost=scenario.mechanism.asks_cost)
        self.datacollector = mesa.DataCollector(model_reporters=_REPORTERS)
        self.at_rest = False
        self.moved = np.inf
        self.progress: list[Progress] = []
        self._quiet = np.zeros(len(agents), dtype=bool)
        self._order = generator(self.seed, "activation")
        self.accuracy = scenario.accuracy.seeded(self.seed)
        self._learning = False
        self._restricted: tuple[Members, Accuracy, Accuracy] | None = None
        self._transfers = Transfers.central(np.zeros(0), "")
        self._gap: tuple[int, float] | None = None
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

    # Who takes part

    @property
    def owners(self) -> mesa.agent.AgentSet:
        """The agents of all owners, in the order of their numbers; the same as `agents`."""
        return self.agents

    def make_room(self, profile: OwnerProfile, agent: type[Owner] = Owner, sees: Sequence[int] = ()) -> int:
        """Room for one more owner, which takes part from the next step on; its number.  `Owner` calls it.

        With a network it sees nobody, and nobody sees it, unless `sees` links it to some.
        """
        wanted = getattr(self.accuracy, "owners", None)
        if wanted is not None and wanted <= len(self.population):
            raise InputError(
                f"there is no room for an owner {len(self.population)}: the accuracy knows {wanted} owners; "
                "give the scenario one that knows more, and the number as its seats"
            )
        row = self.population.add(profile, self.steps, alone=_minded(agent))
        self._seated.append(None)
        self.ledger.add()
        self.treasury.add(self.population.money)
        if self.sight is not None:
            self.sight.add(sees)
        self._quiet = np.append(self._quiet, False)
        self._awake()
        return row

    def add(self, profile: OwnerProfile, sees: Sequence[int] = ()) -> Owner:
        """Add an owner while the run goes on; with a network, linked to those that it `sees`."""
        agent = profile.agent or Owner
        return agent(self, row=self.make_room(profile, agent, sees))

    def seat(self, owner: Owner) -> None:
        """Note which agent stands for a row; `Owner` calls it."""
        self._seated[owner.row] = owner

    def seats(self) -> list[tuple[type[Owner], dict[str, Any]] | None]:
        """The agent of every row as its class and what it has noted itself (None: removed); for checkpoints."""
        return [None if agent is None else (type(agent), _noted(agent)) for agent in self._seated]

    def reseat(self, seats: Sequence[tuple[type[Owner], dict[str, Any]] | None]) -> None:
        """Make the agents of all rows anew, as `seats` has told them."""
        self.agents.do(self.deregister_agent)
        self._seated = [None] * len(seats)
        for row, told in enumerate(seats):
            if told is not None:
                told[0](self, row=row).__dict__.update(told[1])

    def dismiss(self, owner: Owner) -> None:
        """Let an owner leave for good; `Owner.remove` calls it."""
        self.population.leave(np.array([owner.row]))
        self._seated[owner.row] = None
        self._awake()

    def _awake(self) -> None:
        """Something has changed from outside: the run, if it was at rest, has not ended after all."""
        self.at_rest = False
        self._quiet[:] = False
        self._gap = None
        self.running = self.steps < self.scenario.steps

    # The phases of a round

    def announce(self, present: Members) -> tuple[Reports, Accuracy]:
        """What is public before owners decide: the others' last reports and the accuracies they promise."""
        rule = self.scenario.mechanism
        reports = self.population.reports(present, with_cost=rule.asks_cost, with_eagerness=rule.asks_eagerness)
        return replace(reports, memory=self.server.memory), self.oracle(present).public

    def decide(self) -> Members:
        """Let the owners act, batch by batch, each on its own view; say who acted."""
        acted: list[Members] = [np.empty(0, dtype=np.intp)]
        for batch in self.scenario.activation.batches(self.population.stayed.copy(), self._order):
            present = self.population.present
            if not len(present):
                break
            reports, oracle = self.announce(present)
            offers = self.server.announce(reports, oracle)
            public = {"told": oracle.tells, "total": float(reports.contribution.sum()), "present": len(present)}
            for turn in self.population.turns(batch):
                everyone = len(turn.members) == len(present)
                mine = offers if everyone else offers.take(np.searchsorted(present, turn.members))
                seen = None if self.sight is None else self.sight.view(turn.members)
                view = turn.view(self.steps, mine, self.population.lately(turn.members), seen, **public)
                self._carry_out(turn, view)
            acted.append(batch)
        return np.concatenate(acted)

    def _carry_out(self, turn: Turn, view: OwnerView) -> None:
        """Ask whose turn it is, and do what they say; what goes wrong there is told with class, owner and step."""
        decider = turn.cohort.strategy.act
        who = type(turn.cohort.strategy).__name__
        if turn.cohort.alone:
            agent = self._seated[int(turn.members[0])]
            if agent is None:
                return
            decider = agent.decide
            who = type(agent).__name__
        try:
            action: Action = decider(view)
            self.population.apply(turn, action)
        except Exception as error:
            several = f" and {len(turn.members) - 1} more" if len(turn.members) > 1 else ""
            where = f"{who} of owner {turn.members[0]}{several} failed in step {self.steps}"
            what = (
                str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}; mend its decision"
            )
            raise InputError(f"{where}: {what}") from error

    def learn(self, present: Members, before: Effort) -> Array:
        """One step of training; what the model is then worth to each owner on the true contributions."""
        people, known = self.population, self.accuracy
        seats = getattr(known, "owners", None) or len(people)
        sending = Sending(before.padded(seats), people.effort().padded(seats), people.tampering())
        self.accuracy, dropped = known.train(sending)
        people.dropped = dropped[: len(people)]
        self._learning = self.accuracy is not known
        if not len(present):
            return np.zeros(0)
        return self.oracle(present).values(self.population.contribution[present][None])[0]

    def settle(self, present: Members) -> Outcome:
        """The server applies its mechanism to the reports."""
        if not len(present):
            return Outcome.empty()
        reports, oracle = self.announce(present)
        rule = self.scenario.mechanism
        sent = self.accuracy.sent(present, reports, with_losses=rule.asks_losses)
        outcome = self.server.settle(ServerView(self.steps, reports, oracle, sent))
        if rule.budget_balanced:
            check_balanced(type(rule).__name__, outcome.payments, oracle)
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
        people, paid = self.population, balances(self._transfers, len(self.population))
        people.payment = paid
        people.utility = np.where(people.stayed, 0.0, paid)
        people.receive(present, deal.accuracy, paid[present], value.gain(deal), value.cost(deal))
        if self.sight is not None:
            self.sight.show(people.stayed, people.claimed, people.claimed_size, people.accuracy, people.payment)

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
        values = {column: getattr(self, name) for column, name in _REPORTERS.items()}
        self.recorder.keep(self, self._transfers, self._links, values)
        self.datacollector.collect(self)

    # What can be asked of a run

    def oracle(self, present: Members) -> Accuracy:
        """The accuracies when only these owners take part."""
        if len(present) == len(self.population) == (getattr(self.accuracy, "owners", None) or len(present)):
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
        if self._gap is None or self._gap[0] != self.steps:
            self._gap = (self.steps, float(np.max(self.regrets())))
        return self._gap[1]

    @property
    def converged(self) -> bool:
        """Whether nothing moves any more and nobody could gain more than the scenario's `gap_tolerance`.

        Where utilities are differences of amounts above 1, the tolerance is relative to the largest of them.
        """
        people = self.population
        amounts = np.abs([people.gain, people.cost_paid, people.payment])
        return self.at_rest and self.gap <= self.scenario.gap_tolerance * max(1.0, float(amounts.max(initial=0.0)))

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
            "converged": not self._torn and self.converged,
            "gap": self.gap if self.steps and not self._torn else np.nan,
            "wall_time": time.perf_counter() - self._began,
        }
        owners, transfers = self.recorder.frame(self.population), self.ledger.frame(self.recorder.latest)
        steps = self.recorder.step_frame()
        return Frames.join([Frames(run_frame(row), steps, owners, transfers)])


def _noted(agent: Owner) -> dict[str, Any]:
    """What an agent keeps itself, beside its place."""
    return {name: value for name, value in vars(agent).items() if name not in ("model", "unique_id", "row")}


def _minded(agent: type) -> bool:
    """Whether a class of agents decides for itself."""
    return getattr(agent, "decide", None) is not Owner.decide


#: columns of the steps frame and the attributes that fill them
_REPORTERS = {
    "step": "steps",
    "contribution": "total_contribution",
    "accuracy": "mean_accuracy",
    "cost": "total_cost",
    **{name: name for name in COLUMNS["steps"] if name not in ("run", "step", "contribution", "accuracy", "cost")},
}
