"""One page of a folder that holds no run: what leagues, tournaments, calibrations and settlements have written."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from fedabm.report.images import Inline, from_bytes
from fedabm.report.tables import Shown, shown
from fedabm.report.templates import rendered
from fedabm.results.design import SWEEP
from fedabm.results.store import MANIFEST

__all__ = ["gathered", "has_tables_only"]

_ROWS = 60


def has_tables_only(folder: Path) -> bool:
    """Whether there are tables to show, and nothing of a run or a sweep, not even of a damaged one."""
    if not os.path.isdir(folder):
        return False
    runs = any((folder / name).exists() for name in (MANIFEST, SWEEP)) or any(folder.glob("*.parquet"))
    return not runs and any(folder.glob("*.csv"))


def gathered(folder: Path) -> str:
    """All tables (CSV) and pictures (PNG) of a folder as HTML, by name."""
    tables, pictures, unread = [], [], []
    for path in sorted(folder.glob("*.csv")):
        try:
            tables.append(_table(path))
        except (OSError, ValueError):
            unread.append(path.name)
    for path in sorted(folder.glob("*.png")):
        try:
            pictures.append(_picture(path))
        except (OSError, ValueError):
            unread.append(path.name)
    values = {"title": folder.resolve().name, "tables": tables, "pictures": pictures, "unread": unread}
    return rendered("fedabm.report", "gathered.html", **values)


def _table(path: Path) -> Shown:
    return shown(pd.read_csv(path), path.name, most=_ROWS)


def _picture(path: Path) -> Inline:
    return from_bytes(path.read_bytes(), path.name, f"Picture {path.name} of this folder.")
