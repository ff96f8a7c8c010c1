"""The reproduction ledger: every artefact has its row, verdicts are computed, and a broken formula turns rows red."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from fedabm.accuracy import PacBound, PowerLaw
from fedabm.curves import Line
from fedabm.errors import InputError
from fedabm.library import find
from fedabm.market import SquareRootGain
from fedabm.mechanisms import ContributionSubsidy, cost_sharing
from fedabm.mechanisms.base import mean_of_others
from fedabm.mechanisms.value_shaping import Ramp
from fedabm.offers import full_access
from fedabm.parsers import command_line
from fedabm.reproduction import command
from fedabm.reproduction.learned import ordered, reciprocal, rising
from fedabm.reproduction.markets import attacked, best_of_all, inclusive, lying, rational
from fedabm.reproduction.render import counts, markdown, show
from fedabm.reproduction.rows import (
    PAPERS,
    VERDICTS,
    Budget,
    Finding,
    Play,
    Result,
    Row,
    corrected,
    find_paper,
    holds,
    not_run,
    refuted,
    row,
)
from fedabm.reproduction.runner import BUDGETS, ledger, reproduce
from fedabm.reproduction.training import tables
from fedabm.reproduction.trials import Tally, agree, numbers, trials

TINY = Budget("quick", 4, trains=False)
#: how many artefacts each paper has; ids run from 01
ARTEFACTS = {"D": 20, "M": 13, "R": 24, "K": 22, "P": 28}
IDS = [f"{letter}{number:02d}" for letter, count in ARTEFACTS.items() for number in range(1, count + 1)]
TRAINED = [*range(7, 17), 19]
FIELDS = ["id", "claim", "published", "ours", "verdict", "reason", "preset", "seconds"]


def run(*ids: str) -> dict[str, Result]:
    """These rows with few random instances."""
    return {result.id: result for result in reproduce([one for one in ledger() if one.id in ids], TINY)}


def verdicts(*ids: str) -> dict[str, str]:
    return {id: result.verdict for id, result in run(*ids).items()}


def test_every_artefact_has_exactly_one_row_in_order() -> None:
    assert len(IDS) == 107
    assert [one.id for one in ledger()] == IDS
    assert all(one.claim and one.kind in ("c", "t", "c,t") for one in ledger())


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
        ("R01", "reproduced after correction", "4 of 4"),
        ("R02", "reproduced", "(2.16227766, 0)"),
        ("R03", "reproduced", "(2.99839298, 1.16904814)"),
        ("R04", "reproduced", "0.9076855"),
        ("R06", "reproduced after correction", "4 of 4"),
        ("K01", "reproduced", "238.113009"),
        ("K02", "reproduced", "2.122022e-03"),
        ("K05", "reproduced after correction", "0 in all"),
        ("K09", "reproduced", "91972.16 (k=1), 78735.42 (k=100)"),
        ("K11", "reproduced after correction", "48 (k=1), 1084 (k=100)"),
        ("K13", "reproduced after correction", "1.56"),
        ("P04", "not reproducible", "0.2358"),
        ("P06", "reproduced after correction", "violated for 0 of"),
        ("P17", "reproduced after correction", "45.88"),
        ("P18", "reproduced after correction", "58.16 +- 150.38"),
    ],
)
def test_verdicts_and_numbers_agree_with_the_errata(id: str, verdict: str, number: str) -> None:
    found = run(id)[id]
    assert (found.verdict, number in found.ours) == (verdict, True), found


def test_rows_that_need_training_say_so_and_how() -> None:
    waiting = [one for one in ledger() if one.kind == "t"]
    assert [one.id for one in waiting if one.id[0] == "D"] == [f"D{number:02d}" for number in TRAINED]
    results = reproduce(waiting, TINY)
    assert {result.verdict for result in results} == {"not run here"}
    assert all("fedabm run " in result.reason and result.preset.startswith("fedabm run ") for result in results)
    assert not any("not implemented yet" in one.preset for one in results)


def test_every_play_is_one_that_its_scenario_takes() -> None:
    plays = {play for one in ledger() for play in one.plays}
    assert len(plays) >= 10
    for play in plays:
        words = play.command.split()
        assert words[:3] == ["fedabm", "run", play.scenario]
        assert find(play.scenario).parameters(words[4::2]) == {**find(play.scenario).defaults, **dict(play.parameters)}
        assert dict(play.parameters).get("preset", "quick") == "quick"


def test_every_command_for_the_size_of_the_paper_is_one_that_its_scenario_takes() -> None:
    reasons = [one.reason for one in reproduce([one for one in ledger() if one.kind == "t"], TINY)]
    for reason in reasons:
        words = reason.partition("fedabm run ")[2].split()
        settings = [word for word in words[1:] if "=" in word]
        assert find(words[0]).parameters(settings)["preset"] == "paper"


def test_absent_data_are_named_and_nothing_is_played(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    waiting = [one for one in ledger() if any(play.data for play in one.plays) and one.id not in ("R19",)]
    results = reproduce(waiting, Budget("quick", 4))
    assert {one.id for one in results} >= {"D07", "M12", "R23", "P08", "P11", "P21"}
    assert {one.verdict for one in results} == {"not run here"}
    assert all("fedabm data list" in one.reason and "FEDABM_DATA" in one.reason for one in results)


def test_a_play_is_trained_in_another_process_and_judged(monkeypatch) -> None:
    small = Play.of("inclusive_market", attack="gaussian")
    told: list[str] = []
    row_ = Row("X1", "t", "", "", "", lambda budget: inclusive(tables(small), "paper's command"), (small,))
    (found,) = reproduce([row_], Budget("quick", 4), workers=1, told=told.append)
    assert (found.verdict, "12 owners" in found.ours) == ("reproduced", True), found
    assert told == ["trained: fedabm run inclusive_market --set attack=gaussian"]


def comparison(utility: float, accuracy: float) -> dict[str, pd.DataFrame]:
    rows = [
        ("cluster", "Local", 2, 0.5, 0.0),
        ("cluster", "FedAvg", 2, 0.7, 3.0),
        ("cluster", "iPFL", 2, accuracy, utility),
    ]
    return {"summary": pd.DataFrame(rows, columns=["split", "label", "seeds", "accuracy", "utility"])}


@pytest.mark.parametrize(
    ("utility", "accuracy", "decides", "verdict"),
    [
        (4.0, 0.72, True, "reproduced"),
        (4.0, 0.695, True, "reproduced"),
        (4.0, 0.68, True, "not run here"),
        (2.0, 0.72, True, "not run here"),
        (4.0, 0.72, False, "not run here"),
    ],
)
def test_figure_2_needs_the_highest_utility_and_comparable_accuracy(
    utility: float, accuracy: float, decides: bool, verdict: str
) -> None:
    found = best_of_all(comparison(utility, accuracy), "Some set", "Cluster", "fedabm run x", decides)
    assert (found.verdict, "FedAvg 70.0 %" not in found.ours) == (verdict, False)
    assert (verdict == "reproduced") != ("at the paper's size: fedabm run x" in found.reason)


@pytest.mark.parametrize(
    ("least", "median", "verdict"), [(0.5, 2.0, "reproduced"), (0.0, 1.0, "reproduced"), (-0.1, 1.0, "not run here")]
)
def test_figure_3_allows_no_loser(least: float, median: float, verdict: str) -> None:
    columns = ["label", "owners", "least", "median", "most", "lose"]
    rows = [("Local", 9, 0, 0, 0, 0), ("FedAvg", 9, -4, 1, 3, 0.5), ("iPFL", 9, least, median, 9, float(least < 0))]
    assert rational({"summary": pd.DataFrame(rows, columns=columns)}, "Some set", "", True).verdict == verdict


def attacks(points: float, worst: float, villain: float) -> dict[str, pd.DataFrame]:
    names = ["points", "worst seed", "utility", "attacker utility", "attacker exports"]
    rows = [("iPFL", "shuffle", points, worst, 20.0, villain, 0.0), ("Ditto", "shuffle", -9.0, -9.0, 0.0, 0.0, 8.0)]
    return {"summary": pd.DataFrame(rows, columns=["rule", "attack", *names])}


def test_figure_4_must_hold_with_the_papers_weight_of_similarity() -> None:
    good, bad, rich = attacks(-0.1, -0.4, 0.0), attacks(-0.5, -2.0, 0.0), attacks(0.0, 0.0, 30.0)
    assert attacked(good, good, "shuffle", "").verdict == "reproduced"
    only_strong = attacked(good, bad, "shuffle", "")
    assert (only_strong.verdict, "not with the paper's lambda=2" in only_strong.reason) == ("not run here", True)
    assert [attacked(bad, bad, "shuffle", "").verdict, attacked(rich, rich, "shuffle", "").verdict] == [
        "not run here"
    ] * 2


def test_a_lie_that_pays_in_a_seed_is_not_called_reproduced() -> None:
    def lies(change: float, paid: int) -> dict[str, pd.DataFrame]:
        names = ["who", "lie", "factor", "honest", "change", "paid in seeds"]
        rows = [("alone", "cost", 2.0, 9.0, -1.0, 0), ("alone", "cost", 5.0, 9.0, change, paid)]
        return {"summary": pd.DataFrame(rows, columns=names)}

    cases = [lying(lies(*case), "cost", (2.0, 5.0), "").verdict for case in ((-2.0, 0), (0.0, 0), (-2.0, 1), (2.0, 3))]
    assert cases == ["reproduced", "reproduced", "not run here", "not run here"]


@pytest.mark.parametrize(("sold", "bought", "verdict"), [(0.0, 0.8, "reproduced"), (0.5, 0.8, "x"), (0.0, 0.6, "x")])
def test_figure_5_needs_an_isolated_attacker_and_better_buyers(sold: float, bought: float, verdict: str) -> None:
    names = ["role", "alone", "accuracy", "payment", "utility", "exports a round"]
    rows = [("buyer", 0.7, bought, -5.0, 1.0, 0.0), ("seller", 0.7, 0.7, 5.0, 5.0, 1.0)]
    rows += [("trader", 0.7, 0.75, 0.0, 1.0, 1.0), ("attacker", 0.7, 0.1, 0.0, 0.0, sold)]
    found = inclusive({"summary": pd.DataFrame(rows, columns=names)}, "")
    assert found.verdict == ("reproduced" if verdict == "reproduced" else "not run here")


def test_the_order_of_protocols_must_exceed_the_spread() -> None:
    def order(pair: str, mw: float) -> dict[str, pd.DataFrame]:
        names = ["FedBR-BG >= FedBR", "FedBR >= MWFed", "FedBR >= FedAvg"]
        means = {"protocol": ["FedAvg", "MWFed", "FedBR", "FedBR-BG"], "utility": [1.0, mw, 3.0, 4.0]}
        return {"order": pd.DataFrame([["holds", pair, "holds"]], columns=names), "details": pd.DataFrame(means)}

    assert ordered(order("holds", 2.0), "", "").verdict == "reproduced"
    assert ordered(order("holds on average, within the spread over seeds", 2.0), "", "").verdict == "not run here"
    assert ordered(order("holds", 0.5), "", "").verdict == "not run here"


def test_payments_must_rise_and_balance() -> None:
    def case(rank: float, unbalanced: float, payers: float) -> str:
        row = {"case": "without budgets", "seeds": 2, "largest |sum of payments| in a step": unbalanced}
        row |= {"rank correlation with contribution": rank, "owners that pay %": payers, "worst utility": -1.0}
        return rising({"summary": pd.DataFrame([row])}, "").verdict

    assert case(1.0, 1e-13, 60.0) == "reproduced"
    assert [case(0.9, 0.0, 60.0), case(1.0, 0.1, 60.0), case(1.0, 0.0, 100.0)] == ["not run here"] * 3


def test_reciprocity_of_one_must_be_that_of_shapley_shares_only() -> None:
    def table(share: float, fair: tuple[bool, bool, bool]) -> str:
        rules, values = ("M^0", "M^BG", "M^Shap"), {"reciprocity": (0.5, 0.6, 0.98), "share %": (50, 70, share)}
        values |= {"accuracy %": (80, 85, 90), "data gain": (1, 1.4, 1.6)}
        long = [(rule, name, one) for name, column in values.items() for rule, one in zip(rules, column, strict=True)]
        spread = pd.DataFrame(long, columns=["mechanism", "measure", "average"])
        summary = pd.DataFrame({"mechanism": rules, "1 within error": fair, "seeds": 2})
        return reciprocal({"spread": spread, "summary": summary}, "").verdict

    assert table(90.0, (False, False, True)) == "reproduced"
    assert [table(60.0, (False, False, True)), table(90.0, (False, True, True))] == ["not run here"] * 2


def generous(self: ContributionSubsidy, accuracy, reports):  # type: ignore[no-untyped-def]
    """A subsidy that forgets to collect a tenth of what it pays."""
    claimed = reports.contribution
    payment = Line(-0.9 * self.rate * mean_of_others(claimed), np.full(len(claimed), self.rate))
    return full_access(accuracy, claimed, payment)


@pytest.mark.parametrize(
    ("target", "name", "broken", "ids"),
    [
        (ContributionSubsidy, "offers", generous, ("D04", "D06")),
        (PowerLaw, "curve_slope", lambda self, x: 1.02 * (x + self.offset) ** -2.0, ("R02", "R03")),
        (
            PacBound,
            "_width",
            lambda self, m: np.sqrt(self.complexity * (2 + np.log(m / self.complexity))),
            ("K01", "K09"),
        ),
        (Ramp, "value", lambda self, x: 1.01 * self.curve.value(x), ("R04", "K12")),
        (cost_sharing, "mean_of_others", lambda x: 0.9 * mean_of_others(x), ("M07",)),
        (SquareRootGain, "added", lambda self, total, more, eagerness: np.sqrt(eagerness * more), ("P17", "P18")),
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


def results_of_each_kind() -> list[Result]:
    return [
        Result(f"K{place:02d}", "a | b", "m*", "v_1 < [2]", verdict, "why", "fedabm run gpt3", 0.5)
        for place, verdict in enumerate(VERDICTS)
    ]


def test_markdown_has_a_line_per_row_and_keeps_signs() -> None:
    results = results_of_each_kind()
    page = markdown(results, TINY, dict.fromkeys((result.id for result in results), "c"))
    lines = [line for line in page.splitlines() if line.startswith("| K0")]
    assert len(lines) == 5
    assert r"| K00 | a \| b | m\* | v\_1 \< [2] | **reproduced** | why | `fedabm run gpt3` | quick |" in lines
    assert "| FAILED | 1 |" in page
    assert "## 003 Karimireddy" in page
    assert "Doshi" not in page


def test_console_shows_every_row_and_counts() -> None:
    results, console = results_of_each_kind(), Console(width=200, file=StringIO())
    show(results, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(result.id in text for result in results)
    assert "v_1 < [2]" in text
    assert text.count("fedabm run gpt3") == 5
    each = ", ".join(f"1 {verdict}" for verdict in VERDICTS)
    assert f"5 rows in 2 s: {each}" in text
    assert "FAILED" not in counts(results[:1])


def reproduce_command(*words: str) -> int:
    return command.run(command_line().parse_args(["reproduce", *words]))


@pytest.fixture
def few(monkeypatch):
    """Only three fast rows, with few instances."""
    chosen = [one for one in ledger() if one.id in ("R02", "K13", "P28")]
    monkeypatch.setattr(
        command, "ledger", lambda papers: [one for one in chosen if one.id[0] in {p.letter for p in papers}]
    )
    monkeypatch.setitem(BUDGETS, "quick", TINY)


def test_json_is_a_list_of_objects_with_the_agreed_fields(few, capsys) -> None:
    assert reproduce_command("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(one) for one in found] == [FIELDS] * 3
    assert [one["id"] for one in found] == ["R02", "K13", "P28"]
    assert all(isinstance(one["seconds"], float) for one in found)


def test_failed_rows_give_exit_code_1(few, capsys, monkeypatch) -> None:
    monkeypatch.setattr(PowerLaw, "curve_slope", lambda self, x: 0 * x + 0.1)
    assert reproduce_command("murhekar2025") == 1
    assert "1 FAILED" in capsys.readouterr().out


def test_the_page_is_written(few, capsys, tmp_path) -> None:
    assert reproduce_command("--write", str(tmp_path / "page.md")) == 0
    page = (tmp_path / "page.md").read_text()
    assert all(f"| {id} |" in page for id in ("R02", "K13", "P28"))
    assert "3 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("karimiredy2022",), "unknown paper 'karimiredy2022'; did you mean 'karimireddy2022'"),
        (("--budget", "quik"), "unknown budget 'quik'; did you mean 'quick'"),
        (("003", "--write", "page.md"), "leave the paper out"),
        (("--write", "no/such/folder/page.md"), "cannot write"),
    ],
)
def test_wrong_words_are_refused_before_any_work(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reproduce_command(*words)


def test_papers_are_found_by_number_and_by_name() -> None:
    assert (
        [find_paper(paper.number) for paper in PAPERS] == [find_paper(paper.name) for paper in PAPERS] == list(PAPERS)
    )


def test_the_page_of_the_project_is_complete_and_without_failures() -> None:
    page = (Path(__file__).parents[1] / "analysis" / "REPRODUCTION.md").read_text()
    lines = [line.split(" | ") for line in page.splitlines() if line[:3] in {f"| {letter}" for letter in ARTEFACTS}]
    assert [cells[0].removeprefix("| ") for cells in lines] == IDS
    assert "FAILED**" not in page
