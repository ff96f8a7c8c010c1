"""Rows that need training: what is played for them, and which verdict may follow from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm.cli import main
from fedabm.common.confidence import half_width
from fedabm.papers.doshi2025.order import order_verdict
from fedabm.papers.doshi2025.panels import decided
from fedabm.papers.doshi2025.trained_rows import rising, settled, welfare
from fedabm.papers.ipfl2025.evidence import RunEvidence
from fedabm.papers.ipfl2025.judges import inclusive
from fedabm.papers.ledger import training
from fedabm.papers.ledger.records import records_of
from fedabm.papers.ledger.rows import Budget, Finding, Play, Row
from fedabm.papers.ledger.runner import ledger, reproduce
from fedabm.papers.ledger.training import Tables, tables
from fedabm.papers.murhekar2023.trained_rows import decided as order_decided
from fedabm.papers.murhekar2023.trained_rows import ordered
from fedabm.papers.murhekar2025 import table_rows as reciprocity
from fedabm.papers.murhekar2025.printed import PRINTED, RULES
from fedabm.papers.murhekar2025.trained_rows import (
    fitted_at_length,
    reciprocal,
    reciprocal_at_length,
    stages_at_length,
)
from fedabm.papers.presets import more_seeds
from fedabm.study.library import find
from tests.papers.rows import TINY, TRAINED


def test_rows_that_need_training_say_so_and_how() -> None:
    waiting = [one for one in ledger() if one.kind == "t"]
    assert [one.id for one in waiting if one.id[0] == "D"] == [f"D{number:02d}" for number in TRAINED]
    results = reproduce([one for one in waiting if not records_of(one.decisive)], TINY)
    assert {result.verdict for result in results} == {"not run here"}
    assert all("fedabm run " in result.reason and result.preset.startswith("fedabm run ") for result in results)


def test_every_play_is_one_that_its_scenario_takes() -> None:
    plays = {play for one in ledger() for play in one.plays}
    assert len(plays) >= 10
    for play in plays:
        words = play.command.split()
        assert words[:3] == ["fedabm", "run", play.scenario]
        assert find(play.scenario).parameters(words[4::2]) == {**find(play.scenario).defaults, **dict(play.parameters)}
        assert dict(play.parameters).get("preset", "quick") == "quick"


def test_what_was_run_at_the_size_that_decides_never_reads_not_run_here() -> None:
    recorded = [one for one in ledger() if one.decisive and records_of(one.decisive)]
    results = reproduce(recorded, TINY)
    assert {"D13", "M12", "R23"} <= {one.id for one in results if one.verdict == "undecided"}
    for one in results:
        assert one.verdict not in ("not run here", "FAILED"), one
        assert (one.verdict == "undecided") == ("what would decide: " in one.reason), one


def test_more_seeds_are_asked_for_by_the_gap_and_its_deviation() -> None:
    """A deviation of 1 needs sqrt(n) > t(n - 1): 7 seeds (2.4469 < 2.6458), not 6 (2.5706 > 2.4495)."""
    width = 4.302653 / 3**0.5
    assert more_seeds(1.0, width, 3).startswith("about 7 seeds instead of 3")
    assert more_seeds(-1.0, width, 3) == more_seeds(1.0, width, 3)
    assert more_seeds(1e-3, width, 3).startswith("more than 1000 seeds")
    assert more_seeds(0.5, float("nan"), 1).startswith("at least 3 seeds")


@pytest.fixture
def unrecorded(monkeypatch) -> None:
    """As if nothing had been recorded."""
    monkeypatch.setattr(training, "records_of", lambda plays: [])


@pytest.mark.usefixtures("unrecorded")
def test_every_command_for_the_size_of_the_paper_is_one_that_its_scenario_takes() -> None:
    waiting = [one for one in ledger() if one.kind == "t"]
    reasons = [one.reason for one in reproduce(waiting, TINY)]
    for reason in reasons:
        words = reason.partition("fedabm run ")[2].split()
        settings = [word for word in words[1:] if "=" in word]
        assert find(words[0]).parameters(settings)["preset"] == "paper"


@pytest.mark.usefixtures("unrecorded")
def test_absent_data_are_named_and_nothing_is_played(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    waiting = [one for one in ledger() if one.kind == "t" and any(play.data for play in one.plays) and one.id != "R19"]
    results = reproduce(waiting, Budget("quick", 4))
    assert {one.id for one in results} >= {"D07", "M12", "M13", "R23", "P08", "P11", "P15", "P21"}
    assert {one.verdict for one in results} == {"not run here"}
    assert all("fedabm data list" in one.reason and "FEDABM_DATA" in one.reason for one in results)
    reasons = {one.id: one.reason for one in results}
    assert "put LEAF's femnist/train/*.json and femnist/test/*.json" in reasons["D24"]
    assert "SHA-256 of sent140_leaf_k30_test.csv.gz: 8f6a138b" in reasons["D13"]
    assert "run `fedabm data get cifar10`" in reasons["P08"]
    assert not any(str(tmp_path) in reason for reason in reasons.values()), "the page names no folder of a machine"


def test_a_play_is_trained_in_another_process_and_judged(monkeypatch) -> None:
    small = Play.of("inclusive_market", attack="gaussian", seeds=1)
    evidence = RunEvidence("Some set", "confirm", "fedabm run x")
    told: list[str] = []
    row_ = Row("X1", "t", "", "", "", lambda budget: inclusive(tables(small), evidence), (small,))
    (found,) = reproduce([row_], Budget("quick", 4), workers=1, say=told.append)
    assert (found.verdict, "12 owners" in found.ours) == ("reproduced", True), found
    assert told == ["trained: fedabm run inclusive_market --set attack=gaussian --set seeds=1"]


def p_means(gap: float, width: float, first: int = 0) -> Tables:
    """Three seeds of four protocols, each above the next by 1, but FedBR above MWFed by `gap` with this interval."""
    deviation = width / half_width(1.0, 3)
    rows = []
    for seed, sign in zip(range(first, first + 3), (-1, 0, 1), strict=True):
        fed_br = 2.0 + gap + sign * deviation
        means = {"FedAvg": 1.0, "MWFed": 2.0, "FedBR": fed_br, "FedBR-BG": fed_br + 1.0}
        rows += [(name, seed, p, mean) for name, mean in means.items() for p in (0.2, 1.0)]
    pairs = ["FedBR-BG - FedBR", "FedBR - MWFed", "FedBR - FedAvg", "MWFed - FedAvg"]
    order = {name: ["0.1 +- 0.2"] for name in pairs} | {name.replace(" - ", " >= "): ["holds"] for name in pairs}
    names = ["FedAvg", "MWFed", "FedBR", "FedBR-BG"]
    details = {"protocol": names, "utility": [1.0, 2.0, 3.0, 4.0], "data used %": 5.0}
    known = pd.DataFrame(rows, columns=["protocol", "seed", "p", "normalised"])
    rounds = pd.DataFrame({"label": "MWFed", "seed": [first, first + 1, first + 2, first + 2]})
    return {"order": pd.DataFrame(order), "details": pd.DataFrame(details), "rounds": rounds, "seeds": known}


@pytest.mark.parametrize(
    ("gap", "width", "verdict"),
    [(0.5, 0.2, "reproduced"), (-0.5, 0.2, "not reproducible"), (0.1, 0.2, "undecided"), (-0.1, 0.2, "undecided")],
)
def test_the_order_of_protocols_must_exceed_the_spread(gap: float, width: float, verdict: str) -> None:
    found = order_decided(p_means(gap, width), data="mnist", reason="")
    assert found.verdict == verdict
    remedy = f"what would decide: FedBR > MWFed: {more_seeds(gap, width, 3)}"
    assert found.reason.endswith(remedy) == (verdict == "undecided")
    small = ordered(p_means(gap, width), "cifar10", "", "fedabm run x")
    assert (small.verdict, small.ours[:9], "do not decide" in small.reason) == ("not run here", "CIFAR-10,", True)


def test_fresh_seeds_decide_the_order_and_records_must_agree_in_its_sign() -> None:
    """Earlier seeds say the opposite; one record of five says so, too, and then nothing is decided."""
    earlier, given = p_means(-0.5, 0.1), {"data": "mnist", "reason": "", "first": 6}
    fresh = [p_means(0.5, 0.2, first) for first in (6, 9)]
    assert order_decided(earlier, *fresh, **given).verdict == "reproduced"
    many = [p_means(1.6, 0.1, 6 + 3 * place) for place in range(4)]
    against = order_decided(earlier, *many, p_means(-0.1, 0.1, 30), **given)
    assert (against.verdict, "disagree in the sign" in against.reason) == ("undecided", True)


def test_public_curves_that_disagree_are_counted_and_not_their_seeds() -> None:
    """Curves that say +0.15, +0.05 and -0.05: mean 0.05, interval t(2) 0.1 / sqrt(3) whatever the seeds."""
    studies = [p_means(0.1 * place - 0.05, 0.01, 6 + 3 * place) for place in range(3)]
    against = order_decided(*studies, data="mnist", reason="", first=6)
    (gap,) = (one for one in against.intervals if one.name == "FedBR > MWFed")
    expected = (pytest.approx(0.05), pytest.approx(4.3027 * 0.1 / 3**0.5, 1e-4))
    assert (against.verdict, (gap.mean, gap.half)) == ("undecided", expected)
    count = more_seeds(gap.mean, gap.half, 3, unit="records")
    assert f"FedBR > MWFed: more public curves, a record each: {count}" in against.reason
    assert "records instead of 3" in count
    two = order_decided(*studies[::2], data="mnist", reason="", first=6)
    assert "more public curves, a record each: two tell no number" in two.reason


def test_records_of_one_seed_each_have_a_curve_each() -> None:
    """Three of them agree, and decide by their interval; each is there with its seed alone."""
    whole = p_means(0.5, 0.2)
    runs = [{**whole, "seeds": whole["seeds"].query(f"seed == {seed}")} for seed in (0, 1, 2)]
    found = order_decided(*runs, data="cifar10", reason="")
    assert (found.verdict, "by record +0.419, +0.5, +0.581" in found.reason) == ("reproduced", True)
    assert "3 seeds from 0 on, 3 public curves" in found.ours


def doshi_tables(gap: float, width: float, full: float, steps: tuple[float, ...] = (1.0,) * 100) -> Tables:
    """Ten owners, four seeds: two phases beat one by about `gap`, with this interval; `steps` scales it by round."""
    gaps = {("FedAvg", "2P-UPBReD"): (0.0, 0.0), ("2P-UPBReD", "UPBReD"): (gap, width)}
    gaps["2P-UPBReD", "FedAvgStrategic"] = (gap, width)
    rows = [(*pair, *both, order_verdict(*both)) for pair, both in gaps.items()]
    order = pd.DataFrame(rows, columns=["better", "worse", "ours", "+-", "verdict"])
    names = ["FedAvg", "UPBReD", "FedAvgStrategic", "FedAvgStrategic as printed", "2P-UPBReD", "2P-UPBReD"]
    columns = {"protocol": names, "subsidy": [float("nan")] * 4 + [0.5, 1.0]}
    columns |= {"welfare": [9.0, 9.0 - gap, 1.0, 9.0 - gap, 5.0, 9.0], "all contribute all": [False] * 5 + [full == 1]}
    columns |= {"less FedAvg": -gap, "gap +-": width, "data used %": 50.0, "seeds": 4}
    order = order.assign(seeds=4, printed=[0.03, 0.02, None])
    return {"order": order, "summary": pd.DataFrame(columns), "rounds": doshi_rounds(gap, width, steps)}


def doshi_rounds(gap: float, width: float, steps: tuple[float, ...], owners: int = 10) -> pd.DataFrame:
    """Mean accuracies; in phase 1, two steps, nothing is trained.  Over seeds 4 to 7 the gap has this interval."""
    deviation = width / half_width(1.0, 4) / (4 / 3) ** 0.5  # of (-1, -1, 1, 1), whose deviation is sqrt(4 / 3)
    rows = []
    for seed, sign in zip((4, 5, 6, 7), (-1, -1, 1, 1), strict=True):
        for step, scale in enumerate(steps, 1):
            ahead = scale * (gap + (0.0 if np.isnan(width) else sign * deviation)) / owners
            rows += [("FedAvg", seed, step, 1 + ahead, -9.0), ("UPBReD", seed, step, 1.0, -4.0)]
            rows += [("2P-UPBReD, 0.5", seed, step + 2, 0.1, -5.0), ("2P-UPBReD, 1", seed, step + 2, 1 + ahead, -9.0)]
        rows += [("2P-UPBReD, 1", seed, step, 0.0, 0.0) for step in (1, 2)]
    table = pd.DataFrame(rows, columns=["label", "seed", "step", "accuracy", "welfare"]).sort_values("step")
    table = table.sort_values("label", key=lambda names: names == "2P-UPBReD, 1", kind="stable")
    return table[table["seed"] == 4] if np.isnan(width) else table


@pytest.mark.parametrize(
    ("gap", "width", "verdict"),
    [
        (0.5, 0.2, "reproduced in part"),
        (-0.5, 0.2, "not reproducible"),
        (0.1, 0.2, "undecided"),
        (0.5, float("nan"), "undecided"),
    ],
)
def test_figure_1_is_decided_by_paired_gaps_and_never_by_what_is_equal_bit_for_bit(
    gap: float, width: float, verdict: str
) -> None:
    found = decided(doshi_tables(gap, width, 1.0), data="cifar10")
    assert found.verdict == verdict
    assert "FedAvg - 2P-UPBReD = +0 +- 0: equal, bit for bit: no evidence" in found.ours
    assert "in the authors' table (ten owners of FEMNIST) FedAvg - 2P-UPBReD = +0.03, 2P-UPBReD - UPBReD = +0.02" in (
        found.ours
    )
    assert "equals FedAvg: no evidence" in found.reason
    assert ("what would decide" in found.reason) == (verdict == "undecided")


def test_figure_1_says_that_costs_reverse_its_order_and_needs_three_points_for_a_curve() -> None:
    found = decided(doshi_tables(0.5, 0.2, 1.0), data="cifar10", what="subsidy")
    assert "UPBReD -4, FedAvg -9, 2P-UPBReD -9: the order of 2P-UPBReD and UPBReD is reversed" in found.reason
    assert "a curve against beta: no evidence (2 values of beta)" in found.reason
    assert "total accuracy FedAvg 9" in found.ours
    assert "a curve" not in decided(doshi_tables(0.5, 0.2, 1.0), data="cifar10").reason


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ((1.0,) * 14, "reproduced in part"),
        ((1.0, 1.0, 1.0, 0.9), "reproduced in part"),  # 0.9 - 4 * 0.1 is left after as many rounds again
        ((1.0, 1.0, 1.0, 0.7), "undecided"),  # 0.7 - 4 * 0.3 is not
        ((0.2, 0.2, -0.2, 1.0), "undecided"),
    ],
)
def test_a_gap_of_an_early_stage_must_outlast_as_many_rounds_again(steps: tuple[float, ...], verdict: str) -> None:
    assert decided(doshi_tables(0.5, 0.2, 1.0, steps), data="cifar10").verdict == verdict


def test_a_criterion_chosen_after_the_run_is_no_evidence_and_neither_is_a_bound_without_tau() -> None:
    """The largest costs of seeds 4 to 7 are above 0.5: a subsidy of 0.4 is below zeta + tau, one of 1 may not be."""
    found = settled(doshi_tables(0.5, 0.2, 1.0))
    assert found.verdict == "undecided"
    assert "full contribution below zeta + tau: no evidence (full from beta = 1 on" in found.reason
    assert "FedAvg poor in strategic settings: no evidence (" in found.reason
    assert "chosen after the run" in found.reason
    assert "the order of 2P-UPBReD and UPBReD is reversed" in found.reason
    low = doshi_tables(0.5, 0.2, 1.0)
    low["summary"] = low["summary"].replace({"subsidy": {1.0: 0.4}})
    assert settled(low).verdict == "reproduced in part"


def strategic_rounds(gap: float, steps: tuple[float, ...]) -> Tables:
    """What the planned run has: FedAvg, and strategic owners as printed that are behind it by about `gap`."""
    rounds = doshi_rounds(gap, 0.2, steps).replace({"label": {"UPBReD": "FedAvgStrategic as printed"}})
    return {"rounds": rounds[~rounds["label"].str.startswith("2P")]}


@pytest.mark.parametrize(
    ("gap", "steps", "verdict"),
    [
        (0.5, (1.0,) * 14, "reproduced in part"),
        (0.1, (1.0,) * 14, "undecided"),
        (-0.5, (1.0, 1.0, 1.0, 0.8), "undecided"),
        (0.5, (1.0, 1.0, 1.0, 0.7), "undecided"),  # gone in as many rounds again
    ],
)
def test_fresh_seeds_say_what_strategic_owners_cost(gap: float, steps: tuple[float, ...], verdict: str) -> None:
    found = settled(doshi_tables(-9.0, 0.2, 1.0), strategic_rounds(gap, steps))
    assert found.verdict == verdict, found.reason
    assert f"it loses by strategic owners as printed {gap * steps[-1]:+.3g} +- " in found.reason


def test_what_the_plan_needs_is_run_alone(tmp_path: Path) -> None:
    """FedAvg and strategic owners as printed; with no pair of the authors' order there is no empty table of it."""
    chosen = [word for text in ("data=digits", "seeds=1", "protocols=as_printed") for word in ("--set", text)]
    assert main(["run", "welfare_by_subsidy", *chosen, "--steps", "1", "--quiet", "--out", str(tmp_path / "x")]) == 0
    found = pd.read_csv(tmp_path / "x" / "summary.csv")["protocol"].tolist()
    assert (found, (tmp_path / "x" / "order.csv").exists()) == (["FedAvg", "FedAvgStrategic as printed"], False)


@pytest.mark.parametrize(
    ("few", "verdict"), [(0.5, "reproduced in part"), (0.1, "undecided"), (-0.5, "not reproducible")]
)
def test_a_panel_about_the_number_of_owners_needs_five_and_ten(few: float, verdict: str) -> None:
    """Only fresh seeds of five owners count: those below 3 are far from what they say."""
    ten, five = doshi_tables(0.5, 0.2, 1.0), doshi_tables(few, 0.2, 1.0)
    five["rounds"] = doshi_rounds(2 * few, 0.4, (1.0,) * 100)
    five["summary"] = five["summary"].assign(owners=5)
    seen = five["rounds"].assign(seed=five["rounds"]["seed"] - 4, accuracy=lambda rows: -99 * rows["accuracy"])
    old = {**five, "rounds": seen[seen["seed"] < 3]}
    found = decided(old, ten, five, data="sent140")
    assert found.verdict == verdict
    assert "Sent140 (for Twitter), 5 owners" in found.ours
    assert "; 10 owners" in found.ours
    assert f"beats UPBReD with 5 owners: {'not reproducible' if few < 0 else ''}" in found.reason


@pytest.mark.parametrize(
    ("phased", "words"), [(9.0, "equals FedAvg and beats"), (7.0, "not equal FedAvg and does not")]
)
def test_figure_1_says_what_holds_and_on_which_set(phased: float, words: str) -> None:
    ends = {"FedAvg": 9.0, "UPBReD": 8.0, "FedAvgStrategic": 1.0, "2P-UPBReD": phased}
    table = pd.DataFrame({"protocol": list(ends), "welfare": list(ends.values()), "seeds": 2, "owners": 20})
    found = welfare({"summary": table}, "owners", "femnist_digits", "because", "fedabm run x")
    assert found.verdict == "not run here"
    assert found.ours.startswith("FEMNIST digits, 20 owners, 2 seeds")
    assert words in found.ours


def test_trained_numbers_stand_beside_the_closed_form(monkeypatch) -> None:
    rules, measures = ("M^0", "M^BG", "M^Shap"), ("accuracy %", "share %", "reciprocity")
    spread = pd.DataFrame([(a, b, 50.0, 1.5) for a in rules for b in measures])
    spread.columns = pd.Index(["mechanism", "measure", "average", "deviation"])
    monkeypatch.setattr(reciprocity, "missing", lambda plays: [])
    monkeypatch.setattr(reciprocity, "tables", lambda play: {"spread": spread})
    monkeypatch.setattr(reciprocity, "records_of", lambda plays: [])
    closed = pd.DataFrame({"dataset": "x", "mechanism": "M^Shap", "share %": [3.0, 3.0], "data gain": [2.0, 2.2]})
    monkeypatch.setattr(reciprocity, "play", lambda *words, **settings: {"repetitions": closed})
    rows = {one.id: one for one in ledger()}
    lumpy, spreads = (rows[id].check(Budget("quick", 4)).reason for id in ("R24", "R20"))
    assert "trained at the quick size, with other costs: accuracy (50, 50, 50) %" in lumpy
    assert "accuracy (0.015, 0.015, 0.015) on mnist, fashion_mnist, cifar10" in spreads
    assert "trained at" not in rows["R24"].check(TINY).reason


def _table_1(share, gain, ratio, **more) -> pd.DataFrame:
    """MNIST of Table 1 with these numbers as ours."""
    theirs = {"share % printed": (5.8, 7.6, 54.9), "data gain printed": (1, 1.32, 9.51)}
    return pd.DataFrame(
        {"share %": share, "data gain": gain, "reciprocity": ratio, **theirs, "reciprocity printed": (0.61, 0.7, 1.0)}
    ).assign(**more)


def test_table_1_is_judged_by_equilibria_with_gains_and_reciprocity(monkeypatch) -> None:
    iterates = _table_1((6.3, 7.7, 54.5), (1, 1.22, 8.6), (0.58, 0.73, 1.0))
    told = {"converged": True, "equilibria": "unique", "gap": 0.0}
    solved = _table_1((21.1, 42.6, 100 * 3000 / 5440), (1, 2.06, 2.67), (0.34, 0.64, 1.0), **told)

    def verdict(equilibria: pd.DataFrame) -> str:
        def played(name, seed, preset="paper", **settings):
            return {"summary": equilibria if preset == "converged" else iterates}

        monkeypatch.setattr(reciprocity, "play", played)
        return next(one for one in ledger() if one.id == "R15").check(TINY).verdict

    assert verdict(solved) == "not reproducible"
    assert verdict(solved.assign(equilibria="open")) == "FAILED"
    assert verdict(solved.assign(converged=False)) == "FAILED"
    right = _table_1((5.8, 7.6, 54.9), (1, 1.32, 9.51), (0.61, 0.7, 1.0), **told)
    assert reciprocity._agrees(right)
    assert not reciprocity._agrees(solved)
    assert not reciprocity._agrees(_table_1((5.8, 7.6, 54.9), (1, 2.14, 2.14), (0.61, 0.7, 1.0)))


def test_the_spread_of_what_cannot_vary_is_called_vacuous(monkeypatch) -> None:
    once = pd.DataFrame({"dataset": "x", "mechanism": "M^Shap", "share %": [55.0, 55.0], "data gain": [2.0, 2.5]})
    monkeypatch.setattr(reciprocity, "play", lambda *words, **settings: {"repetitions": once})
    found = next(one for one in ledger() if one.id == "R20").check(TINY)
    assert found.ours.startswith("VACUOUS")


def test_the_quadratic_table_is_judged_by_its_parts() -> None:
    """Deviations of 0.1 over 5 seeds: a step has an interval of 0.1 * sqrt(2) * 2.776 / sqrt(5) = 0.176."""

    def table(
        share: float, *, fair: bool, accuracy=(80, 85, 90), gain: float = 1.6, ratio: float = 0.1, deviation=0.1
    ) -> Finding:
        values = {"reciprocity": (ratio, 0.6, 1.0), "share %": (50, 70, share), "acc. gain": (1, 1, 1.02)}
        values |= {"accuracy %": accuracy, "data gain": (1, 1.4, gain)}
        long = [(rule, name, one) for name, column in values.items() for rule, one in zip(RULES, column, strict=True)]
        spread = pd.DataFrame(long, columns=["mechanism", "measure", "average"])
        summary = pd.DataFrame({"mechanism": RULES, "1 within error": (False, False, fair), "seeds": 5})
        study = {"spread": spread.assign(deviation=deviation), "summary": summary}
        alone = reciprocal_at_length(study)
        assert (alone.verdict, alone.reason.count("no evidence (")) == ("undecided", 5)
        assert alone.reason.count("a part that was chosen after the run") == 5
        return reciprocal_at_length(study, study)

    assert table(90.0, fair=True).verdict == table(60.0, fair=True).verdict == "reproduced in part"
    assert "share M^0 < M^BG < M^Shap: reproduced" in table(90.0, fair=False).reason
    assert "a data gain of that size: not reproducible (1.60 for 31.18)" in table(90.0, fair=True).reason
    assert table(60.0, fair=False).verdict == "not reproducible"
    assert table(90.0, fair=True, accuracy=(80, 79, 90), gain=30.0, ratio=0.9).verdict == "reproduced"
    assert "share M^0 < M^BG < M^Shap: reproduced (+20 +- 0.18, +20 +- 0.18)" in table(90.0, fair=True).reason
    assert "share M^0 < M^BG < M^Shap: undecided" in table(90.0, fair=True, deviation=20.0).reason


def test_fitted_weights_are_held_against_appendix_e() -> None:
    def weights(factor: float) -> str:
        cells = {
            f"w{g + 1}{h + 1}": f"{factor * value:.4g} ({value:g})"
            for g, line in enumerate(PRINTED["mnist"].weights)
            for h, value in enumerate(line)
        }
        rows = [{"chance": form, "R^2": 0.9, **cells} for form in ("zero", "free", "zero")]
        return fitted_at_length({"weights": pd.DataFrame(rows)}).verdict

    assert [weights(1.5), weights(0.5)] == ["reproduced after correction"] * 2
    assert weights(10.0) == "not reproducible"


def test_stages_must_balance_and_settle() -> None:
    def staged(unbalanced: float, marginal: float, batches: float = 2.0) -> Tables:
        rows = [{"batches of an owner": last, "accuracy": 0.5} for last in (2.0, batches)]
        return {
            "summary": pd.DataFrame(rows).assign(**{"|sum of payments|": unbalanced, "|marginal utility|": marginal})
        }

    near, far, moving = staged(0.0, 1e-4), staged(0.0, 0.02), staged(0.0, 0.02, 2.2)
    assert [stages_at_length(one).verdict for one in (near, far)] == ["reproduced", "undecided"]
    assert [stages_at_length(staged(0.1, worth)).verdict for worth in (1e-4, 0.02)] == ["FAILED"] * 2
    fresh_ones = [(near, near), (far, far), (near, far), (far, moving)]
    verdicts = [stages_at_length(far, *both) for both in fresh_ones]
    assert [one.verdict for one in verdicts] == ["reproduced", "reproduced in part", "undecided", "undecided"]
    assert "an equilibrium is near: not reproducible" in verdicts[1].reason


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
        found = reciprocal({"spread": spread, "summary": summary}, "")
        assert found.verdict == "not run here"
        return "; as printed" if "; as printed" in found.reason else "; NOT as printed"

    assert table(90.0, (False, False, True)) == "; as printed"
    assert [table(60.0, (False, False, True)), table(90.0, (False, True, True))] == ["; NOT as printed"] * 2
