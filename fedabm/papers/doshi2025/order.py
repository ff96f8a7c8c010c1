"""The authors' order of protocols, held against runs on the same owners, seed by seed.

The only numbers for Figure 1 of Doshi et al. 2025 are in the authors' repository, for ten FEMNIST owners: a target for
the order, not for the digits.  FedAvg at equilibrium is FedAvgStrategic with the loop condition as printed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from fedabm.papers.doshi2025.settings import last_rows
from fedabm.papers.presets import spread
from fedabm.results.frames import Frames

__all__ = ["PRINTED", "TOTAL", "compared", "order_verdict", "welfare_by_seed", "without_costs"]

#: how tables name the sum of accuracies, which the paper calls welfare; recorded ones name it as the paper does
TOTAL = "total accuracy"

PRINTED = {"FedAvg": 11.53, "2P-UPBReD": 11.50, "UPBReD": 11.48, "FedAvgStrategic as printed": 11.39}
#: neighbours in that order, and what strategic owners make of FedAvg once they have settled
_PAIRS = [*pairwise(PRINTED), ("2P-UPBReD", "FedAvgStrategic")]


def without_costs(table: pd.DataFrame) -> pd.DataFrame:
    """A table that names the sum of accuracies what it is, as welfare has costs.

    >>> without_costs(pd.DataFrame({"welfare": [1.0]})).columns.tolist()
    ['total accuracy']
    """
    return table.rename(columns={"welfare": TOTAL})


def welfare_by_seed(frames: Frames) -> pd.DataFrame:
    """Sums of accuracies in the last round, a row per seed and a column per protocol (of several runs: the last)."""
    final = last_rows(frames).groupby("run")["accuracy"].sum()
    runs = frames.runs.assign(welfare=frames.runs["run"].map(final))
    runs["protocol"] = runs["label"].str.partition(", ")[0]
    return runs.pivot_table(index="seed", columns="protocol", values="welfare", aggfunc="last")


def compared(welfare: pd.DataFrame) -> pd.DataFrame:
    """Differences of neighbours with their 95% intervals over seeds, and what follows from them."""
    rows = []
    for better, worse in _PAIRS:
        if better not in welfare or worse not in welfare:
            continue
        gap, width = spread(welfare[better] - welfare[worse])
        printed = PRINTED[better] - PRINTED.get(worse, np.nan)
        row = {"better": better, "worse": worse, "printed": printed, "ours": gap, "+-": width}
        rows.append(row | {"seeds": len(welfare), "verdict": order_verdict(gap, width)})
    return pd.DataFrame(rows)


def order_verdict(gap: float, width: float) -> str:
    """Whether one protocol beats another beyond the spread over seeds; one seed, whose width is nan, decides nothing.

    >>> order_verdict(0.5, 0.2), order_verdict(-0.5, 0.2), order_verdict(0.1, 0.2), order_verdict(9.0, float("nan"))
    ('holds', 'does not hold', 'undecided', 'undecided')
    """
    if gap == 0 and not width > 0:
        return "equal, bit for bit: no evidence"
    if not abs(gap) > width:
        return "undecided"
    return "holds" if gap > 0 else "does not hold"
