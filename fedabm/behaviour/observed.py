"""Contributions by round and owner, from frames, a table, or a CSV of who gave what when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError, nearest
from fedabm.games.curves import Array
from fedabm.results.frames import Frames

__all__ = ["contributions_of"]

_NEEDED = ("step", "owner", "contribution")


def contributions_of(observed: Any) -> Array:
    """Contributions (rounds, owners) of one run.

    Parameters
    ----------
    observed : Any
        The frames of one run; a table with columns step, owner and contribution; the path of such a CSV; or the
        numbers themselves, one row per round.

    Returns
    -------
    Array
        One row per round, one column per owner, owners in order of their names.
    """
    if isinstance(observed, np.ndarray):
        return _checked(np.asarray(observed, dtype=float))
    table = observed.owners if isinstance(observed, Frames) else observed
    if isinstance(observed, str | Path):
        try:
            table = pd.read_csv(observed)
        except (OSError, ValueError) as error:
            raise InputError(f"{observed} cannot be read ({error}); give a CSV of step, owner, contribution") from None
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"contributions must be frames, a table or a CSV, got {type(observed).__name__}; give one")
    for name in _NEEDED:
        if name not in table:
            raise InputError(f"contributions have no column {name!r}; {nearest(name, list(table.columns))}")
    if "run" in table and table["run"].nunique() > 1:
        raise InputError(
            f"contributions of {table['run'].nunique()} runs; choose one, such as owners.query('run == 0')"
        )
    twice = int(table.duplicated(["step", "owner"]).sum())
    if twice:
        raise InputError(f"{twice} contributions of one owner in one step; give one of each")
    wide = table.pivot(index="step", columns="owner", values="contribution")
    try:
        return _checked(wide.to_numpy(dtype=float))
    except (TypeError, ValueError) as error:
        raise InputError(f"contributions must be numbers ({error}); correct the column") from None


def _checked(found: Array) -> Array:
    if found.ndim != 2 or found.shape[0] < 4 or found.shape[1] < 2:
        raise InputError(
            f"contributions of 4 rounds and 2 owners are the least, got a table of {found.shape}; give more"
        )
    if not np.isfinite(found).all() or np.any(found < 0):
        raise InputError("contributions must be known and not negative for every owner in every round; fill the gaps")
    return found
