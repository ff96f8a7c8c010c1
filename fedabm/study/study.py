"""What a scenario script works with: it runs models, keeps frames, tables and pictures, and saves them together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx
import pandas as pd
from matplotlib.figure import Figure

from fedabm.common.console import wide_console
from fedabm.common.device import deterministic, precision, used
from fedabm.common.errors import FedabmError, InputError, Interrupted
from fedabm.common.progress import following, track
from fedabm.common.random import check_seed
from fedabm.common.texts import visible
from fedabm.common.timing import timed
from fedabm.results.frames import Frames, versions
from fedabm.results.graphs import write_graphml
from fedabm.results.store import save
from fedabm.results.tables import write_table
from fedabm.simulation.checkpoint import Keeper
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.watching import RunBegun, Watcher, watched
from fedabm.solving.game import Game
from fedabm.study.equilibria import equilibrium_frames
from fedabm.study.models import model_files
from fedabm.study.tables import shown_table

__all__ = ["ROWS", "Study"]

#: of as many runs, and runs of as many owners, the scenarios are kept for a description of the model
_KEPT, _KEPT_OWNERS = 50, 1_000_000
#: how the names of the folders end in which runs stream their rows; they begin with the names of their checkpoints
ROWS = ".rows"

Item = TypeVar("Item")


class Study:
    """The runs, tables and pictures of one scenario script.

    Parameters
    ----------
    name : str
        The scenario's name.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    steps : int | None, optional
        The most steps of a run; None: the scenario's own.
    parameters : dict[str, Any] | None, optional
        What `--set` has changed.
    quiet : bool, optional
        Whether nothing is printed.
    """

    def __init__(
        self,
        name: str,
        seed: int = 0,
        steps: int | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        check_seed(seed)
        if steps is not None and steps < 1:
            raise InputError(f"steps must be a positive whole number, got {steps}; give for instance --steps 100")
        self.name = name
        self.seed = seed
        self.steps = steps
        self.parameters = parameters or {}
        #: what it asks, for reports
        self.question = ""
        self.console = wide_console(160, quiet=quiet)
        self.quiet = quiet
        #: where and after how many seconds each run is saved while it goes on, so that a study that was killed goes on
        self.saved: Path | None = None
        self.save_every: float | None = None
        #: where trained oracles may keep their results while the study goes on; FEDABM_TRAINED: for all studies
        self.scratch: Path | None = Path(os.environ["FEDABM_TRAINED"]) if "FEDABM_TRAINED" in os.environ else None
        #: fields of `Recording` that replace those of every scenario: what the frames keep of a run
        self.keep: dict[str, Any] = {}
        #: whether the trained models of every run are saved, too
        self.save_models = False
        #: what else the manifest says, by name
        self.facts: dict[str, Any] = {}
        #: who is told of every step of every run
        self.watchers: list[Watcher] = []
        #: the first scenarios that were simulated, by label, and whether there were more
        self.scenarios: list[tuple[str, Scenario]] = []
        self.more_scenarios = False
        self._begun = 0
        self._frames: list[Frames] = []
        self._tables: dict[str, pd.DataFrame] = {}
        self._titles: dict[str, str] = {}
        self._shown: list[str] = []
        self._pictures: dict[str, Figure] = {}
        self._graphs: dict[str, nx.DiGraph] = {}
        self._texts: dict[str, str] = {}
        self._models: dict[str, Callable[[Path], object]] = {}
        #: in which formats pictures are saved
        self.formats: tuple[str, ...] = ("png",)

    def simulate(self, scenario: Scenario, label: str = "", seed: int | None = None) -> Federation:
        """Run a scenario to its end, with a progress bar, tell the watchers, and keep its frames."""
        steps = self.steps or scenario.steps
        scenario = replace(scenario, name=self.name, steps=steps, record=replace(scenario.keep, **self.keep))
        self._begun += 1
        keeper = self._keeper()
        seed = self.seed if seed is None else seed
        model = keeper.begun(scenario, seed) if keeper else Federation(scenario, seed)
        label = label or type(scenario.mechanism).__name__
        self._remember(label, scenario)
        begun = self._run_begun(model, label)
        try:
            with self._following(label, steps, model.steps) as advance, watched(self.watchers, begun) as tell:
                while model.running:
                    model.step()
                    tell(model)
                    advance()
                    if keeper:
                        keeper.keep(model)
            if keeper:
                keeper.end(model)
            if self.save_models:
                run = sum(len(frames.runs) for frames in self._frames)
                self._models |= model_files(model, run, label, self.note)
            frames = model.frames(label, self.parameters)
        except KeyboardInterrupt:
            self.add(model.frames(label, self.parameters))
            raise Interrupted from None
        except FedabmError:  # a strategy of the user's own has failed; what was recorded until then is kept
            self.add(model.frames(label, self.parameters))
            raise
        self.add(frames)
        return model

    def _remember(self, label: str, scenario: Scenario) -> None:
        """Keep a scenario, unless the same was run with another seed, or enough are kept already."""
        owners = sum(len(one.owners) for _, one in self.scenarios) + len(scenario.owners)
        if label in dict(self.scenarios):
            return
        if len(self.scenarios) < _KEPT and owners <= _KEPT_OWNERS:
            self.scenarios.append((label, scenario))
        else:
            self.more_scenarios = True

    def _keeper(self) -> Keeper | None:
        """Where the next run and its rows are kept while it goes on: beside `saved`, with a number of its own.

        Jobs of a sweep share the folder of `saved` but not its name, so that no two runs stream to the same place.
        """
        if self.saved is None or self.save_every is None:
            return None
        path = self.saved.with_name(f"{self.saved.stem}-{self._begun}{self.saved.suffix}")
        identity = json.dumps([self.name, self.parameters, self.seed, self.steps, self._begun])
        return Keeper(path, self.save_every, identity, rows=path.with_name(f"{path.name}{ROWS}"))

    def solve(self, game: Game, label: str = "", **options: Any) -> Any:
        """Solve a game (see `fedabm.solving.equilibrium.solve`) and keep the equilibrium's frames."""
        from fedabm.solving.equilibrium import solve

        found = solve(game, **options)
        label = label or type(game.mechanism).__name__
        self.add(equilibrium_frames(game, found, label, self.name, self.parameters, self.seed))
        return found

    def _run_begun(self, model: Federation, label: str) -> RunBegun:
        facts = {"study": self.name, "mechanism": model.scenario.mechanism, **self.parameters}
        return RunBegun(label, model.seed, self._begun, model.steps, facts)

    def _following(self, label: str, total: int, done: int) -> AbstractContextManager[Callable[[], None]]:
        return following(label, total, done, console=self.console, quiet=self.quiet)

    def track(self, items: Sequence[Item], label: str) -> Iterator[Item]:
        """Go through the items of a long piece of work, with a progress bar, or lines where there is no terminal."""
        return track(items, label, console=self.console, quiet=self.quiet)

    def add(self, frames: Frames) -> None:
        """Keep the frames of a run."""
        self._frames.append(frames)

    @property
    def frames(self) -> Frames:
        """The frames of all runs so far."""
        return Frames.join(self._frames)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables so far, by name."""
        return dict(self._tables)

    def as_dict(self) -> dict[str, Any]:
        """The tables as plain data, by name: their titles, and their rows with all digits."""
        return {
            name: {
                "title": self._titles[name],
                "rows": json.loads(frame.to_json(orient="records", double_precision=15)),
            }
            for name, frame in self._tables.items()
        }

    def note(self, text: str) -> None:
        """Print a line."""
        self.console.print(visible(text), highlight=False, markup=False)

    def table(self, frame: pd.DataFrame, title: str, name: str = "summary", *, shown: bool = True) -> None:
        """Keep a table, to be saved as NAME.csv, and print it unless it is not to be shown."""
        again = bool(self._shown)
        self._tables[name], self._titles[name] = frame, title
        if shown:
            self._shown.append(name)
            self.console.print(*([""] if again else []), shown_table(frame, title), sep="\n")

    def picture(self, figure: Figure, name: str = "figure") -> None:
        """Keep a figure, to be saved as NAME.png."""
        self._pictures[name] = figure

    def text(self, text: str, name: str) -> None:
        """Keep a text, to be saved under this name."""
        self._texts[name] = text

    def graph(self, graph: nx.DiGraph, name: str = "graph") -> None:
        """Keep a graph, to be saved as NAME.graphml."""
        self._graphs[name] = graph

    @timed("pictures and files")
    def save(self, folder: str | Path, command: str = "", *, complete: bool = True) -> list[Path]:
        """Write frames, tables, pictures and manifest into a folder; return the paths."""
        manifest = {
            "scenario": self.name,
            "question": self.question,
            "parameters": self.parameters,
            "seed": self.seed,
            "steps": self.steps,
            "repeat": command,
            "complete": complete,
            "tables": self._titles,
            "versions": versions(),
            "devices": used(),
            "deterministic": deterministic(),
            "precision": precision(),
            **{name: _said(self.frames.runs, name) for name in ("without_effect", "estimated")},
            **self.facts,
        }
        tables = {f"{name}.csv": partial(write_table, frame) for name, frame in self._tables.items()}
        pictures = {
            f"{name}.{kind}": partial(_draw, figure, kind)
            for name, figure in self._pictures.items()
            for kind in self.formats
        }
        texts = {name: partial(_put, text) for name, text in self._texts.items()}
        graphs = {f"{name}.graphml": partial(write_graphml, graph) for name, graph in self._graphs.items()}
        paths = save(self.frames, folder, manifest, {**tables, **pictures, **graphs, **texts, **self._models})
        self.close()
        return paths

    def close(self) -> None:
        """Let pyplot forget the pictures; it would keep every one that it has made."""
        import matplotlib.pyplot as plt  # slow to import

        for figure in self._pictures.values():
            plt.close(figure)

    @property
    def empty(self) -> bool:
        """Whether nothing has been recorded yet."""
        return not any(len(frames.steps) for frames in self._frames)


def _said(runs: pd.DataFrame, column: str) -> list[str]:
    """What runs say in a column of words, each text once."""
    return sorted({str(text) for text in runs[column].dropna()} - {""}) if column in runs else []


def _draw(figure: Figure, kind: str, path: Path) -> None:
    figure.savefig(path, format=kind, dpi=150, bbox_inches="tight")


def _put(text: str, path: Path) -> None:
    path.write_text(text, "utf-8")
