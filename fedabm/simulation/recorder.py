"""Keeps what the frames show of a run: rows of owners and columns of steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.common.errors import InputError
from fedabm.results.columns import COLUMNS, Column
from fedabm.results.frames import LINKED, NAMED, no_rows
from fedabm.results.keep import Keep
from fedabm.results.streams import ROWS, LongTable, Stream
from fedabm.simulation.links import Links
from fedabm.simulation.population import Population
from fedabm.views import INFORMATION, Transfers

__all__ = ["Recorder"]

#: columns of whole numbers
_COUNTS = ("step", "present", "rejected")
#: columns of the owners' frame that are columns of the population, by the names they have there
_KEPT = {
    "capacity": "capacity",
    "contribution": "contribution",
    "reported_contribution": "claimed",
    "reported_size": "claimed_size",
    "accuracy": "accuracy",
    "best_accuracy": "best",
    "gain": "gain",
    "cost": "cost_paid",
    "owed": "owed",
    "payment": "payment",
    "money": "money",
    "utility": "utility",
    "stayed": "stayed",
    "information": "information",
}


#: sums by strategy, and the columns of the population that are summed
_SUMMED = {
    "contribution": "contribution",
    "reported_contribution": "claimed",
    "cost": "cost_paid",
    "payment": "payment",
    "utility": "utility",
}


class Recorder:
    """Keeps of a run what `keep` says, of the owners in `sample` (None: of all), with the scenario's own `columns`.

    Where there is a folder to stream to, rows of owners go there as soon as they are many.
    """

    def __init__(
        self,
        keep: Keep,
        columns: Sequence[Column] = (),
        sample: NDArray[np.int64] | None = None,
        *,
        with_cost: bool,
    ) -> None:
        self.choice = keep
        self.columns = tuple(columns)
        self.sample = sample
        self.with_cost = with_cost
        self._kept: list[_Step] = []
        self._last: _Step | None = None
        self._stream = Stream("owners")
        #: how many of the steps kept have their owners on disk
        self._written = 0
        #: the kinds of the scenario's own columns, wide enough for all steps
        self._kinds: dict[str, str] = {}

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
    def latest(self) -> tuple[int, Transfers]:
        """The last complete step and its transfers."""
        return (self._last.step, self._last.transfers) if self._last else (0, _NOTHING)

    def wants(self, step: int) -> bool:
        """Whether this step is to be kept."""
        return self.choice.every is not None and step % self.choice.every == 0

    def keep(self, model: Any, transfers: Transfers, links: Links | None, values: dict[str, float]) -> None:
        """Keep a step of the model: for good if it is wanted, else until the next."""
        owners = self.owners(model.steps, model.population) | ({} if links is None else links.columns)
        owners |= {column.name: self._own(column, model) for column in self.columns if column.frame == "owners"}
        further = {column.name: self._own(column, model) for column in self.columns if column.frame == "steps"}
        if self.sample is not None:
            owners = {name: column[self.sample] for name, column in owners.items()}
        self._last = _Step(model.steps, transfers, owners, values | further, self._sums(model.population))
        if self.wants(model.steps):
            self._make_room(model.population, len(owners["owner"]))
            self._kept.append(self._last)

    def _make_room(self, people: Population, rows: int) -> None:
        """Bring the owners of the steps before to disk if so many more rows would be too many."""
        held = self._kept[self._written :]
        if not self._stream.folder or sum(len(part.owners["owner"]) for part in held) + rows <= ROWS:
            return
        if any(len(part.owners["owner"]) for part in held):
            self._stream.put(self._frame(held, people), held[0].step)
        self._kept[self._written :] = [part._replace(owners={}, transfers=_NOTHING) for part in held]
        self._written = len(self._kept)

    def _sums(self, people: Population) -> dict[str, np.ndarray]:
        """Sums over the owners of each strategy that anybody has, if they are wanted."""
        if not self.choice.strategies:
            return {}
        kinds = len(people.labels)
        summed = {name: np.bincount(people.codes, getattr(people, column), kinds) for name, column in _SUMMED.items()}
        there = np.bincount(people.codes[people.stayed], minlength=kinds)
        received = np.bincount(people.codes[people.stayed], people.accuracy[people.stayed], kinds)
        unusable = np.bincount(people.codes[people.unusable], minlength=kinds)
        with np.errstate(invalid="ignore"):
            mean = received / there
        table = {"strategy": np.arange(kinds), "owners": there, **summed, "accuracy": mean, "rejected": unusable}
        had = np.bincount(people.codes, minlength=kinds) > 0
        return {name: column[had] for name, column in table.items()}

    def _own(self, column: Column, model: Any) -> Any:
        """The value of a column of the user's own, one number or one per owner."""
        found, owners = np.array(column.value(model)), len(model.population)
        shape = () if column.frame == "steps" else (owners,)
        if found.shape != shape or found.dtype == object:
            wanted = "one number" if column.frame == "steps" else f"{owners} numbers, one per owner"
            raise InputError(f"column {column.name!r} has shape {found.shape} in step {model.steps}; give {wanted}")
        if column.frame == "steps":
            return found.item()
        self._kinds[column.name] = np.result_type(found, self._kinds.get(column.name, found.dtype)).str
        return found

    def _steps(self) -> list[_Step]:
        """All steps kept, and the last complete one."""
        kept = [part for part in self._kept if part.step < self.step]
        return kept + ([self._last] if self._last else [])

    def table(self, population: Population) -> pd.DataFrame | LongTable:
        """The owners' rows, or where they lie."""
        rest = self._frame(self._steps()[self._written :], population)
        if not self._stream.files:
            return rest
        kinds: dict[str, Any] = {name: rest[name].dtype for name in NAMED}
        kinds |= {name: kind for name, kind in self._kinds.items() if np.dtype(kind).kind in "biufc"}
        return LongTable(self._stream, rest, lambda piece: piece.astype(kinds))

    def _frame(self, steps: Sequence[_Step], population: Population) -> pd.DataFrame:
        """The owners' rows of some steps."""
        none = {name: column[:0] for name, column in self.owners(0, population).items()}
        none |= {name: np.zeros(0, dtype=kind) for name, kind in LINKED.items()}
        filled = [none, *(_unlinked(part.owners) | part.owners for part in steps)]
        names = dict.fromkeys(name for part in filled for name in part)
        columns: dict[str, Any] = {
            name: np.concatenate([part[name] for part in filled if name in part]) for name in names
        }
        columns["run"] = np.zeros(len(columns["step"]), dtype=np.int64)
        columns["information"] = pd.Categorical.from_codes(columns["information"], categories=list(INFORMATION))
        columns["strategy"] = _named(columns["strategy"], population.labels)
        columns["role"] = _named(population.roles.codes[columns["owner"]], population.roles.values)
        columns["name"] = _named(population.names.codes[columns["owner"]], population.names.values)
        further = [column.name for column in self.columns if column.name in columns]
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

    def step_frame(self) -> pd.DataFrame:
        """The steps' rows."""
        rows = [part.values for part in self._steps()]
        columns: dict[str, np.ndarray] = {"run": np.zeros(len(rows), dtype=np.int64)}
        further = [column.name for column in self.columns if column.frame == "steps"]
        for name in (*list(COLUMNS["steps"])[1:], *further):
            values = [row[name] for row in rows]
            columns[name] = np.array(values) if name in further else np.array(values, _kind(name))
        return pd.DataFrame(columns)

    def owners(self, step: int, people: Population) -> dict[str, np.ndarray]:
        """The owners' columns in a step, one entry per owner."""
        n = len(people)
        known = dict(zip(_KEPT, people.shared(*_KEPT.values()), strict=True))
        return {
            "step": np.broadcast_to(np.int64(step), n),
            "owner": np.arange(n),
            **known,
            "reported_unit_cost": (
                people.claimed_cost.unit(people.claimed) if self.with_cost else np.broadcast_to(np.nan, n)
            ),
            "rejected": people.unusable,
            "strategy": people.codes,
        }


class _Step(NamedTuple):
    """What is kept of a step: its transfers, the owners' columns, the step's own values, and sums by strategy."""

    step: int
    transfers: Transfers
    owners: dict[str, np.ndarray]
    values: dict[str, Any]
    sums: dict[str, np.ndarray]


_NOTHING = Transfers.central(np.zeros(0), "")


def _unlinked(owners: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of a federation in which all share one model."""
    return {name: np.zeros(len(owners["owner"]), dtype=kind) for name, kind in LINKED.items()}


def _named(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical:
    """Names by their places, as categories in alphabetical order."""
    seen, places = np.unique(np.array(names), return_inverse=True)
    return pd.Categorical.from_codes(places[codes], categories=pd.Index(seen))


def _kind(name: str) -> type:
    return np.int64 if name in _COUNTS else float
