"""Tables of a recommendation in words, for the page and the terminal: means with their intervals in one cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedabm.advice.recommendation import Recommendation
from fedabm.common.texts import readable
from fedabm.report.tables import text

__all__ = ["candidate_cells", "owner_cells"]


def candidate_cells(found: Recommendation) -> pd.DataFrame:
    """One row per candidate; what is none for all of them is left out."""
    table, goal = found.table(), found.wanted.goal
    spread = zip(table[goal], table["2.5%"], table["97.5%"], strict=True)
    several = found.consortium.draws > 1
    cells = pd.DataFrame({"rule": table["rule"]})
    cells[f"{goal} (95% of draws)" if several else goal] = [
        f"{readable(mean, 5)} ({readable(low, 5)} to {readable(high, 5)})" if several else readable(mean, 5)
        for mean, low, high in spread
    ]
    for name in ("best lie", "pairs"):
        cells[name] = [_percent(value) for value in table[name]]
    cells["money moved"] = [text(value) for value in table["money moved"]]
    if table["outside money"].any():
        cells["outside money"] = [text(value) for value in table["outside money"]]
    cells["certified"] = [_percent(value) for value in table["certified"]]
    return cells.assign(broken=table["broken"]) if table["broken"].any() else cells


def owner_cells(found: Recommendation) -> pd.DataFrame:
    """One row per owner under the answer."""
    table = found.owners()
    if table.empty:
        return table
    cells = pd.DataFrame({"owner": table["owner"]})
    for name in [name for name in table if "%" not in name][1:]:
        cells[name] = [text(value) for value in table[name]]
        if f"{name}, 2.5%" in table:
            ends = zip(table[name], table[f"{name}, 2.5%"], table[f"{name}, 97.5%"], strict=True)
            cells[name] = [_spread(mean, low, high) for mean, low, high in ends]
    return cells


def _spread(mean: float, low: float, high: float) -> str:
    """A mean with its interval; the number alone where it is the same in all draws."""
    ends = [text(one) for one in (mean, low, high)]
    return ends[0] if ends[0] == ends[1] == ends[2] else f"{ends[0]} ({ends[1]} to {ends[2]})"


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%" if np.isfinite(value) else "–"
