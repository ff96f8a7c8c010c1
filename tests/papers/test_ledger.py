"""Every artefact has its row, verdicts are computed, and a broken formula turns rows red."""

from __future__ import annotations

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import MeanEstimation, PacBound, PowerLaw
from fedabm.games.curves import Line
from fedabm.games.offers import full_access
from fedabm.mechanisms import ContributionSubsidy, cost_sharing, fact
from fedabm.mechanisms.base import mean_of_others
from fedabm.mechanisms.market import SquareRootGain
from fedabm.mechanisms.value_shaping import Ramp
from fedabm.papers.ledger.render import _STYLES
from fedabm.papers.ledger.rows import (
    PAPERS,
    VERDICTS,
    Budget,
    Finding,
    Row,
    corrected,
    holds,
    not_run,
    refuted,
    row,
    undecided,
)
from fedabm.papers.ledger.runner import ledger, reproduce
from fedabm.papers.ledger.trials import Tally, agree, numbers, trials
from fedabm.study.library import find
from tests.papers.rows import IDS, NUMBERS, TINY, run, verdicts


def test_every_artefact_has_its_rows_in_order() -> None:
    assert (len(NUMBERS), len(IDS)) == (133, 136)
    assert [one.id for one in ledger()] == IDS
    assert all(one.claim and one.kind in ("c", "t", "c,t") for one in ledger())


def test_every_row_is_shown_by_a_command_that_exists() -> None:
    for one in ledger():
        words = one.preset.split()
        assert words[:1] in ([], ["fedabm"], ["python"]), one.preset
        if words[:2] == ["fedabm", "run"]:
            find(words[2]).parameters([word for word in words[3:] if "=" in word])
    assert run("M04")["M04"].preset == "fedabm reproduce murhekar2023"
    assert run("R02")["R02"].preset == "fedabm solve game.toml --mechanism no_payments"


def test_a_paper_has_its_own_rows_only() -> None:
    for paper in PAPERS:
        assert [one.id for one in ledger((paper,))] == [id for id in IDS if id[0] == paper.letter]


def test_an_id_cannot_be_taken_twice() -> None:
    with pytest.raises(InputError, match="registered twice"):
        row("D01", "again")(lambda budget: holds("", True))


@pytest.mark.parametrize(
    ("id", "verdict", "number"),
    [
        ("D06", "reproduced", "4 of 4"),
        ("D17", "reproduced", "0.133333"),
        ("M04", "reproduced", "4 of 4"),
        ("M06", "reproduced", "0.4330847293"),
        ("M09", "reproduced", "0.53125"),
        ("M14", "reproduced", "u = sqrt(b S): (4, 5)"),
        ("R01", "reproduced after correction", "4 of 4"),
        ("R02", "reproduced", "(2.16227766, 0)"),
        ("R03", "reproduced", "(2.99839298, 1.16904814)"),
        ("R04", "reproduced", "0.9076855"),
        ("R06", "reproduced after correction", "4 of 4"),
        ("R22", "reproduced after correction", "at most 0 of the capacity"),
        ("R24", "reproduced", "M^Shap (374.3, 379)"),
        ("K01", "reproduced", "238.113009"),
        ("K02", "reproduced", "2.122022e-03"),
        ("K05", "reproduced after correction", "0 in all"),
        ("K09", "reproduced", "91972.16 (k=1), 78735.42 (k=100)"),
        ("K11", "reproduced after correction", "48 (k=1), 1084 (k=100)"),
        ("K13", "reproduced after correction", "1.56"),
        ("D21", "reproduced in part", "q = 1.95"),
        ("D22", "reproduced", "100: (99.02, 99.02, 79.99)"),
        ("D23", "reproduced", "48% to 70% of owners pay"),
        ("R25", "reproduced after correction", "(0.003, 0.037, 0.168, 0.443)"),
        ("R26", "reproduced", "M^Shap 4 of 4, M^BG 0"),
        ("R27", "reproduced", "M^Shap (6.17, 1.318, 0)"),
        ("R28", "reproduced after correction", "17,179,869,183 models of 1.72 MB"),
        ("K17", "reproduced in part", "n = 10,000, of value shaping: best p (1, 0, 0.995)"),
        ("K23", "reproduced", "4 of 4"),
        ("K24", "reproduced in part", "625.90"),
        ("K25", "reproduced after correction", "5,837"),
        ("K26", "reproduced", "4 of 4"),
        ("K27", "reproduced after correction", "(10171)"),
        ("P29", "reproduced after correction", "51.2 % higher"),
        ("P30", "reproduced", "iPFL 9 and 9, FedAvg 9 and 9"),
        ("P31", "not reproducible", "NWGI 3.81 (7.3 %)"),
        ("P32", "not reproducible", "4.47 points (6.3 %) above the best baseline, 5.545 points"),
        ("P04", "not reproducible", "0.2358"),
        ("P06", "reproduced after correction", "violated for 0 of"),
        ("P17a", "reproduced after correction", "45.88"),
        ("P17b", "undecided", "utility iPFL 9.645"),
        ("P18a", "reproduced after correction", "58.16 +- 150.38, pFedGraph 137.66 +- 291.57, iPFL 208.1"),
        ("P18b", "undecided", "utility iPFL 13.6"),
        ("S01", "reproduced", "(1.551, 1.551, 0.408)"),
        ("S02", "reproduced", "core {5, 5}, {25}"),
        ("S03", "reproduced", "fine (0.989, 0.345); stable"),
        ("A01", "reproduced", "(3000, 3000.3, 5500), curved (3000.7, 5500.8)"),
        ("F02", "reproduced after correction", "0.67 with 0.04"),
    ],
)
def test_verdicts_and_numbers_agree_with_the_errata(id: str, verdict: str, number: str) -> None:
    found = run(id)[id]
    assert (found.verdict, number in found.ours) == (verdict, True), found


def generous(self: ContributionSubsidy, accuracy, reports):  # type: ignore[no-untyped-def]
    """A subsidy that forgets to collect a tenth of what it pays."""
    claimed = reports.contribution
    payment = Line(-0.9 * self.rate * mean_of_others(claimed), np.full(len(claimed), self.rate))
    return full_access(accuracy, claimed, payment)


@pytest.mark.parametrize(
    ("target", "name", "broken", "ids"),
    [
        (ContributionSubsidy, "offers", generous, ("D04", "D06", "D23")),
        (PowerLaw, "curve_slope", lambda self, x: 1.02 * (x + self.offset) ** -2.0, ("R02", "R03")),
        (
            PacBound,
            "_width",
            lambda self, m: np.sqrt(self.complexity * (2 + np.log(m / self.complexity))),
            ("K01", "K09"),
        ),
        (Ramp, "value", lambda self, x: 1.01 * self.curve.value(x), ("R04", "K12", "K23")),
        (cost_sharing, "mean_of_others", lambda x: 0.9 * mean_of_others(x), ("M07", "M14")),
        (
            SquareRootGain,
            "added",
            lambda self, total, more, eagerness: np.sqrt(eagerness * more),
            ("P17a", "P18a", "P29"),
        ),
        (
            MeanEstimation,
            "_uniform",
            lambda self, x: np.full_like(x, self.noise) / x.sum(-1, keepdims=True),
            ("S01", "S02"),
        ),
        (fact, "_beyond", lambda curves, cost, alone, height: np.ones_like(alone), ("F01",)),
    ],
)
def test_a_broken_formula_turns_its_rows_red(monkeypatch, target, name, broken, ids) -> None:  # type: ignore[no-untyped-def]
    assert "FAILED" not in verdicts(*ids).values()
    monkeypatch.setattr(target, name, broken)
    assert verdicts(*ids) == dict.fromkeys(ids, "FAILED")


def test_a_check_that_breaks_off_fails_and_the_ledger_goes_on() -> None:
    def breaks(budget: Budget) -> Finding:
        raise ZeroDivisionError("no\ndata")

    rows = [Row("X1", "c", "", "", "", breaks), Row("X2", "c", "", "", "", lambda budget: holds("1", True))]
    first, second = reproduce(rows, TINY)
    assert (first.verdict, first.reason) == ("FAILED", "broke off with ZeroDivisionError: no data")
    assert second.verdict == "reproduced"


def test_verdicts_follow_from_what_holds() -> None:
    assert [holds("", ok).verdict for ok in (True, False)] == ["reproduced", "FAILED"]
    cases = [
        corrected("", right, "", as_printed=printed).verdict for right in (True, False) for printed in (False, True)
    ]
    assert cases == ["reproduced after correction", "reproduced", "FAILED", "FAILED"]
    cases = [refuted("", right, "", as_printed=printed).verdict for right in (True, False) for printed in (False, True)]
    assert cases == ["not reproducible", "FAILED", "FAILED", "FAILED"]
    assert not_run("needs a GPU").verdict == "not run here"
    assert undecided("1 +- 2", "within the spread", "9 seeds") == Finding(
        "1 +- 2", "undecided", "within the spread; what would decide: 9 seeds"
    )
    assert set(_STYLES) == set(VERDICTS)


def test_instances_are_repeatable_and_what_is_not_a_number_violates() -> None:
    first, second = (trials(TINY, lambda rng: rng.random(), 0.0).violations for _ in range(2))
    assert first == second
    assert len(set(first)) == 4
    assert not trials(TINY, lambda rng: float("nan"), 1.0).holds
    assert not Tally((), 1.0).holds
    assert str(Tally((0.0, 0.5), 0.1)) == "1 of 2 instances, largest violation 5.0e-01"


def test_agreement_is_to_printed_digits() -> None:
    assert agree([2.16227766, 0.0], [2.16, 0], 2)
    assert not agree(25.2444, 25.25, 2)
    assert numbers([1.0, -0.0, 0.25]) == "(1, 0, 0.25)"
