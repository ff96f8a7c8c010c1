"""What a scenario script would run, without running it."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple, NoReturn

from fedabm.common.errors import InputError
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.study.study import Study

__all__ = ["PlannedRuns", "planned_runs"]


class PlannedRuns(NamedTuple):
    """A run that a script asked for: what, and what it calls it."""

    what: Scenario | Game
    label: str


def planned_runs(name: str, run: Any, parameters: dict[str, Any], seed: int, most: int = 1) -> list[PlannedRuns]:
    """The first runs that a script would simulate or solve, at most this many, up to where it wants to see a result."""
    study = _Overhearing(name, seed, most)
    with contextlib.suppress(_Enough):
        run(study, **parameters)
    if not study.heard:
        raise InputError(f"{name} neither simulates nor solves anything itself; give a game in TOML instead")
    return study.heard


class _Enough(Exception):
    """There is nothing more to hear."""


class _Unknown:
    """The result of a run that was never carried out: whoever looks at it has asked for all that could be heard."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _Enough


class _Overhearing(Study):
    """A study that does nothing but note what it was to do."""

    def __init__(self, name: str, seed: int, most: int) -> None:
        super().__init__(name, seed, quiet=True)
        self.heard: list[PlannedRuns] = []
        self._most = most

    def simulate(self, scenario: Scenario, label: str = "", seed: int | None = None) -> Any:
        """Note it; runs with further seeds are the same again."""
        if seed not in (None, self.seed):
            raise _Enough
        return self._note(PlannedRuns(scenario, label))

    def solve(self, game: Game, label: str = "", **options: Any) -> Any:
        """Note it."""
        return self._note(PlannedRuns(game, label))

    def _note(self, heard: PlannedRuns) -> _Unknown:
        self.heard.append(heard)
        if len(self.heard) >= self._most:
            raise _Enough
        return _Unknown()

    def _ends(self, *given: Any, **more: Any) -> NoReturn:
        raise _Enough

    frames = property(_ends)
    tables = property(_ends)
    table = picture = text = graph = _ends
