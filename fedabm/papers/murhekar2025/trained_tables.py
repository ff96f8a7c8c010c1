"""What `reciprocity_table_trained` found, read from its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedabm.papers.murhekar2025.printed import RULES

__all__ = ["by_mechanism", "fitted_weights"]


def by_mechanism(found: dict[str, pd.DataFrame], statistic: str = "average") -> pd.DataFrame:
    """A statistic over seeds of every measure, one line per mechanism."""
    return found["spread"].pivot(index="mechanism", columns="measure", values=statistic).loc[list(RULES)]


def fitted_weights(found: dict[str, pd.DataFrame], form: str) -> np.ndarray:
    """The fitted weights (seeds, G, G) of one form, as the table shows them: ours (printed)."""
    rows = found["weights"][found["weights"]["chance"] == form]
    cells = rows[[name for name in rows.columns if name.startswith("w")]].astype(str)
    ours = np.array([[float(cell.split()[0]) for cell in line] for line in cells.to_numpy()])
    size = round(ours.shape[1] ** 0.5)
    return ours.reshape(-1, size, size)
