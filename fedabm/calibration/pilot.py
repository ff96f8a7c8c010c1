"""Points of a pilot: models trained on so much data, and how accurate they were."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, finite_vector, nearest, shown
from fedabm.common.sheet import Sheet, read_sheet, sheet_of_frame
from fedabm.games.curves import Array

__all__ = ["Pilot", "chosen", "pilot_of", "read_any"]

_KNOWN = ("samples", "accuracy", "owner", "split", "seed")
#: fewer points or sizes than this leave the parameters of every family open
_LEAST_POINTS, _LEAST_SIZES = 6, 5


@dataclass(frozen=True)
class Pilot:
    """Sizes and accuracies (k,), each point's owner where that is said, and the largest value an accuracy can have."""

    source: str
    sizes: Array
    heights: Array
    owners: tuple[str, ...]
    most: float

    @property
    def largest(self) -> float:
        """The most data that a model of the pilot has had."""
        return float(self.sizes.max())

    @property
    def unit(self) -> str:
        """What accuracies are measured in, as far as it can be seen."""
        return {1.0: "a share of 1", 100.0: "percent"}.get(self.most, "units of the file")


def pilot_of(given: Any, accuracies: Any = None, owner: str | None = None, split: str | None = None) -> Pilot:
    """A pilot from a file, a data frame, sizes and accuracies, or a `MeasuredCurve`."""
    if accuracies is None and hasattr(given, "totals") and hasattr(given, "accuracies"):
        given, accuracies = np.asarray(given.totals), np.asarray(given.accuracies)
    if accuracies is not None:
        sizes, heights = finite_vector("samples", given), finite_vector("accuracies", accuracies)
        if len(sizes) != len(heights):
            raise InputError(f"{len(sizes)} samples but {len(heights)} accuracies; give one accuracy per size")
        sheet = Sheet("the pilot", {"samples": sizes.tolist(), "accuracy": heights.tolist()})
    else:
        sheet = read_any(given, "the pilot")
    sheet.check(("samples", "accuracy"), _KNOWN)
    sheet = chosen(chosen(sheet, "split", split, several=False), "owner", owner, several=True)
    return _points(sheet)


def read_any(given: Any, source: str) -> Sheet:
    """The table in a file or data frame."""
    return read_sheet(given) if isinstance(given, str | Path) else sheet_of_frame(given, source)


def chosen(sheet: Sheet, column: str, wanted: str | None, *, several: bool) -> Sheet:
    """The rows of one owner or split; where there are several splits, one has to be chosen."""
    if column not in sheet.columns:
        if wanted is not None:
            raise InputError(f"{sheet.source} has no column {column!r}, got {column} {shown(wanted)}; leave it out")
        return sheet
    words = sheet.texts(column)
    kinds = sorted(set(words))
    if wanted is None:
        if several or len(kinds) == 1:
            return sheet
        raise InputError(f"{sheet.source} has {len(kinds)} of column {column!r}: {', '.join(kinds)}; give --{column}")
    if wanted not in kinds:
        raise InputError(f"{sheet.source} has no {column} {shown(wanted)}; {nearest(wanted, kinds)}")
    rows = [row for row, word in enumerate(words) if word == wanted]
    columns = {name: [cells[row] for row in rows] for name, cells in sheet.columns.items()}
    return Sheet(f"{sheet.source} ({column} {wanted})", columns, sheet.first)


def _points(sheet: Sheet) -> Pilot:
    sizes, heights = sheet.numbers("samples", 0.0, 1e15), sheet.numbers("accuracy", 0.0, 1e15)
    count, different = len(sizes), len(np.unique(sizes))
    if count < _LEAST_POINTS or different < _LEAST_SIZES:
        raise InputError(
            f"{sheet.source} has {count} points at {different} sizes; train at least {_LEAST_POINTS} models of at "
            f"least {_LEAST_SIZES} sizes"
        )
    top = float(heights.max())
    most = 1.0 if top <= 1.0 else 100.0 if top <= 100.0 else 20.0 * top
    owners = tuple(sheet.texts("owner")) if "owner" in sheet.columns else ()
    if "seed" in sheet.columns:
        sheet.numbers("seed", 0.0, 1e18, whole=True)
    order = np.argsort(sizes, kind="stable")
    return Pilot(
        sheet.source, sizes[order], heights[order], tuple(owners[row] for row in order) if owners else (), most
    )
