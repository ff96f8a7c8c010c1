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

from fedabm.ledger import Ledger
from fedabm.links import Links
from fedabm.people import Population
from fedabm.views import INFORMATION, Transfers

if TYPE_CHECKING:
    from fedabm.equilibrium import Equilibrium
    from fedabm.game import Game

__all__ = ["COLUMNS", "Frames", "Recorder", "equilibrium_frames"]

COLUMNS: dict[str, dict[str, str]] = {
    "runs": {
        "run": "number of the run, the key of all frames",
        "label": "what sets this run apart within its study",
        "scenario": "name of the study",
        "parameters": "the study's parameters, as JSON",
        "seed": "seed of the run",
        "mechanism": "the mechanism with its parameters",
        "accuracy": "the accuracy oracle with its parameters",
        "owners": "number of owners",
        "steps": "steps that were run",
        "status": "converged, stopped (steps used up) or interrupted",
        "converged": "whether nothing moved any more",
        "gap": "certified gap: the most any owner could still gain by another contribution, the others at their word "
        "(empty: cut off)",
        "fedabm": "version of fedabm",
        "mesa": "version of mesa",
        "numpy": "version of numpy",
        "python": "version of Python",
        "wall_time": "seconds the run took",
    },
    "steps": {
        "run": "number of the run",
        "step": "number of the step, from 1",
        "contribution": "data contributed by all owners",
        "accuracy": "mean accuracy received by the owners present",
        "cost": "true cost of all contributions",
        "transferred": "money that changed hands",
        "welfare": "sum of all utilities",
        "server_balance": "the server's account since the beginning",
        "present": "owners that have not left",
        "rejected": "owners whose report or model update was unusable in this step",
        "moved": "largest change of what an owner does or says, as a share of its capacity or cost (leaving is 1)",
        "reciprocity": "share of model imports that go both ways (empty where all share one model)",
        "components": "groups of owners without any import between them (empty where all share one model)",
    },
    "owners": {
        "run": "number of the run",
        "step": "number of the step",
        "owner": "number of the owner, from 0",
        "strategy": "what the owner does",
        "role": "what the owner is called by its profile",
        "capacity": "all the data it has",
        "contribution": "data it really used",
        "reported_contribution": "data it said it used",
        "reported_size": "data it said it has",
        "reported_unit_cost": "cost per unit it stated (empty where the mechanism does not ask)",
        "accuracy": "worth of the model it received",
        "best_accuracy": "best of its accuracies so far, what an owner that left keeps (chosen on test data)",
        "gain": "what it gained: the accuracy, unless the scenario values something else",
        "cost": "true cost of its contribution, or of what the scenario values instead",
        "owed": "payment that fell due by the rule (negative: it had to pay), before anybody's budget",
        "payment": "money it really received (negative: it paid)",
        "money": "money it has after the step (inf: it has no budget)",
        "utility": "gain - cost + payment",
        "stayed": "whether it is in the federation",
        "rejected": "whether its report or model update was unusable and counted as nothing",
        "information": "what its decision in this step rests on: " + ", ".join(INFORMATION),
        "imports": "others' models that go into its own (0 where all share one model)",
        "exports": "others' models that its own goes into",
        "import_strength": "how much of others' models goes into its own, summed over them",
        "export_strength": "how much of its own model goes into others', summed over them",
        "isolated": "whether it is there but neither imports nor exports a model",
    },
    "transfers": {
        "run": "number of the run",
        "step": "number of the step",
        "payer": "owner that pays (-1: the server)",
        "payee": "owner that is paid (-1: the server)",
        "amount": "money, never negative",
        "reason": "the rule that demanded it",
    },
}

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
        names = [name for name in COLUMNS["owners"] if name not in ("run", *_NAMED)]
        size = len(population)
        unlinked: dict[str, np.ndarray] = {name: np.zeros(size, dtype=kind) for name, kind in _LINKED.items()}
        columns: dict[str, np.ndarray | list] = {
            name: np.concatenate([(unlinked | part)[name] for part in kept]) if kept else [] for name in names
        }
        frame = pd.DataFrame(columns).astype(_LINKED)
        rests = np.asarray(columns["information"], dtype=np.int8)
        frame["information"] = pd.Categorical.from_codes(rests, categories=list(INFORMATION))
        called = {"strategy": [strategy.label for strategy in population.strategies], "role": population.roles}
        for place, name in enumerate(_NAMED, start=2):
            seen, codes = np.unique(np.array(called[name]), return_inverse=True)
            chosen = codes[frame["owner"].to_numpy(dtype=np.intp)]
            frame.insert(place, name, pd.Categorical.from_codes(chosen, categories=pd.Index(seen)))
        return frame

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
    n, kept = game.owners, found.profile
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
    costs = game.costs.value(kept)
    owners = pd.DataFrame(
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
            "cost": costs,
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
    step = {
        "step": 0,
        "contribution": kept.sum(),
        "accuracy": found.accuracies.mean(),
        "cost": costs.sum(),
        "transferred": np.maximum(found.payments, 0).sum(),
        "welfare": found.utilities.sum(),
        "server_balance": -found.payments.sum(),
        "present": n,
        "rejected": 0,
        "moved": 0.0,
        "reciprocity": np.nan,
        "components": np.nan,
    }
    ledger = Ledger(n)
    ledger.record(0, Transfers.central(found.payments, type(game.mechanism).__name__))
    return Frames.join([Frames(run_frame(row), pd.DataFrame([step]), owners, ledger.frame())])


def shorten(text: str, most: int = 200) -> str:
    """Cut a long text."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _concatenate(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other, with strategies and roles as common categories."""
    if not frames:
        return pd.DataFrame({column: [] for column in COLUMNS[name]})
    if name == "owners":
        for named in _NAMED:
            labels = sorted({label for frame in frames for label in frame[named].cat.categories})
            frames = [frame.assign(**{named: frame[named].cat.set_categories(labels)}) for frame in frames]
    kept = [frame for frame in frames if len(frame)] or frames[:1]
    joined = pd.concat(kept, ignore_index=True)
    return joined[list(COLUMNS[name])]


@cache
def versions() -> dict[str, str]:
    """The versions that a run depends on."""
    packages = {name: version(name) for name in ("fedabm", "mesa", "numpy")}
    return {**packages, "python": platform.python_version()}


def run_frame(row: dict[str, Any]) -> pd.DataFrame:
    """A `runs` frame of one row."""
    return pd.DataFrame([{"run": 0, **row, **versions()}])[list(COLUMNS["runs"])]
