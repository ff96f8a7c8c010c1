"""Rows as tables on a terminal, of which nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from fedabm.common.texts import visible
from fedabm.report.tables import text

__all__ = ["as_table", "rounded"]


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
