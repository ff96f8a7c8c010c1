"""Keeps what the frames show of a run: rows of owners and columns of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.results.columns import COLUMNS, Column
from fedabm.results.frames import LINKED
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


class Recorder:
    """Keeps the rows of every k-th step (None: of the last step only), with the scenario's own `columns` beside."""

    def __init__(self, every: int | None, columns: Sequence[Column] = (), *, with_cost: bool) -> None:
        self.every = every
        self.columns = tuple(columns)
        self.with_cost = with_cost
        self._kept: list[_Step] = []
        self._last: _Step | None = None

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
        return (self._last.step, self._last.transfers) if self._last else (0, Transfers.central(np.zeros(0), ""))

    def wants(self, step: int) -> bool:
        """Whether this step is to be kept."""
        return self.every is not None and step % self.every == 0

    def keep(self, model: Any, transfers: Transfers, links: Links | None, values: dict[str, float]) -> None:
        """Keep a step of the model: for good if it is wanted, else until the next."""
        owners = self.owners(model.steps, model.population) | ({} if links is None else links.columns)
        owners |= {column.name: self._own(column, model) for column in self.columns if column.frame == "owners"}
        further = {column.name: self._own(column, model) for column in self.columns if column.frame == "steps"}
        self._last = _Step(model.steps, transfers, owners, values | further)
        if self.wants(model.steps):
            self._kept.append(self._last)

    def _own(self, column: Column, model: Any) -> Any:
        """The value of a column of the user's own, one number or one per owner."""
        found, owners = np.array(column.value(model)), len(model.population)
        shape = () if column.frame == "steps" else (owners,)
        if found.shape != shape or found.dtype == object:
            wanted = "one number" if column.frame == "steps" else f"{owners} numbers, one per owner"
            raise InputError(f"column {column.name!r} has shape {found.shape} in step {model.steps}; give {wanted}")
        return found if column.frame == "owners" else found.item()

    def _steps(self) -> list[_Step]:
        """All steps kept, and the last complete one."""
        kept = [part for part in self._kept if part.step < self.step]
        return kept + ([self._last] if self._last else [])

    def frame(self, population: Population) -> pd.DataFrame:
        """The owners' rows."""
        none = {name: column[:0] for name, column in self.owners(0, population).items()}
        none |= {name: np.zeros(0, dtype=kind) for name, kind in LINKED.items()}
        filled = [none, *(_unlinked(part.owners) | part.owners for part in self._steps())]
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
    """What is kept of a step: its transfers, the owners' columns and the step's own values."""

    step: int
    transfers: Transfers
    owners: dict[str, np.ndarray]
    values: dict[str, Any]


def _unlinked(owners: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of a federation in which all share one model."""
    return {name: np.zeros(len(owners["owner"]), dtype=kind) for name, kind in LINKED.items()}


def _named(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical:
    """Names by their places, as categories in alphabetical order."""
    seen, places = np.unique(np.array(names), return_inverse=True)
    return pd.Categorical.from_codes(places[codes], categories=pd.Index(seen))


def _kind(name: str) -> type:
    return np.int64 if name in _COUNTS else float
