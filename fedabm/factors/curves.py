"""One input at a time: how an outcome goes along it, with all else varying as it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.common.arrays import Array
from fedabm.factors.inputs import Factor
from fedabm.factors.outcomes import Explained

__all__ = ["curves_of"]

#: slices of a continuous input, and of one with more numbers than this
SLICES = 12


def curves_of(factors: Sequence[Factor], places: Array, outcomes: Mapping[Explained, Array]) -> pd.DataFrame:
    """One row per outcome, input and slice of it: mean, its 95% interval, and the middle 80% of the runs.

    `places` are (points, factors), as `Factor.place` has them, of points that were drawn independently.
    """
    rows: list[dict[str, Any]] = []
    for outcome, values in outcomes.items():
        for number, one in enumerate(factors):
            slices, at = _slices(one, places[:, number])
            rows += [
                {**outcome._asdict(), "input": one.name, "at": at[place], **_row(values[slices == place])}
                for place in range(len(at))
            ]
    return pd.DataFrame(rows)


def _slices(factor: Factor, places: Array) -> tuple[NDArray[np.integer], list[Any]]:
    """In which slice each point is, and what the slices are called."""
    known, number = np.unique(places, return_inverse=True)
    if len(known) <= SLICES:
        return number, [factor.shown(one.item()) for one in known]
    order = np.argsort(np.argsort(places, kind="stable"), kind="stable")
    slices = order * SLICES // len(places)
    return slices, [float(np.median(places[slices == one])) for one in range(SLICES)]


def _row(values: Array) -> dict[str, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return dict.fromkeys(("mean", "±", "low", "high"), np.nan) | {"runs": 0}
    half = 1.96 * float(known.std(ddof=1)) / np.sqrt(len(known)) if len(known) > 1 else np.nan
    low, high = np.quantile(known, (0.1, 0.9)).tolist()
    return {"mean": float(known.mean()), "±": half, "low": low, "high": high, "runs": len(known)}
