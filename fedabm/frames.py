"""Tidy frames of what happened: runs, steps, owners and transfers.

`COLUMNS` says what every column means.  The frames of equal runs are equal bit for bit, except for `runs`, where
whatever may differ between equal runs, such as wall time, has its place.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fedabm.columns import COLUMNS
from fedabm.ledger import Ledger
from fedabm.links import Links
from fedabm.people import Population
from fedabm.views import INFORMATION, Transfers

if TYPE_CHECKING:
    from fedabm.equilibrium import Equilibrium
    from fedabm.game import Game

__all__ = ["COLUMNS", "Frames", "Recorder", "equilibrium_frames"]


#: columns of whole numbers
_COUNTS = ("step", "present", "rejected")
#: columns of names, the same in every step
_NAMED = ("strategy", "role")
#: columns that only federations with a model for each owner fill
_LINKED: dict[str, type] = {
    "imports": np.int64,
    "exports": np.int64,
    "import_strength": float,
    "export_strength": float,
    "isolated": bool,
}


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
        unlinked: dict[str, np.ndarray] = {n: np.zeros(len(population), dtype=kind) for n, kind in _LINKED.items()}
        none = {name: column[:0] for name, column in (unlinked | self._columns(0, population)).items()}
        filled = [none, *(unlinked | part for part in kept)]
        columns: dict[str, Any] = {name: np.concatenate([part[name] for part in filled]) for name in none}
        columns["run"] = np.zeros(len(columns["step"]), dtype=np.int64)
        columns["information"] = pd.Categorical.from_codes(columns["information"], categories=list(INFORMATION))
        called = {"strategy": [strategy.label for strategy in population.strategies], "role": population.roles}
        for name in _NAMED:
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


@dataclass(frozen=True)
class Frames:
    """The four pandas frames of one or more runs."""

    runs: pd.DataFrame
    steps: pd.DataFrame
    owners: pd.DataFrame
    transfers: pd.DataFrame

    @classmethod
    def join(cls, parts: Sequence[Frames]) -> Frames:
        """Several runs in one set of frames, numbered from 0."""
        numbered: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS}
        for number, part in enumerate(parts):
            for name in COLUMNS:
                numbered[name].append(getattr(part, name).assign(run=number))
        return cls(**{name: _concatenate(name, frames) for name, frames in numbered.items()})


def equilibrium_frames(
    game: Game,
    found: Equilibrium,
    label: str,
    scenario: str = "",
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
) -> Frames:
    """An equilibrium as a run of one step, number 0: the same frames as those of a simulated run."""
    n = game.owners
    row = {
        "label": label,
        "scenario": scenario,
        "parameters": json.dumps(parameters or {}, sort_keys=True),
        "seed": seed,
        "mechanism": shorten(repr(game.mechanism)),
        "accuracy": shorten(repr(game.accuracy)),
        "owners": n,
        "steps": found.iterations,
        "status": "converged" if found.converged else "stopped",
        "converged": found.converged,
        "gap": found.gap,
        "wall_time": np.nan,
    }
    owners, step = _equilibrium_owners(game, found), _equilibrium_step(game, found)
    ledger = Ledger(n)
    ledger.record(0, Transfers.central(found.payments, type(game.mechanism).__name__))
    return Frames.join([Frames(run_frame(row), step, owners, ledger.frame())])


def _equilibrium_owners(game: Game, found: Equilibrium) -> pd.DataFrame:
    """What every owner does and gets."""
    n, kept = game.owners, found.profile
    return pd.DataFrame(
        {
            "step": 0,
            "owner": np.arange(n),
            "strategy": pd.Categorical(["equilibrium"] * n),
            "role": pd.Categorical(["owner"] * n),
            "capacity": game.capacities,
            "contribution": kept,
            "reported_contribution": kept,
            "reported_size": game.capacities,
            "reported_unit_cost": game.costs.rate if game.mechanism.asks_cost else np.nan,
            "accuracy": found.accuracies,
            "best_accuracy": found.accuracies,
            "gain": found.accuracies,
            "cost": game.costs.value(kept),
            "owed": found.payments,
            "payment": found.payments,
            "money": np.inf,
            "utility": found.utilities,
            "stayed": True,
            "rejected": False,
            "information": pd.Categorical(["offer"] * n, categories=list(INFORMATION)),
            **{name: np.zeros(n, dtype=kind) for name, kind in _LINKED.items()},
        }
    )


def _equilibrium_step(game: Game, found: Equilibrium) -> pd.DataFrame:
    """The totals, as one row."""
    row = {
        "step": 0,
        "contribution": found.profile.sum(),
        "accuracy": found.accuracies.mean(),
        "cost": game.costs.value(found.profile).sum(),
        "transferred": np.maximum(found.payments, 0).sum(),
        "welfare": found.utilities.sum(),
        "server_balance": -found.payments.sum(),
        "present": game.owners,
        "rejected": 0,
        "moved": 0.0,
        "reciprocity": np.nan,
        "components": np.nan,
    }
    return pd.DataFrame([row])


def shorten(text: str, most: int = 200) -> str:
    """Cut a long text."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _concatenate(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other, with strategies and roles as common categories."""
    if not frames:
        return pd.DataFrame({column: [] for column in COLUMNS[name]})
    if name == "owners" and len(frames) > 1:
        for named in _NAMED:
            labels = sorted({label for frame in frames for label in frame[named].cat.categories})
            frames = [frame.assign(**{named: frame[named].cat.set_categories(labels)}) for frame in frames]
    kept = [frame for frame in frames if len(frame)] or frames[:1]
    joined = pd.concat(kept, ignore_index=True) if len(kept) > 1 else kept[0].reset_index(drop=True)
    order = list(COLUMNS[name])
    return joined if list(joined.columns) == order else joined[order]


@cache
def versions() -> dict[str, str]:
    """The versions that a run depends on."""
    packages = {name: version(name) for name in ("fedabm", "mesa", "numpy")}
    return {**packages, "python": platform.python_version()}


def run_frame(row: dict[str, Any]) -> pd.DataFrame:
    """A `runs` frame of one row."""
    known = {"run": 0, **row, **versions()}
    return pd.DataFrame({name: [known[name]] for name in COLUMNS["runs"]})
