"""What a rule for the number of seeds looks at in a sweep: a column of steps at the end of all runs, by cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedabm.common.errors import InputError, nearest
from fedabm.common.until import Until
from fedabm.games.curves import Array
from fedabm.results.sweeps import load_sweep

__all__ = ["HEADLINE", "samples"]

#: what is compared unless the rule says otherwise: welfare less money from outside
HEADLINE = "net_welfare"


def samples(folder: Path, rule: Until) -> list[Array]:
    """One array per cell and label, in the order of seeds; runs that failed are left out."""
    found = load_sweep(folder)
    steps, wanted = found.at_end("steps"), rule.of or HEADLINE
    if steps.empty:
        raise InputError("seeds until means are known need steps, and no run has any; say how many seeds instead")
    if wanted not in steps or not np.issubdtype(steps[wanted].dtype, np.number):
        raise InputError(f"steps have no numbers {wanted!r}; {nearest(wanted, list(steps.columns))}")
    runs = found.runs.set_index("run")
    names = [runs[name].astype(str).loc[steps["run"]].to_numpy() for name in ("cell", "label") if name in runs]
    return [part.to_numpy(dtype=float) for _, part in steps.groupby(names, sort=False)[wanted]]
