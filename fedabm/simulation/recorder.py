"""Keeps what the frames show of a run: rows of owners and columns of steps, as the table of columns has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.common.state import TEXT, WHOLE, Dict, FrozenRecord, Many, Maybe, Numbers, Stateful, StatePart
from fedabm.results.columns import COLUMNS, Column, columns_of, filled
from fedabm.results.frames import NAMED, no_rows
from fedabm.results.keep import Recording
from fedabm.results.links import LINKS, Links
from fedabm.results.round import Round
from fedabm.results.streams import ROWS, LongTable, Stream
from fedabm.simulation.population import Population
from fedabm.simulation.saved import SCALAR, TRANSFERS
from fedabm.views import INFORMATION, Transfers

__all__ = ["Recorder"]

#: names of the owners, kept as numbers, and where the round has these
_CODED = {"strategy": "strategy_codes", "information": "information"}


class _Step(NamedTuple):
    """What is kept of a step: its transfers, the owners' columns, its own values, sums by strategy, and imports."""

    step: int
    transfers: Transfers
    owners: dict[str, np.ndarray]
    values: dict[str, Any]
    sums: dict[str, np.ndarray]
    links: Links | None


_STEP = FrozenRecord(
    _Step,
    step=WHOLE,
    transfers=TRANSFERS,
    owners=Dict(TEXT, Numbers()),
    values=Dict(TEXT, SCALAR),
    sums=Dict(TEXT, Numbers()),
    links=Maybe(LINKS),
)


class Recorder(Stateful):
    """Keeps of a run what `keep` says, of the owners in `sample` (None: of all), with the scenario's own `columns`.

    Where there is a folder to stream to, rows of owners go there as soon as they are many.
    """

    _changing: ClassVar = {"_kept": Many(_STEP), "_last": Maybe(_STEP), "_written": WHOLE, "_stream": StatePart(Stream)}
    _remade = frozenset({"choice", "columns", "sample"})

    def __init__(
        self, keep: Recording, columns: Sequence[Column] = (), sample: NDArray[np.int64] | None = None
    ) -> None:
        self.choice = keep
        self.columns = tuple(columns)
        self.sample = sample
        self._kept: list[_Step] = []
        self._last: _Step | None = None
        self._stream = Stream("owners")
        #: how many of the steps kept have their owners on disk
        self._written = 0

    def stream(self, folder: str | Path) -> None:
        """Write rows of owners to this folder from now on."""
        self._stream.open(folder)

    @property
    def step(self) -> int:
        """The last step that is complete, 0 before the first."""
        return self._last.step if self._last else 0

    @property
    def values(self) -> dict[str, Any]:
        """The columns of the last complete step, the scenario's own among them."""
        return dict(self._last.values) if self._last else {}

    @property
    def owners(self) -> dict[str, np.ndarray]:
        """The owners' columns of the last complete step; those that are 0 for everybody may be left out."""
        return dict(self._last.owners) if self._last else {}

    def value(self, name: str) -> Any:
        """One of them."""
        return self._last.values[name] if self._last else np.nan

    @property
    def latest(self) -> tuple[int, Transfers]:
        """The last complete step and its transfers."""
        return (self._last.step, self._last.transfers) if self._last else (0, _NOTHING)

    def wants(self, step: int) -> bool:
        """Whether this step is to be kept."""
        return self.choice.wants(step)

    def keep(self, round: Round, people: Population) -> None:
        """Keep a round: for good if it is wanted, else until the next."""
        owners = self._owners(round)
        values = {entry.name: entry.of(round).item() for entry in columns_of("steps", self.columns)}  # type: ignore[union-attr]
        self._last = _Step(round.step, round.transfers, owners, values, self._sums(round), round.links)
        if self.wants(round.step):
            self._make_room(people, len(owners["owner"]))
            self._kept.append(self._last)

    def _owners(self, round: Round) -> dict[str, np.ndarray]:
        """The owners' columns of a round, one entry per owner; those that are 0 for everybody are left out."""
        found = {entry.name: entry.of(round) for entry in columns_of("owners")}
        # Functions of the user's own may go on to write to what they gave.
        found |= {entry.name: _copied(entry.of(round)) for entry in self.columns if entry.frame == "owners"}
        found |= {name: getattr(round, codes) for name, codes in _CODED.items()}
        known = {name: values for name, values in found.items() if values is not None}
        return known if self.sample is None else {name: values[self.sample] for name, values in known.items()}

    def _make_room(self, people: Population, rows: int) -> None:
        """Bring the owners of the steps before to disk if this many more rows would be too many."""
        held = self._kept[self._written :]
        if not self._stream.folder or sum(len(part.owners["owner"]) for part in held) + rows <= ROWS:
            return
        if any(len(part.owners["owner"]) for part in held):
            self._stream.put(self._frame(held, people), held[0].step)
        self._kept[self._written :] = [part._replace(owners={}, transfers=_NOTHING) for part in held]
        self._written = len(self._kept)

    def _sums(self, round: Round) -> dict[str, np.ndarray]:
        """Sums over the owners of each strategy that anybody has, if they are wanted."""
        if not self.choice.strategies:
            return {}
        had = np.flatnonzero(round.by_strategy())
        sums = {entry.name: entry.value(round)[had] for entry in columns_of("strategies")}  # type: ignore[misc]
        return {"strategy": had, **sums}

    def _steps(self) -> list[_Step]:
        """All steps kept, and the last complete one."""
        kept = [part for part in self._kept if part.step < self.step]
        return kept + ([self._last] if self._last else [])

    def table(self, population: Population) -> pd.DataFrame | LongTable:
        """The owners' rows, or where they lie."""
        rest = self._frame(self._steps()[self._written :], population)
        if not self._stream.files:
            return rest
        kinds = {name: rest[name].dtype for name in NAMED}
        return LongTable(self._stream, rest, lambda piece: piece.astype(kinds))

    def _frame(self, steps: Sequence[_Step], population: Population) -> pd.DataFrame:
        """The owners' rows of some steps."""
        columns: dict[str, Any] = {
            entry.name: _joined(entry, [(len(part.owners["owner"]), part.owners) for part in steps])
            for entry in columns_of("owners", self.columns)
        }
        codes = {name: np.concatenate([_NOBODY, *(part.owners[name] for part in steps)]) for name in _CODED}
        columns["run"] = np.zeros(len(columns["step"]), dtype=np.int64)
        columns["information"] = pd.Categorical.from_codes(codes["information"], categories=list(INFORMATION))
        columns["strategy"] = _named(codes["strategy"], population.labels)
        columns["role"] = _named(population.roles.codes[columns["owner"]], population.roles.values)
        columns["name"] = _named(population.names.codes[columns["owner"]], population.names.values)
        further = [entry.name for entry in self.columns if entry.frame == "owners"]
        return pd.DataFrame({name: columns[name] for name in (*COLUMNS["owners"], *further)})

    def strategy_frame(self, population: Population) -> pd.DataFrame:
        """Sums by strategy, if they are wanted."""
        steps = self._steps()
        if not self.choice.strategies or not steps:
            return no_rows("strategies")
        columns: dict[str, Any] = {name: np.concatenate([part.sums[name] for part in steps]) for name in steps[0].sums}
        rows = [len(part.sums["strategy"]) for part in steps]
        columns["step"] = np.repeat(np.array([part.step for part in steps], dtype=np.int64), rows)
        columns["run"] = np.zeros(len(columns["step"]), dtype=np.int64)
        columns["strategy"] = _named(columns["strategy"], population.labels)
        return pd.DataFrame({name: columns[name] for name in COLUMNS["strategies"]})

    @property
    def links(self) -> list[Links]:
        """Who imported whose model, in every step that is wanted."""
        return [part.links for part in self._kept if part.links is not None]

    def import_frame(self) -> pd.DataFrame:
        """Every import of a model, by those in the sample or from them."""
        linked = [part.links for part in self._steps() if part.links is not None]
        if not linked:
            return no_rows("imports")
        edges = pd.concat([pd.DataFrame(links.edges(self.sample)) for links in linked], ignore_index=True)
        return edges.assign(run=0)[list(COLUMNS["imports"])]

    def step_frame(self) -> pd.DataFrame:
        """The steps' rows."""
        rows = [part.values for part in self._steps()]
        columns = {"run": np.zeros(len(rows), dtype=np.int64)}
        for entry in columns_of("steps", self.columns):
            columns[entry.name] = np.array([row[entry.name] for row in rows], dtype=entry.dtype)
        return pd.DataFrame(columns)


_NOTHING = Transfers.central(np.zeros(0), "")


_NOBODY = np.zeros(0, dtype=np.intp)


def _copied(values: np.ndarray | None) -> np.ndarray | None:
    return None if values is None else values.copy()


def _joined(entry: Column, steps: Sequence[tuple[int, dict[str, np.ndarray]]]) -> np.ndarray:
    """A column of the owners in some steps, each with its number of rows."""
    none = np.zeros(0, dtype=entry.dtype)
    return np.concatenate([none, *(filled(entry, owners.get(entry.name), rows) for rows, owners in steps)])


def _named(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical:
    """Names by their places, as categories in alphabetical order."""
    seen, places = np.unique(np.array(names), return_inverse=True)
    return pd.Categorical.from_codes(places[codes], categories=pd.Index(seen))
