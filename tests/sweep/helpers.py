"""Comparing sweeps."""

from __future__ import annotations

import pandas as pd

from fedabm import load


def assert_same_frames(one, other):
    """Equal row for row and bit for bit, wall time aside."""
    for name in ("runs", "steps", "owners", "transfers"):
        first, second = getattr(load(one), name), getattr(load(other), name)
        if name == "runs":
            first, second = first.drop(columns="wall_time"), second.drop(columns="wall_time")
        pd.testing.assert_frame_equal(first, second, check_exact=True)
    for name, table in load(one).tables.items():
        pd.testing.assert_frame_equal(table, load(other).tables[name], check_exact=True)
