"""Invoices in, a cost per unit of data with an interval out.

Each row of a table with the columns samples and cost (optionally owner) is what a batch of this many samples has cost.
Costs are taken to be in proportion to samples, c(s) = rate * s, with scatter that grows as the root of the batch: the
best rate is then all costs divided by all samples, and its interval is Student's t.  An invoice with a fixed part, or
costs that grow faster than samples, shows as a rate that changes with the size of the batch, and is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.calibration.pilot import chosen, read_any
from fedabm.common.confidence import student
from fedabm.common.errors import InputError
from fedabm.games.curves import Array

__all__ = ["MeasuredCost", "calibrate_costs"]

#: invoices from which on an interval says anything
_LEAST = 3


@dataclass(frozen=True)
class MeasuredCost:
    """What a unit of an owner's data costs: the best rate, the interval of 95%, from how many invoices, and doubts."""

    owner: str
    rate: float
    low: float
    high: float
    invoices: int
    doubts: tuple[str, ...]

    def toml(self) -> str:
        """The cost of an owner in a study: between `low` and `high`."""
        return f"cost = {{ low = {self.low!r}, high = {self.high!r} }}  # best {self.rate:.6g}"


def calibrate_costs(invoices: Any, *, owner: str | None = None) -> list[MeasuredCost]:
    """The cost of a unit of data with its interval, one per owner.

    Parameters
    ----------
    invoices : path or data frame
        Columns samples and cost, and optionally owner: one row per batch.
    owner : str, optional
        Only this owner's.

    Returns
    -------
    list of MeasuredCost
        In the order of the owners' names.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"samples": [100, 200, 400], "cost": [1.0, 2.2, 3.8]})
    >>> [one] = calibrate_costs(table)
    >>> one.rate, one.low < 0.01 < one.high
    (0.01, True)
    """
    sheet = read_any(invoices, "the invoices")
    sheet.check(("samples", "cost"), ("samples", "cost", "owner"))
    sheet = chosen(sheet, "owner", owner, several=True)
    sizes, costs = sheet.numbers("samples", 1e-9, 1e15), sheet.numbers("cost", 0.0, 1e15)
    names = np.array(sheet.texts("owner") if "owner" in sheet.columns else ["all"] * len(sizes))
    return [_of_one(sheet.source, str(name), sizes[names == name], costs[names == name]) for name in np.unique(names)]


def _of_one(source: str, name: str, sizes: Array, costs: Array) -> MeasuredCost:
    if len(sizes) < _LEAST:
        raise InputError(f"{source} has {len(sizes)} invoices of {name}; give at least {_LEAST}, or the cost by hand")
    rate = float(costs.sum() / sizes.sum())
    if rate <= 0:
        raise InputError(f"{source}: all invoices of {name} are 0; leave its cost out, or give it by hand")
    freedom = len(sizes) - 1
    noise = float(np.sum((costs - rate * sizes) ** 2 / sizes)) / freedom
    half = float(student(freedom)) * float(np.sqrt(noise / sizes.sum()))
    if half >= rate:
        found = f"{rate:.4g} a unit, plus or minus {half:.4g}"
        raise InputError(f"{source}: invoices of {name} give {found}, which says nothing; give more of them")
    return MeasuredCost(name, rate, rate - half, rate + half, len(sizes), _fixed_part(name, sizes, costs, rate))


def _fixed_part(name: str, sizes: Array, costs: Array, rate: float) -> tuple[str, ...]:
    """A line where a straight line with a fixed part fits clearly better: c = fixed + rate * s, weighted alike."""
    if len(np.unique(sizes)) < _LEAST or len(sizes) <= _LEAST:
        return ()
    weights = 1.0 / np.sqrt(sizes)
    columns = np.stack([np.ones_like(sizes), sizes], axis=1) * weights[:, None]
    found = np.linalg.lstsq(columns, costs * weights, rcond=None)[0]
    freedom = len(sizes) - 2
    noise = float(np.sum((columns @ found - costs * weights) ** 2)) / freedom
    error = float(np.sqrt(noise * np.linalg.inv(columns.T @ columns)[0, 0]))
    if abs(found[0]) <= max(float(student(freedom, 0.99)) * error, 1e-9 * rate * sizes.mean()):
        return ()
    kind = "have a fixed part" if found[0] > 0 else "grow faster than samples, as if less"
    return (f"invoices of {name} {kind}: {found[0]:.4g} a batch; say so with a cost of kind affine or power",)
