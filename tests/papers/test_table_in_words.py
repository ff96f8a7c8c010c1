"""What the text of iPFL 2025 says of its Table 1: arithmetic by hand, and a table that bears it out."""

from __future__ import annotations

import pandas as pd
import pytest

from fedabm.papers.ipfl2025 import printed, text_rows
from tests.papers.rows import run


def test_means_of_columns_by_hand() -> None:
    """Finance: (85.47 + 83.38 + 56.25) / 3; eight owners with code: (3 * 53.11 + 5 * 15.85) / 8."""
    own = printed.readings().loc["iPFL"]
    assert own["mean of finance"] == pytest.approx(225.10 / 3)
    assert own["mean of its owners"] == pytest.approx((159.33 + 79.25) / 8)
    assert printed.readings().loc["pFedGraph", ["NWGI", "mean of finance", "mean of all"]].isna().all()
    assert printed.readings().loc["pFedGraph", "mean of finance and code"] == pytest.approx((50.0 + 14.27) / 2)


def test_a_missing_cell_leaves_a_range_whose_ends_are_those_of_the_others() -> None:
    """Sums of five baselines are 1042.32, of pFedGraph's two cells 160.40; its third is from 42.56 to 52.44."""
    ends = [225.10 / 3 - (1042.32 + 160.40 + cell) / 18 for cell in (52.44, 42.56)]
    assert text_rows._with_any_cell() == pytest.approx(tuple(ends))


@pytest.mark.parametrize(("factor", "verdict"), [(1.09, "FAILED"), (1.2, "not reproducible"), (0.9, "FAILED")])
def test_a_table_that_bears_the_text_out_or_has_no_lead_is_noticed(
    monkeypatch: pytest.MonkeyPatch, factor: float, verdict: str
) -> None:
    """A row that says "not reproducible" fails where 9 % is what the table has, or where nothing is ahead."""
    best = printed.ACCURACIES.drop("iPFL").max()
    table = pd.concat([printed.ACCURACIES.drop("iPFL"), (factor * best).to_frame("iPFL").T])
    monkeypatch.setattr(printed, "ACCURACIES", table)
    assert run("P31")["P31"].verdict == verdict


def test_a_lead_of_that_size_over_the_best_baseline_would_be_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """FedAvg is best with 211.69 / 3; 5.55 points above it are 228.34 / 3."""
    table = printed.ACCURACIES.copy()
    table.loc["iPFL", "NWGI"] = 228.34 - 85.47 - 83.38
    monkeypatch.setattr(printed, "ACCURACIES", table)
    monkeypatch.setattr(text_rows, "ACCURACIES", table)
    assert run("P32")["P32"].reason.startswith("5.55 above every baseline: reproduced")
