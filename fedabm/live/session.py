"""One or two runs on the same owners and seed, to be watched step by step: forward, back, and saved.  No browser."""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import replace
from pathlib import Path

from fedabm.common.errors import InputError, check_range
from fedabm.common.texts import visible
from fedabm.live.events import Event, events
from fedabm.live.moments import Moment, WatchedFederation
from fedabm.live.run_choice import RunChoice
from fedabm.live.setup import Setup, scenarios
from fedabm.report.page import write_report
from fedabm.results.frames import Frames, versions
from fedabm.results.store import save
from fedabm.simulation.scenario import Scenario

__all__ = ["Session", "WatchedRun", "fresh_folder"]


class WatchedRun:
    """The run of one mechanism, with all that was seen of it."""

    def __init__(self, label: str, scenario: Scenario, seed: int) -> None:
        self.label = label
        self.model = WatchedFederation(scenario, seed)
        self.moments: list[Moment] = []
        self.events: list[Event] = []
        people = self.model.population
        self.names = [visible(name) or f"owner {row}" for row, name in enumerate(people.names)]
        self.strategies = [people.labels[code] for code in people.codes]

    @property
    def scenario(self) -> Scenario:
        """What is run."""
        return self.model.scenario

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return not self.model.running

    def advance(self) -> None:
        """One more step of the run, if there is one."""
        if self.ended:
            return
        self.model.step()
        before = self.moments[-1] if self.moments else None
        self.moments.append(Moment.of(self.model))
        capacity = self.model.population.capacity
        self.events += events(before, self.moments[-1], self.names, capacity)
        if self.ended:
            self.events.append(Event(self.model.steps, "ended", -1, f"{self.label}: {self.status}"))

    @property
    def status(self) -> str:
        """How the run ended, or that it goes on."""
        if not self.ended:
            return "running" if self.moments else "not begun"
        return f"{self.model.status} after {self.model.steps} steps"

    def at(self, step: int) -> Moment | None:
        """The moment of a step; of the last one where the run was shorter, None before the first."""
        return self.moments[min(step, len(self.moments)) - 1] if step and self.moments else None

    def events_at(self, step: int) -> list[Event]:
        """What has happened up to a step, the latest first."""
        return [event for event in reversed(self.events) if event.step <= step]


class Session:
    """What one visitor of the page sees: the sides, and the step that is shown.

    A changed setup is another session, which begins at step 0: nothing of a run is ever shown under another one's name.

    Parameters
    ----------
    source : RunChoice
        What can be run and chosen.
    setup : Setup
        What was chosen.
    """

    def __init__(self, source: RunChoice, setup: Setup) -> None:
        self.source = source
        self.setup = replace(setup, source=source.where, settings=source.settings, step=0)
        made = scenarios(source, setup)
        self.sides = [WatchedRun(label, scenario, setup.seed) for label, scenario in made.items()]
        check_range("owner", setup.owner, 0, len(self.sides[0].names) - 1)
        self.step = 0

    @property
    def known(self) -> int:
        """How many steps have been run."""
        return max(len(side.moments) for side in self.sides)

    @property
    def ended(self) -> bool:
        """Whether all runs are over and the last step is shown."""
        return self.step == self.known and all(side.ended for side in self.sides)

    def advance(self) -> None:
        """Show the next step; run it if it has not been run yet."""
        if self.step == self.known:
            for side in self.sides:
                side.advance()
        self.step = min(self.step + 1, self.known)

    def show(self, step: int) -> None:
        """Go to a step, back or forward, as far as the runs go."""
        while self.known < step and not all(side.ended for side in self.sides):
            for side in self.sides:
                side.advance()
        self.step = min(max(step, 0), self.known)

    def follow(self, owner: int) -> None:
        """Follow another owner."""
        check_range("owner", owner, 0, len(self.sides[0].names) - 1)
        self.setup = replace(self.setup, owner=owner)

    @property
    def state(self) -> Setup:
        """All that repeats what is shown now."""
        return replace(self.setup, step=self.step)

    def frames(self) -> Frames:
        """The runs as far as they have been run."""
        return Frames.join([side.model.frames(side.label) for side in self.sides])

    def save(self, folder: str | Path) -> Path:
        """Frames, report and state into a new folder; return the report."""
        if not self.known:
            raise InputError("there is nothing to save yet, got 0 steps; play first")
        folder, state = Path(folder), self.state
        manifest = {
            "scenario": self.source.name,
            "parameters": {},
            "seed": state.seed,
            "steps": state.steps,
            "repeat": f"fedabm live {shlex.quote(str(folder / 'live.toml'))}" if state.source else "",
            "complete": True,
            "tables": {},
            "versions": versions(),
        }
        save(self.frames(), folder, manifest, {"live.toml": lambda path: path.write_text(state.text(), "utf-8")})
        return write_report(folder)


def fresh_folder(parent: Path, name: str) -> Path:
    """The first of live-NAME, live-NAME-2, ... that is free."""
    names = itertools.chain([f"live-{name}"], (f"live-{name}-{k}" for k in itertools.count(2)))
    return next(parent / one for one in names if not os.path.lexists(parent / one))
