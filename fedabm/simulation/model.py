"""The Mesa model: a federation of strategic owners, one round at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import mesa
import numpy as np

from fedabm.common.names import brief
from fedabm.common.notebooks import MOST_ROWS, as_html, notebook_bar
from fedabm.common.random import generator
from fedabm.games.accuracy.training import RoundResult
from fedabm.games.curves import Array
from fedabm.games.messages import Effort, OwnerMessages
from fedabm.games.offers import Offers
from fedabm.kernel import receive
from fedabm.results.columns import columns_of
from fedabm.results.frames import Frames, Streamed, run_frame, run_row
from fedabm.results.links import Links
from fedabm.results.round import Round
from fedabm.results.streams import LongTable
from fedabm.simulation.activation import Members
from fedabm.simulation.agent_turns import AgentTurns, Seen
from fedabm.simulation.cohorts import Turn
from fedabm.simulation.effect import (
    estimated,
    say_empty,
    say_estimated,
    say_only_ranked,
    say_unattackable,
    say_unheeded,
    without_effect,
)
from fedabm.simulation.failures import as_user_error, raise_as_user_error
from fedabm.simulation.measures import MeasuredFederation
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Progress
from fedabm.simulation.watching import RunBegun, Watcher, watched
from fedabm.views import Evidence, Outcome, OwnerView, ServerView, deliver, sent, traffic_of

__all__ = ["Federation"]


class Federation(MeasuredFederation):
    """Owners with private costs and strategies meet a server with a mechanism.

    Each `step()` is one round as the papers describe it.  `running` turns False when the scenario's stopping rule says
    so or its steps are over; `run()` steps until then.  `mesa.batch_run` works: give the scenario and seeds as
    parameters, `batch_run(Federation, {"scenario": scenario, "seed": [1, 2]})`; where it has an `rng`, as in Mesa 3.5,
    seeds go there, `batch_run(Federation, {"scenario": scenario}, rng=[1, 2])`.

    `model.agents` are the owners, to select, get, set and aggregate as in any Mesa model.  Owners can be added and
    removed between steps (`Owner(model, profile)`, `owner.remove()`).  Reporters of one's own go into a subclass or a
    `mesa.DataCollector` put in place of `datacollector`; columns of the frames into the scenario's `columns`.

    Parameters
    ----------
    scenario : Scenario
        Who plays, for what, under which rule, for how long.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        super().__init__(scenario, seed)
        say_empty(scenario)
        say_only_ranked(scenario)
        self.recorder = Recorder(scenario.keep, scenario.columns, self._sample)
        self.datacollector = mesa.DataCollector(model_reporters=_REPORTERS)
        self.progress: list[Progress] = []
        self._order = generator(self.seed, "activation")
        self._attendance = generator(self.seed, "participation")
        self._learning = False
        #: whether anybody has tampered with its update so far
        self.attacked = False
        #: whether the mechanism asks for quotas and nobody follows them
        self.unheeded = False
        #: whether payments were estimated from samples so far
        self.sampled = False
        #: what these bring every owner
        self._paid = np.zeros(len(self.population))
        #: what models were worth at most that owners were handed in the last step; infinity: the full one
        self._promised: Array | None = None
        #: what all updates of every owner have revealed so far, as the sum of 1 / noise^2
        self._revealed: Array = np.zeros(len(self.population))
        self._began = time.perf_counter()
        #: when each step was complete, in seconds since the beginning
        self.seconds: list[float] = []

    def step(self) -> None:
        """One round: owners decide on what was announced, the model is learned, the server settles, owners receive."""
        self.population.arrive(self.steps)
        self.population.begin()
        if self.sight is not None:
            self.sight.look_again()
        self.attend()
        before, snapshot = self.population.effort(), self.population.snapshot()
        acted = self.decide()
        self.be_late()
        present = self.population.present
        made = self.learn(before)
        worth = self.judge(present)
        outcome = self.settle(present, worth)
        worth = self.deliver(present, outcome, worth)
        self.record(present, outcome, made)
        self.receive(present, outcome, worth)
        self.moved = self.population.moved(snapshot)
        round = self.round()
        self.watch(acted, round)
        self.collect(round)

    def stream(self, folder: str | Path) -> Federation:
        """Write rows of owners and transfers to this folder while the run goes on, so that memory stays bounded.

        Frames are those of any other run, and `fedabm.save` writes them without reading all of them at once:

            save(Federation(scenario).stream("rows").run().frames(), "results/large")
        """
        self.recorder.stream(folder)
        self.ledger.stream(folder)
        return self

    def run(self, *watchers: Watcher) -> Federation:
        """Step until the run ends by itself, with a bar in a notebook; watchers are told of every step."""
        facts = {"mechanism": self.scenario.mechanism, "accuracy": self.scenario.accuracy}
        begun = RunBegun(type(self.scenario.mechanism).__name__, self.seed, done=self.steps, facts=facts)
        bar = notebook_bar(begun.label, self.scenario.steps, self.steps)
        with watched(watchers, begun) as tell, bar as advance:
            while self.running:
                self.step()
                tell(self)
                advance()
        return self

    def export_model(self, owner: int | str | None = None) -> Any:
        """The present model as a module of PyTorch, to go on with it elsewhere.

        Parameters
        ----------
        owner
            The number or name of an owner: the model that it holds, worse where the mechanism promised it less.  None:
            the model that all share.

        Returns
        -------
        torch.nn.Module
            A copy on the CPU, in evaluation mode; `.state_dict()` has its weights.
        """
        row = None if owner is None else self.row_of(owner)
        promised = np.inf if row is None or self._promised is None else float(self._promised[row])
        given = self.population.effort().padded(self.training.owners or len(self.population)).contribution
        training, state = self.training.unwrap(self.state)
        return training.exported(state, given, row, promised)

    @property
    def makes_models(self) -> str:
        """Which models there are to export: "none", "shared" by all, or everybody's "own"."""
        return self.training.unwrap(self.state)[0].models

    @property
    def own_models(self) -> list[int]:
        """The owners that hold another model than the one that all share."""
        people = self.population
        there = [int(row) for row in np.flatnonzero(people.stayed)]
        if self.makes_models == "own":
            return there
        return [row for row in there if self._promised is not None and self._promised[row] < np.inf]

    def __repr__(self) -> str:
        rule, state = brief(self.scenario.mechanism), "running" if self.running else "ended"
        where = f"step {self.steps:,} of at most {self.scenario.steps:,}, {state}"
        return f"Federation({len(self.population):,} owners, {rule}, seed {self.seed}: {where})"

    def _repr_html_(self) -> str:
        people = self.population
        rows = [
            {
                "owner": people.names[row] or row,
                "strategy": type(people.strategies[row]).__name__,
                "contribution": people.contribution[row],
                "payment": people.payment[row],
                "utility": people.utility[row],
            }
            for row in range(min(len(people), MOST_ROWS))
        ]
        return as_html(repr(self), rows, total=len(people))

    # The phases of a round

    def attend(self) -> None:
        """Note who takes part in this round; the others do and claim nothing."""
        people, rule = self.population, self.scenario.participation
        if not rule.constant:
            people.attend(rule.there(self.steps, people.stayed.copy(), self._attendance))

    def be_late(self) -> None:
        """Note how much of late updates counts."""
        people = self.population
        weights = self.scenario.participation.weights(people.contribution, self._attendance)
        if weights is not None:
            people.discount = 1.0 - weights

    def decide(self) -> Members:
        """Let the owners act, batch by batch, each on its own view; say who acted."""
        acted: list[Members] = [np.empty(0, dtype=np.intp)]
        for batch in self.scenario.activation.batches(self.population.stayed.copy(), self._order):
            present = self.population.present
            if not len(present):
                break
            if len(present) < len(self.population):
                batch = batch[self.population.stayed[batch]]  # agents may remove each other
            if not self.scenario.participation.constant:
                batch = batch[~self.population.absent[batch]]
            reports, oracle = self.announce(present)
            offers = self.server.announce(reports, oracle)
            public: dict[str, Any] = {
                "curve_known": oracle.tells,
                "frozen": self.training.frozen(self.state),
                "present": len(present),
            }
            public["total"] = float(reports.contribution.sum())
            quotas = self.scenario.mechanism.quotas(reports)
            shown = partial(self._shown, present, offers, quotas, public)
            for alone, turns in groupby(self.population.turns(batch), key=attrgetter("cohort.alone")):
                (self._ask_agents if alone else self._ask)(list(turns), shown)
            acted.append(batch)
            self.unheeded = quotas is not None and not self.population.as_asked
        say_unheeded(self.scenario, unheeded=self.unheeded)
        return np.concatenate(acted)

    def _places(self, members: Members, present: Members) -> Members:
        """Where some owners stand among those present."""
        if len(members) == len(present):
            return present
        return members if len(present) == len(self._people) else np.searchsorted(present, members)

    def _shown(
        self, present: Members, offers: Offers, quotas: Array | None, public: dict[str, Any], members: Members
    ) -> Seen:
        """What some owners are shown beside their own facts and experience."""
        rows = self._places(members, present)
        mine = offers if rows is present else offers.take(rows)
        quota = quotas if quotas is None or rows is present else quotas[rows]
        return Seen(mine, quota, None if self.sight is None else self.sight.view(members), public)

    def _ask(self, turns: list[Turn], shown: Callable[[Members], Seen]) -> None:
        """Ask strategies, cohort by cohort, and do what they say; failures are told with class, owner and step."""
        people = self.population
        for turn in turns:
            seen, strategy = shown(turn.members), turn.cohort.strategy
            rng, experience = people.streams(turn), people.recent_experience(turn.members)
            own = {"quota": seen.quota, "rejected": people.unusable_of(turn.members)}
            view = turn.view(self.steps, seen.offers, rng, experience, seen.neighbours, **own, **seen.public)
            self.note(view)
            with as_user_error(strategy, turn.members, f"in step {self.steps}"):
                people.apply(turn, strategy.act(view), rng)

    def _ask_agents(self, turns: list[Turn], shown: Callable[[Members], Seen]) -> None:
        """Ask agents that decide for themselves, unless somebody has removed them in this step."""
        deciding = self._deciding = AgentTurns(self.population, turns, self.steps, shown)
        when = f"in step {self.steps}"
        try:
            for turn, view in deciding.views():
                agent = self._seated.get(int(turn.members[0]))
                if agent is None:
                    continue
                self.note(view)
                try:
                    deciding.decided(turn, agent.decide(view), view.rng)
                except Exception as error:
                    raise_as_user_error(error, agent, turn.members, when)
        finally:
            deciding.carry_out()
            self._deciding = None

    def note(self, view: OwnerView) -> None:
        """What some owners see, before they act on it: for whoever watches them."""

    def learn(self, before: Effort) -> RoundResult:
        """One round of training."""
        people, training, known = self.population, self.training, self.state
        seats = training.owners or len(people)
        measured = people.measures and not training.frozen(known)
        tampering = people.tampering(self.steps)
        efforts = before.padded(seats), people.effort().padded(seats)
        messages = OwnerMessages(*efforts, tampering, measured, keep=self.scenario.knows.keeps_updates)
        if tampering and not self.attacked:
            self.attacked = True
            say_unattackable(self.scenario)
        self.state, made = training.round(known, messages)
        people.tampered(tampering)
        self._note_privacy(messages, made)
        people.dropped = made.dropped[: len(people)]
        seen = made.progress if measured else None
        people.progress = np.broadcast_to(0.0, len(people)) if seen is None else np.array(seen[: len(people)])
        self._learning = self.state is not known
        return made

    def _note_privacy(self, messages: OwnerMessages, made: RoundResult) -> None:
        """Add up what the updates of this round reveal: 1 / noise^2 each, infinity without noise."""
        if self.makes_models == "none":
            return
        uploads = made.uploads
        if uploads is None:  # every round of a training that begins afresh
            rounds = getattr(self.training.unwrap(self.state)[0], "rounds", None) or 1
            uploads = rounds * (messages.now.contribution > 0)
        loss = np.full(len(uploads), np.inf)
        for group in messages.tampering:
            loss[group.members] = group.loss
        loss[messages.now.contribution <= 0] = 0.0  # nothing of the data is in what is sent
        revealed = np.multiply(uploads, loss, out=np.zeros(len(uploads)), where=uploads > 0)[: len(self.population)]
        self._revealed = revealed + np.pad(self._revealed, (0, len(revealed) - len(self._revealed)))

    def settle(self, present: Members, accuracy: Array) -> Outcome:
        """The server applies its mechanism to the reports and to what it saw for itself."""
        if not len(present):
            return Outcome.empty()
        self._judged = (present, accuracy)
        reports, rule, knows = self.reports(present), self.scenario.mechanism, self.scenario.knows
        known = self.know(reports, knows.after)
        oracle = self.among(present, known.worth, "known")
        asked = {"with_losses": rule.asks_losses}
        models = sent(self.training, self.state, present, reports, **asked) if knows.shows_single else None
        evidence = Evidence(self.population.unusable_of(present, updates=knows.shows_single), accuracy)
        outcome = self.server.settle(ServerView(self.steps, reports, oracle, models, evidence, known))
        if not self.sampled and outcome.offers.payment.sampled:
            self.sampled = True
            say_estimated(self.scenario)
        return outcome

    def deliver(self, present: Members, outcome: Outcome, worth: Array) -> Array:
        """Where everyone has a model of its own the server sends back what each is to train on next; its new worth."""
        if outcome.exchange is None:
            return worth
        self.state = deliver(self.training, self.state, present, outcome.exchange)
        return self.judge(present)

    def judge(self, present: Members) -> Array:
        """What each owner's model, or the one that all share, is worth to it on the true contributions."""
        if not len(present):
            return np.zeros(0)
        return self.oracle(present).values(self.population.given(present)[None])[0]

    def record(self, present: Members, outcome: Outcome, made: RoundResult) -> None:
        """Book the transfers, what was sent, and who imports whose model."""
        table = outcome.adjacency
        imported = None if outcome.exchange is None else outcome.exchange.imported
        self._links = None if table is None else Links(self.steps, len(self.population), present, table, imported)
        there = np.where(self.population.absent[present], 0.0, outcome.access)
        self._traffic = traffic_of(made.uploads, self.training.model_bytes, there, outcome.exchange)
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
        people, everybody = self.population, len(present) == len(self.population)
        handed = self.hand_out(present, outcome, accuracy)
        paid = self._paid if everybody else self._paid[present]
        value, private = self.scenario.valuation, people.private(present)
        people.receive(present, receive(outcome, accuracy, value, private, handed=handed, payment=paid), self._paid)
        if self.sight is not None:
            self.sight.show(people.stayed, people.claimed, people.claimed_size, people.accuracy, people.payment)

    def hand_out(self, present: Members, outcome: Outcome, accuracy: Array) -> Array:
        """What the models are worth that owners are handed: the full one, or one that is as much worse as it says."""
        promised = outcome.access * accuracy
        worse = outcome.access < 1.0
        self._promised = np.full(len(self.population), np.inf)
        if np.any(worse):
            self._promised[present[worse]] = self.oracle(present).accuracy_of(promised)[worse]
            wanted = present[worse], self.population.contribution, promised[worse]
            promised[worse] = self.training.hand_out(self.state, *wanted)
        return promised

    def watch(self, acted: Members, round: Round) -> None:
        """Note whether everybody has acted since anybody last moved, and ask the stopping rule.

        In the first step nobody knows yet what it gains, so that standing still says nothing.  Nor does it while
        owners draw random numbers or learn, while the model does, or while debts or newcomers are awaited.
        """
        people = self.population
        unsettled = people.restless or self._learning or self.treasury.waiting or self.steps == 1
        unsettled |= not self.scenario.participation.constant
        if self.moved > self.scenario.tolerance or unsettled:
            self._quiet[:] = False
        else:
            self._quiet[acted] = True
        self.at_rest = bool(np.all(self._quiet | ~people.stayed)) and not people.awaited(self.steps)
        self._gap = None
        given, welfare = float(round.total("contribution")), float(round.total("utility"))
        self.progress.append(Progress(self.steps, self.at_rest, given, welfare))
        self.running = self.steps < self.scenario.steps and not self.scenario.stopping.ends(self.progress)

    def collect(self, round: Round) -> None:
        """Keep what the scenario asked to keep of this step."""
        self.seconds.append(time.perf_counter() - self._began)
        self.recorder.keep(round, self.population)
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

    @property
    def links(self) -> list[Links]:
        """Who imported whose model, in every step that is kept; nothing where all share one model."""
        return self.recorder.links

    def frames(self, label: str = "", parameters: dict[str, Any] | None = None) -> Frames:
        """The run so far as tidy frames; the last complete step is always included.

        Rows that were streamed are read when they are asked for.
        """
        whole = bool(self.steps) and not self._torn
        row = run_row(
            self.status,
            parameters or {},
            self.scenario.mechanism,
            self.scenario.accuracy,
            label=label or type(self.scenario.mechanism).__name__,
            scenario=self.scenario.name,
            seed=self.seed,
            owners=len(self.population),
            steps=self.recorder.step,
            converged=not self._torn and self.converged,
            gap=self.gap if whole else np.nan,
            found=self.found if whole else np.nan,
            knowledge=self.scenario.knows.kind(self.scenario.accuracy),
            knowledge_error=np.nan if self.known is None or self.known.error is None else self.known.error,
            knowledge_cost=self.known_cost,
            without_effect=without_effect(self.scenario, attacked=self.attacked, unheeded=self.unheeded),
            estimated=estimated(self.scenario, sampled=self.sampled),
            machine=self.training.machine,
            wall_time=time.perf_counter() - self._began,
        )
        people, seen = self.population, self.recorder
        owners, transfers = seen.table(people), self.ledger.table(seen.latest)
        small = {"runs": run_frame(row), "steps": seen.step_frame(), "strategies": seen.strategy_frame(people)}
        small["imports"] = seen.import_frame()
        if isinstance(owners, LongTable) or isinstance(transfers, LongTable):
            return Frames.join([Streamed(owners=owners, transfers=transfers, **small)])
        return Frames.join([Frames(owners=owners, transfers=transfers, **small)])


def _reported(model: Federation, name: str) -> Any:
    """A column of the steps, as Mesa's DataCollector reads it."""
    return model.recorder.value(name) if model.recorder.step == model.steps else model.value(name)


#: every column of the steps is one of Mesa's model reporters
_REPORTERS = {entry.name: partial(_reported, name=entry.name) for entry in columns_of("steps")}
