"""Comparing sweeps."""

from __future__ import annotations

import pandas as pd

from fedabm import load
from fedabm.results.columns import COLUMNS


def assert_same_frames(one, other):
    """Equal row for row and bit for bit, wall time and whether runs were stacked aside."""
    first, second = load(one), load(other)
    for name in COLUMNS:
        how = ["wall_time", "stacked"]
        pair = [getattr(found, name).drop(columns=how, errors="ignore") for found in (first, second)]
        pd.testing.assert_frame_equal(*pair, check_exact=True)
    for name, table in getattr(first, "tables", {}).items():
        pd.testing.assert_frame_equal(table, second.tables[name], check_exact=True)
