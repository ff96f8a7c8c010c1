"""Keeps what the frames show of a run: rows of owners and columns of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedabm.results.columns import COLUMNS
from fedabm.results.frames import LINKED, NAMED
from fedabm.simulation.links import Links
from fedabm.simulation.population import Population
from fedabm.views import INFORMATION, Transfers

__all__ = ["Recorder"]

#: columns of whole numbers
_COUNTS = ("step", "present", "rejected")


class Recorder:
    """Keeps the owners' rows of every k-th step (None: of the last step only)."""

    def __init__(self, every: int | None, *, with_cost: bool) -> None:
        self.every = every
        self.with_cost = with_cost
        self._kept: list[dict[str, np.ndarray]] = []
        self._last: tuple[int, Transfers, dict[str, np.ndarray]] | None = None

    @property
    def step(self) -> int:
        """The last step that is complete, 0 before the first."""
        return self._last[0] if self._last else 0

    @property
    def latest(self) -> tuple[int, Transfers]:
        """The last complete step and its transfers."""
        return (self._last[0], self._last[1]) if self._last else (0, Transfers.central(np.zeros(0), ""))

    def wants(self, step: int) -> bool:
        """Whether this step is to be kept."""
        return self.every is not None and step % self.every == 0

    def keep(self, step: int, population: Population, transfers: Transfers, links: Links | None = None) -> None:
        """Keep the state of all owners: for good if the step is wanted, else until the next."""
        linked = {} if links is None else links.columns
        self._last = (step, transfers, self._columns(step, population) | linked)
        if self.wants(step):
            self._kept.append(self._last[2])

    def frame(self, population: Population) -> pd.DataFrame:
        """All rows kept, and those of the last complete step."""
        kept = [part for part in self._kept if part["step"][0] < self.step]
        kept += [self._last[2]] if self._last else []
        unlinked: dict[str, np.ndarray] = {n: np.zeros(len(population), dtype=kind) for n, kind in LINKED.items()}
        none = {name: column[:0] for name, column in (unlinked | self._columns(0, population)).items()}
        filled = [none, *(unlinked | part for part in kept)]
        columns: dict[str, Any] = {name: np.concatenate([part[name] for part in filled]) for name in none}
        columns["run"] = np.zeros(len(columns["step"]), dtype=np.int64)
        columns["information"] = pd.Categorical.from_codes(columns["information"], categories=list(INFORMATION))
        called = {"strategy": [strategy.label for strategy in population.strategies], "role": population.roles}
        for name in NAMED:
            seen, codes = np.unique(np.array(called[name]), return_inverse=True)
            columns[name] = pd.Categorical.from_codes(codes[columns["owner"]], categories=pd.Index(seen))
        return pd.DataFrame({name: columns[name] for name in COLUMNS["owners"]})

    def step_frame(self, values: dict[str, list]) -> pd.DataFrame:
        """Values of every step so far, column by column, as a frame of the steps to keep and the last complete one."""
        kept = np.array([step == self.step or self.wants(step) for step in range(1, self.step + 1)], dtype=bool)
        columns: dict[str, np.ndarray] = {"run": np.zeros(kept.sum(), dtype=np.int64)}
        for name in COLUMNS["steps"]:
            if name in values:
                columns[name] = np.array(values[name][: self.step], np.int64 if name in _COUNTS else float)[kept]
        return pd.DataFrame(columns)

    def _columns(self, step: int, people: Population) -> dict[str, np.ndarray]:
        n = len(people)
        return {
            "step": np.full(n, step, dtype=np.int64),
            "owner": np.arange(n),
            "capacity": people.capacity,
            "contribution": people.contribution.copy(),
            "reported_contribution": people.claimed.copy(),
            "reported_size": people.claimed_size.copy(),
            "reported_unit_cost": people.claimed_cost.rate.copy() if self.with_cost else np.full(n, np.nan),
            "accuracy": people.accuracy.copy(),
            "best_accuracy": people.best.copy(),
            "gain": people.gain.copy(),
            "cost": people.cost_paid.copy(),
            "owed": people.owed.copy(),
            "payment": people.payment.copy(),
            "money": people.money.copy(),
            "utility": people.utility.copy(),
            "stayed": people.stayed.copy(),
            "rejected": people.unusable,
            "information": people.information.copy(),
        }
