"""The menu that screening shows to one owner, over the probability of low cost: Karimireddy et al. 2022, Figure 8."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedabm.games.accuracy import PacBound
from fedabm.games.curves import Array
from fedabm.mechanisms.screening import Screening
from fedabm.views import Reports

__all__ = ["one_owner", "over_chances"]


def one_owner(accuracy: PacBound, low: float, others: float) -> Reports:
    """An owner that has contributed nothing yet, beside one that stands for all others."""
    most = accuracy.ceiling / low
    return Reports(np.array([0.0, others]), np.array([most, max(most, others)]))


def over_chances(
    accuracy: PacBound, reports: Reports, low: float, high: float, chances: Array, printed: bool = False
) -> pd.DataFrame:
    """Corners of the menu, expected data and information rent of the first owner, for each probability of low cost."""
    rows = []
    for chance in chances:
        rule = Screening(low, high, float(chance), printed=printed)
        menu, rent = rule.menu(accuracy, reports), rule.information_rent(accuracy, reports)[0]
        up, down = menu.up[0], menu.down[0]
        known = (1 - chance) * menu.high_most[0] + chance * menu.low_most[0]
        formula = "printed" if printed else "corrected"
        rows.append((formula, chance, up, down, (1 - chance) * up + chance * down, known, rent))
    columns = ["formula", "p", "up (high cost)", "down (low cost)", "expected data", "if costs were known", "rent"]
    return pd.DataFrame(rows, columns=columns)
