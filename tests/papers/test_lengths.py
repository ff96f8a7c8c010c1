"""Rows say how long their training was beside the paper's, and what is printed beside what they found."""

from __future__ import annotations

import pandas as pd
import pytest

from fedabm.papers.doshi2025.trained_rows import _QUICK
from fedabm.papers.ipfl2025.evidence import ahead_of_fed_amp
from fedabm.papers.ledger import rows, training
from fedabm.papers.ledger.rows import Budget, ClaimInterval, Finding, Play
from fedabm.papers.ledger.standard import Length
from tests.papers.rows import run

ROUNDS = pd.DataFrame({"label": "a", "seed": [0, 0, 1, 1], "step": [1, 30, 1, 30]})


def test_a_first_phase_does_not_count_as_rounds() -> None:
    """24 rounds of training of the 30 steps that were run."""
    words = "length: 24 of the paper's 100 rounds (24%), 10 of 100 owners, 2 seeds (the paper: 10)"
    assert _QUICK.words([({"rounds": ROUNDS}, False)]) == words


@pytest.mark.parametrize("id", ["R18", "R24"])
def test_rows_of_a_recorded_training_say_its_length(id: str) -> None:
    words = "length: 50 of the paper's 100 rounds (50%), 2 of 2 owners, 5 seeds; recorded: "
    assert words in run(id)[id].reason


@pytest.mark.parametrize(
    ("verdict", "decisive", "told"),
    [("reproduced", (), True), ("not run here", (), False), ("reproduced", (Play("nothing"),), False)],
)
def test_a_quick_run_says_its_length_if_it_decides_and_the_length_is_its_own(
    monkeypatch: pytest.MonkeyPatch, verdict: str, decisive: tuple[Play, ...], told: bool
) -> None:
    monkeypatch.setattr(rows, "_ROWS", {})
    monkeypatch.setattr(training, "tables", lambda one: {"rounds": ROUNDS})
    judge = lambda found: Finding("", verdict)  # noqa: E731
    length = Length(60, (2, 4))
    training.trained("X1", "", "", (Play("x"),), judge, "fedabm run x", decisive=decisive, length=length)
    reason = rows._ROWS["X1"].check(Budget("quick", 1)).reason
    assert ("length: 30 of the paper's 60 rounds (50%), 2 of 4 owners, 2 seeds" in reason) is told


def test_what_is_printed_of_fed_amp_stands_beside_the_lead() -> None:
    """Two owners, the last of two rounds counts for three more: utilities 4 * 10 + 6 and 4 * 2 + 2, so 36 / 2."""
    cells = [
        ("iPFL", 0, 1, 6.0, 0.1),
        ("iPFL", 0, 2, 10.0, 0.5),
        ("FedAMP", 0, 1, 2.0, 0.1),
        ("FedAMP", 0, 2, 2.0, 0.25),
    ]
    table = pd.DataFrame(cells, columns=["label", "seed", "step", "welfare", "accuracy"])
    again = table.assign(seed=1)
    points, utility = ahead_of_fed_amp(pd.concat([table, again]), 5, 2)
    assert points == ClaimInterval("points ahead of FedAMP", 25.0, 0.0, 1.75)
    assert utility == ClaimInterval("utility ahead of FedAMP", 18.0, 0.0, 217.4)
    assert ahead_of_fed_amp(table[table["label"] == "iPFL"], 5, 2) == ()
