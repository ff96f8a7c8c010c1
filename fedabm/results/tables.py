"""Tables as CSV files that spreadsheets show and never compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.common.texts import plain_cell, spreadsheet_cell

__all__ = ["read_table", "write_table"]


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table without its index; texts that look like formulas are marked as texts."""
    _mapped(frame, spreadsheet_cell).to_csv(path, index=False)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read it again, without the marks."""
    return _mapped(pd.read_csv(path), plain_cell)


def _mapped(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """With every text changed, in cells and names of columns."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    texts = [place for place, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    made = frame.astype({frame.columns[place]: object for place in texts}) if frame.columns.is_unique else frame.copy()
    for place in texts:
        made.isetitem(place, made.iloc[:, place].map(changed))
    return made.set_axis([changed(name) for name in made.columns], axis=1)
