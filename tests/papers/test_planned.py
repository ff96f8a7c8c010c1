"""iPFL 2025 by runs that were planned beforehand: fresh seeds decide, earlier ones stand beside them."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from fedabm.papers.ipfl2025.evidence import RunEvidence, utilities
from fedabm.papers.ipfl2025.judges import lying_anew
from fedabm.papers.ipfl2025.longer import _richest, at_full, at_half
from fedabm.papers.ipfl2025.planned import PlannedAttack, attacked_anew
from fedabm.papers.ledger.rows import Finding
from fedabm.papers.ledger.standard import Tables

LARGE = RunEvidence("Some set", "decide", "fedabm run x", decisive=True, rounds=50)
PLAN = PlannedAttack("shuffle", 11, "a note")


def earlier(change: float = 99.0, rival: float = -9.0) -> Tables:
    """Three seeds of the market, whose attacker gains, and of a rival under which benign owners lose."""
    names = ["points", "s.d.", "attacker utility before", "attacker change", "attacker change s.d.", "moved"]
    rows = [
        ("iPFL", "shuffle", 0.0, 0.1, 20.0, change, 1.0, 0.0),
        ("Ditto", "shuffle", rival, 0.1, 9.0, -1.0, 0.0, 0.0),
    ]
    table = pd.DataFrame(rows, columns=["rule", "attack", *names]).assign(seeds=3)
    rounds = [(f"{rule}, shuffle", seed, step, 5.0) for rule in ("iPFL", "Ditto") for seed in (0, 1) for step in (1, 2)]
    return {"summary": table, "rounds": pd.DataFrame(rounds, columns=["label", "seed", "step", "welfare"])}


def fresh(change: float, points: float = 0.0, before: float | None = None, moved: float = 0.0) -> Tables:
    """Seeds 10 to 13, in which the attacker's utility of 20 changes so; what seed 10 has does not count."""
    rows = []
    for seed, sign in zip((10, 11, 12, 13), (0, -1, 0, 1), strict=True):
        late = 1e6 if seed == 10 else 20.0 + change + sign
        early = 20.0 + (change if before is None else before) + sign
        rows.append(("iPFL", "shuffle", seed, points + 0.1 * sign, 20.0, late, points + 0.1 * sign, 20.0, early, moved))
    names = ["points", "attacker before", "attacker"]
    columns = ["rule", "attack", "seed", *names, *(f"{name} at 3/4" for name in names), "moved"]
    return {"seeds": pd.DataFrame(rows, columns=columns)}


def unmeasured(run: Tables) -> Tables:
    """The same, without accuracies after three quarters of the rounds."""
    return {"seeds": run["seeds"].assign(**{"points at 3/4": 0.0})}


@pytest.mark.parametrize(
    ("run", "verdict", "why"),
    [
        (fresh(-9.0), "reproduced in part", "accuracies: reproduced in part"),
        (fresh(9.0), "not reproducible", "under no rival"),
        (fresh(-1.0), "undecided", "within the spread over seeds"),
        (fresh(-9.0, before=9.0), "undecided", "three quarters of the rounds say otherwise"),
        (fresh(-9.0, moved=0.06), "undecided", "trade has not settled"),
        (fresh(-9.0, points=-3.0), "undecided", "accuracies at this length cannot refute"),
        (unmeasured(fresh(-9.0)), "undecided", "not measured after three quarters"),
    ],
)
def test_figure_4_is_decided_by_fresh_seeds_alone(run: Tables, verdict: str, why: str) -> None:
    found = attacked_anew(earlier(), earlier(), run, evidence=LARGE, plan=PLAN)
    assert (found.verdict, why in found.reason) == (verdict, True), found
    assert "fresh seeds 11 to 13 of iPFL: iPFL, 3 seeds" in found.ours
    assert ("what would decide" in found.reason) == (verdict == "undecided")


def test_figure_4_is_refuted_by_a_rival_of_earlier_seeds_and_waits_without_fresh_ones() -> None:
    rival = earlier(rival=0.0)
    found = attacked_anew(rival, rival, fresh(-9.0), evidence=LARGE, plan=PLAN)
    assert (found.verdict, "so it is under Ditto" in found.reason) == ("not reproducible", True)
    assert attacked_anew(earlier(), earlier(), evidence=LARGE, plan=PLAN).verdict == "not reproducible"


def longer(seed: int, lead: float, points: float, last: float = 1.0, before: float | None = None) -> Tables:
    """One seed of 8 rounds; the market is ahead of pFedGraph so much in utility and in points of accuracy."""
    early = points if before is None else before
    rows = []
    for step in range(1, 9):
        ahead, share = (points, last) if step > 6 else (early, 1.0)
        rows += [
            ("iPFL", seed, step, 0.7 + 0.01 * ahead, 9 * (5.0 + lead) * share),
            ("pFedGraph", seed, step, 0.7, 45.0),
        ]
        rows += [("Local", seed, step, 0.6, 0.0)]
    return {"rounds": pd.DataFrame(rows, columns=["label", "seed", "step", "accuracy", "welfare"])}


def figure_2(*cases: tuple[float, ...]) -> Finding:
    names = ["split", "label", "seeds", "accuracy", "utility", "moved"]
    rows = [
        ("cluster", name, 1, 0.5, utility, 0.0) for name, utility in (("Local", 0.0), ("FedAvg", 1.0), ("iPFL", 2.0))
    ]
    short = {"summary": pd.DataFrame(rows, columns=names), "rounds": longer(0, 1.0, 0.0)["rounds"]}
    short["rounds"] = short["rounds"].replace("pFedGraph", "FedAvg")
    beside = {"summary": short["summary"], "rounds": short["rounds"]}
    runs = [longer(seed, *case) for seed, case in enumerate(cases, 1)]
    return at_half(short, beside, *runs, evidence=replace(LARGE, rounds=8), part="Cluster", owners=9)


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        (((2.0, 0.0), (2.5, 0.1), (3.0, -0.1)), "reproduced"),
        (((1.0, 0.0), (2.0, 0.1), (3.0, -0.1)), "undecided"),  # highest in every seed, by 2 +- 2.5
        (((2.0, -0.4), (2.5, -0.5), (3.0, -0.6)), "reproduced"),  # on average within a point, beyond the interval
        (((2.0, -0.8), (2.5, -0.9), (3.0, -1.2)), "undecided"),  # within a point, by 0.03 +- 0.5
        (((-2.0, 0.0), (-2.5, 0.1), (-3.0, -0.1)), "not reproducible"),
        (((1.0, 0.0), (2.0, 0.1), (-3.0, -0.1)), "undecided"),
        (((1.0, 0.0, 1.2), (2.0, 0.1, 1.2), (3.0, -0.1, 1.2)), "undecided"),  # utility moved by a sixth
        (((1.0, -5.0), (2.0, -5.1), (3.0, -4.9)), "not reproducible"),
        (((1.0, -5.0, 1.0, -6.0), (2.0, -5.1, 1.0, -6.0), (3.0, -4.9, 1.0, -6.0)), "undecided"),  # it comes closer
        (((1.0, -1.0), (2.0, -9.0), (3.0, 4.0)), "undecided"),
    ],
)
def test_figure_2_at_half_of_the_length_is_decided_as_planned(
    cases: tuple[tuple[float, ...], ...], verdict: str
) -> None:
    found = figure_2(*cases)
    assert found.verdict == verdict, found
    assert "fresh seeds 1 to 3, 8 rounds" in found.ours


def test_figure_2_needs_the_lead_in_the_rounds_that_were_run() -> None:
    """Behind by 8 in the first round and ahead by 1 in the seven others: ahead only if the last counts for 50."""
    runs = [longer(seed, 1.0, 0.0) for seed in (1, 2, 3)]
    rounds = pd.concat([one["rounds"] for one in runs])
    assert _richest(rounds, utilities(rounds, 50)).proof == "reproduced"
    for one in runs:
        first = (one["rounds"]["label"] == "iPFL") & (one["rounds"]["step"] == 1)
        one["rounds"].loc[first, "welfare"] -= 9 * 9.0
    rounds = pd.concat([one["rounds"] for one in runs])
    part = _richest(rounds, utilities(rounds, 50))
    assert (part.proof, "not in the rounds that were run" in part.why) == ("undecided", True)


def test_figure_2_waits_for_the_planned_runs() -> None:
    found = figure_2()
    assert "fresh" not in found.ours


@pytest.mark.parametrize(
    ("buyers", "traders", "verdict"),
    [
        ((1.0, 1.1, 1.2), (1.0, 1.1, 1.2), "reproduced"),
        ((1.0, 1.1, 1.2), (-1.0, -1.1, -1.2), "not reproducible"),
        ((1.0, 1.1, 1.2), (-1.0, 1.1, 1.2), "undecided"),
    ],
)
def test_figure_5_at_the_length_of_the_paper_is_decided_by_both_roles(buyers, traders, verdict: str) -> None:
    def market(buyer: float, trader: float) -> Tables:
        points = {"role": ["buyer", "trader", "seller"], "points": [buyer, trader, 0.0], "points s.d.": 1.0}
        return {"summary": pd.DataFrame(points).assign(seeds=3)}

    runs = [market(*both) for both in zip(buyers, traders, strict=True)]
    assert at_full(market(-1.0, -1.0), *runs, evidence=LARGE).verdict == verdict
    assert at_full(market(-1.0, -1.0), evidence=LARGE).verdict == "undecided"


def test_table_2_is_decided_by_fresh_seeds() -> None:
    def lies(paid: int, moved: float = 0.0) -> Tables:
        names = ["who", "lie", "factor", "honest", "utility", "change", "best seed", "paid in seeds", "moved"]
        rows = [("alone", "cost", 2.0, 9.0, 8.0, -1.0, 0.5 if paid else -1.0, paid, moved)]
        table = pd.DataFrame(rows, columns=names).assign(accuracy=0.7, points=0.0, seeds=3)
        return {"summary": table, "seeds": pd.DataFrame({"seed": [2, 3, 4]})}

    chosen = {"evidence": LARGE, "lie": "cost", "factors": (2.0,)}
    assert lying_anew(lies(1), lies(0), **chosen).verdict == "reproduced"
    assert lying_anew(lies(0), lies(1), **chosen).verdict == "not reproducible"
    assert lying_anew(lies(0), lies(0, 0.06), **chosen).verdict == "undecided"
    assert lying_anew(lies(1), **chosen).verdict == "not reproducible"
    assert "(fresh seeds 2 to 4); earlier" in lying_anew(lies(1), lies(0), **chosen).ours
