"""Rows as tables on a terminal, of which nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from fedabm.common.texts import visible
from fedabm.report.tables import text

__all__ = ["as_table", "rounded", "show_whole"]


def as_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Rows with the same keys as a table; what is too wide goes on in the next line, and nothing is cut."""
    rows = list(rows)
    table = Table(*(Column(name, overflow="fold") for name in rows[0]))
    for row in rows:
        table.add_row(*(Text(visible(value) if isinstance(value, str) else f"{value:.9g}") for value in row.values()))
    return table


def rounded(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The same rows as texts, numbers with four digits."""
    return [{name: text(value) for name, value in row.items()} for row in rows]


def show_whole(console: Console, table: pd.DataFrame, title: str, *, sections: bool = False) -> None:
    """Print texts by their index; what is too wide goes on in a table below, so that neither names nor cells are cut.

    With `sections` the first level of the index is named where its rows begin.
    """
    names = table.index.to_frame(index=False).astype(str)
    names.columns = ["mechanism" if name in (0, "rule") else str(name) for name in names.columns]
    begins = names.iloc[:, 0].ne(names.iloc[:, 0].shift()) if sections else pd.Series(True, index=names.index)
    left = sum(_width(names[name], name) for name in names) + 1
    for place, columns in enumerate(_fitting(table, console.width - left)):
        lead = (Column(name, no_wrap=True) for name in names)
        rest = (Column(str(name), justify="right", overflow="fold") for name in columns)
        said = title if place == 0 else f"{title}, continued"
        shown = Table(*lead, *rest, title=f"\n{said}", title_justify="left")
        for row, begin in enumerate(begins):
            if sections and begin and row:
                shown.add_section()
            first, *more = names.iloc[row]
            shown.add_row(first if begin else "", *more, *table[columns].iloc[row])
        console.print(shown, highlight=False)


def _width(cells: Iterable[Any], name: object) -> int:
    """What a column takes with its margins and one border."""
    return max(len(str(name)), *(len(str(cell)) for cell in cells)) + 3


def _fitting(table: pd.DataFrame, room: int) -> list[list[Any]]:
    """The columns in groups, each as wide as there is room."""
    groups: list[list[Any]] = [[]]
    used = 0
    for name in table:
        wide = _width(table[name], name)
        if groups[-1] and used + wide > room:
            groups.append([])
            used = 0
        groups[-1].append(name)
        used += wide
    return groups
