"""An equilibrium in the same frames as a simulated run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedabm.results.columns import COLUMNS, columns_of, filled
from fedabm.results.frames import Frames, run_frame, run_row
from fedabm.results.round import Round
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

    Parameters
    ----------
    game : Game
        Owners, accuracy and mechanism.
    found : Equilibrium
        The equilibrium of the game.
    label : str
        What the run is called.
    scenario : str, optional
        The scenario's name.
    parameters : dict[str, Any] | None, optional
        Parameters to keep with the run.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.

    Returns
    -------
    Frames
        Frames of one run with one step.
    """
    round = _round(game, found)
    row = run_row(
        "converged" if found.converged else "stopped",
        parameters or {},
        game.mechanism,
        game.accuracy,
        label=label,
        scenario=scenario,
        seed=seed,
        owners=game.owners,
        steps=found.iterations,
        gap=found.gap,
        found=found.gain,
        wall_time=np.nan,
    )
    steps = {entry.name: np.reshape(entry.of(round), 1) for entry in columns_of("steps")}  # type: ignore[arg-type]
    owners = {entry.name: filled(entry, entry.of(round), game.owners) for entry in columns_of("owners")}
    names = {"strategy": "equilibrium", "role": "owner", "name": "", "information": "offer"}
    for name, text in names.items():
        known = list(INFORMATION) if name == "information" else None
        owners[name] = pd.Categorical([text] * game.owners, categories=known)
    ledger = Ledger(game.owners)
    ledger.record(0, Transfers.central(found.payments, type(game.mechanism).__name__))
    tables = {name: _ordered(name, columns) for name, columns in (("steps", steps), ("owners", owners))}
    return Frames.join([Frames(run_frame(row), transfers=ledger.frame(), **tables)])


def _ordered(name: str, columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns).reindex(columns=list(COLUMNS[name]))


def _round(game: Game, found: Equilibrium) -> Round:
    """What every owner does and gets, as round 0."""
    n, flags = game.owners, np.zeros(game.owners, dtype=bool)
    return Round(
        step=0,
        capacity=game.capacities,
        contribution=found.profile,
        reported_contribution=found.profile,
        reported_size=game.capacities,
        reported_cost=game.costs if game.mechanism.asks_cost else None,
        accuracy=found.accuracies,
        best_accuracy=found.accuracies,
        gain=found.accuracies,
        cost=game.costs.value(found.profile),
        owed=found.payments,
        payment=found.payments,
        money=np.full(n, np.inf),
        utility=found.utilities,
        stayed=~flags,
        refused=flags,
        dropped=flags,
        absent=flags,
        discount=np.zeros(n),
        information=np.full(n, list(INFORMATION).index("offer")),
        strategy_codes=np.zeros(n, dtype=int),
        labels=["equilibrium"],
        balance=-found.payments.sum(),
        moved=0.0,
    )
