"""An equilibrium in the same frames as a simulated run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.names import spelled
from fedabm.results.columns import COLUMNS
from fedabm.results.frames import LINKED, Frames, run_frame, shorten
from fedabm.simulation.ledger import Ledger
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.game import Game
from fedabm.views import INFORMATION, Transfers

__all__ = ["equilibrium_frames"]


def equilibrium_frames(
    game: Game,
    found: Equilibrium,
    label: str,
    scenario: str = "",
    parameters: dict[str, Any] | None = None,
    seed: int = 0,
) -> Frames:
    """An equilibrium as a run of one step, number 0: the same frames as those of a simulated run.

    Columns that only a simulation can fill are empty.
    """
    n = game.owners
    row = {
        "label": label,
        "scenario": scenario,
        "parameters": json.dumps(parameters or {}, sort_keys=True),
        "seed": seed,
        "mechanism": shorten(spelled(game.mechanism)),
        "accuracy": shorten(spelled(game.accuracy)),
        "owners": n,
        "steps": found.iterations,
        "status": "converged" if found.converged else "stopped",
        "converged": found.converged,
        "gap": found.gap,
        "found": found.gain,
        "wall_time": np.nan,
    }
    owners = _equilibrium_owners(game, found).reindex(columns=list(COLUMNS["owners"]))
    step = _equilibrium_step(game, found).reindex(columns=list(COLUMNS["steps"]))
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
            "name": pd.Categorical([""] * n),
            "capacity": game.capacities,
            "contribution": kept,
            "reported_contribution": kept,
            "reported_size": game.capacities,
            "reported_unit_cost": game.costs.unit(kept) if game.mechanism.asks_cost else np.nan,
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
            **{name: np.zeros(n, dtype=kind) for name, kind in LINKED.items()},
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
