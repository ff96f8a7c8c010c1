"""Tables for people: few digits, no noise, what is the same in every row said once, narrow enough for a terminal.

The saved CSV keeps every digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedabm.common.texts import visible

__all__ = ["short", "shown_table"]

#: a number this much smaller than the largest of its column is noise of rounding
_NOISE = 1e-12


def shown_table(frame: pd.DataFrame, title: str) -> Group:
    """A table to print: numbers aligned to the right; columns that say the same in every row stand below it."""
    same = _constant(frame)
    below = ", ".join(f"{column}: {short(frame[column].iloc[0])}" for column in same)
    shown = Table(box=None, pad_edge=False)
    kept = [column for column in frame.columns if column not in same]
    for column in kept:
        number = pd.api.types.is_numeric_dtype(frame[column]) and not pd.api.types.is_bool_dtype(frame[column])
        shown.add_column(Text(visible(str(column))), justify="right" if number else "left", overflow="fold")
    texts = [_texts(frame[column]) for column in kept]
    for row in zip(*texts, strict=True):
        shown.add_row(*map(Text, row))
    said = [Text(f"In every row {below}", style="dim")] if below else []
    return Group(
        Text(visible(title), style="bold"), shown, *said
    )  # a title of the table itself would be folded at its width


def _constant(frame: pd.DataFrame) -> list[str]:
    """The columns with one value only, where there are rows to compare and other columns to show."""
    if len(frame) < 3:
        return []
    same = [column for column in frame.columns if frame[column].astype(str).nunique() == 1]
    return same if len(same) < len(frame.columns) else []


def _texts(column: pd.Series) -> list[str]:
    if not pd.api.types.is_float_dtype(column):
        return [short(value) for value in column]
    numbers = column.to_numpy(dtype=float)
    finite = np.abs(numbers[np.isfinite(numbers)])
    largest = float(finite.max(initial=0.0))
    numbers = np.where(np.abs(numbers) < _NOISE * max(1.0, largest), 0.0, numbers)
    decimals = _decimals(np.abs(numbers[np.isfinite(numbers) & (numbers != 0)]))
    if decimals is None:
        return [short(value) for value in numbers]
    return [f"{value:,.{decimals}f}" if value and np.isfinite(value) else short(value) for value in numbers]


def _decimals(sizes: np.ndarray) -> int | None:
    """How many decimals give the largest four digits, or five, and the smallest two; None where no number of them does.

    >>> _decimals(np.array([1.087, 0.007037])), _decimals(np.array([1.087, 0.0007037]))
    (4, None)
    """
    if not len(sizes) or sizes.max() >= 1e15:
        return None
    decimals = max(0, 3 - int(np.floor(np.log10(sizes.max()))))
    enough = (tried for tried in (decimals, decimals + 1) if sizes.min() >= 10.0 ** (1 - tried))
    return next(enough, None)


def short(value: Any) -> str:
    """A value in few characters: four digits, thousands apart, yes or no, and nothing where there is nothing.

    >>> short(0.830803), short(1234567.0), short(True), short(float("nan")), short(1.34e-19)
    ('0.8308', '1,234,567', 'yes', '', '1.34e-19')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        number = float(value)
        if np.isnan(number):
            return ""
        return f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:,.4g}"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return visible(str(value))
