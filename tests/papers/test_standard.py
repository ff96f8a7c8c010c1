"""One standard of proof: what share, settled or not, and which verdict follows; the head of the page says the same."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.papers.ledger import training
from fedabm.papers.ledger.records import records_of
from fedabm.papers.ledger.render import markdown
from fedabm.papers.ledger.rows import Budget, Finding, Play
from fedabm.papers.ledger.runner import ledger, reproduce
from fedabm.papers.ledger.standard import EXCEPTIONS, RULES, ClaimPart, Course, Length, drift, joined, part_of
from tests.papers.rows import TINY


def course(*means: float, width: float = 0.1) -> Course:
    """Three seeds whose mean takes this course, apart by about `width`."""
    return Course(pd.DataFrame([[mean + shift for mean in means] for shift in (-0.4 * width, 0.0, 0.4 * width)]))


FLAT, GROWS, SHRINKS, GOES = (1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 2.0), (1.0, 1.0, 1.0, 0.9), (1.0, 1.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("means", "share", "holds", "fails"),
    [
        (FLAT, 0.05, "reproduced", "not reproducible"),
        (GROWS, 1.0, "reproduced", "not reproducible"),
        (GOES, 1.0, "reproduced", "not reproducible"),
        (GROWS, 0.5, "reproduced", "not reproducible"),
        (GROWS, 0.4, "reproduced in part", "undecided"),
        (SHRINKS, 0.5, "reproduced in part", "undecided"),
        (SHRINKS, 0.1, "reproduced in part", "undecided"),
        (GOES, 0.5, "undecided", "undecided"),
        ((1.0, 1.0, -1.0, 1.0), 0.5, "undecided", "undecided"),
        ((1.0, 1.0, 0.01, 1.0), 0.5, "undecided", "undecided"),
        ((1.0, 1.0, 1.0, 0.01), 1.0, "undecided", "undecided"),
    ],
)
def test_the_verdict_follows_from_share_and_course(means, share, holds, fails) -> None:
    """The same course below zero is a refutation where the length allows one."""
    assert part_of("x", course(*means), share).proof == holds
    assert part_of("x", course(*(-mean for mean in means)), share).proof == fails


@given(
    st.lists(st.lists(st.floats(-2, 2), min_size=8, max_size=8), min_size=2, max_size=5),
    st.sampled_from((0.05, 0.4, 0.5, 1.0)),
)
def test_equal_evidence_gives_equal_verdicts(rows: list[list[float]], share: float) -> None:
    """Whatever the order of seeds and the unit; and of a statement and its opposite not both are confirmed."""
    known = pd.DataFrame(np.round(rows, 1))
    proof = part_of("x", Course(known), share).proof
    assert part_of("x", Course(known.iloc[::-1]), share).proof == proof
    assert part_of("x", Course(4 * known), share).proof == proof
    confirmed = {"reproduced", "reproduced in part"}
    assert not (proof in confirmed and part_of("x", Course(-known), share).proof in confirmed)


def test_settled_is_five_per_cent_of_the_last_quarter() -> None:
    assert drift(pd.DataFrame([[9.0, 0.0, 1.04, 1.0]])) == pytest.approx(0.04)
    assert drift(pd.DataFrame([[0.0, 0.0]])) == 0.0
    assert drift(pd.DataFrame([[9.0, 9.0, 1.0, 0.0]])) == float("inf")
    assert course(1.0, 1.0, 1.04, 1.0).settled
    assert not course(1.0, 1.0, 1.06, 1.0).settled


@pytest.mark.parametrize(
    ("proofs", "verdict", "cases"),
    [
        (("reproduced", "reproduced"), "reproduced", "reproduced"),
        (("reproduced", "no evidence"), "reproduced in part", "reproduced in part"),
        (("reproduced", "not reproducible"), "reproduced in part", "not reproducible"),
        (("reproduced", "undecided"), "undecided", "undecided"),
        (("undecided", "not reproducible"), "not reproducible", "not reproducible"),
        (("no evidence", "not reproducible"), "not reproducible", "not reproducible"),
        (("no evidence", "no evidence"), "undecided", "undecided"),
        (("reproduced in part", "no evidence"), "reproduced in part", "reproduced in part"),
    ],
)
def test_parts_make_the_verdict_in_any_order(proofs, verdict, cases) -> None:
    for order in permutations(proofs):
        parts = [ClaimPart(f"part {place}", proof, "why") for place, proof in enumerate(order)]
        assert joined("", parts).verdict == verdict
        assert joined("", parts, every=True).verdict == cases
        assert all(f"part {place}: {proof} (why)" in joined("", parts).reason for place, proof in enumerate(order))


def test_the_part_that_makes_the_verdict_is_told_first() -> None:
    shown = ClaimPart("a", "reproduced", "why")
    for proof, every in (("undecided", False), ("not reproducible", True)):
        assert joined("", [shown, ClaimPart("b", proof, "why")], every=every).reason.startswith(
            f"b: {proof} (why); a: "
        )


def test_what_would_tell_the_rest_is_said() -> None:
    parts = [ClaimPart("a", "reproduced", "why"), ClaimPart("b", "no evidence", "why", "a run")]
    assert joined("", parts).reason.endswith("; the rest needs: b: a run")
    assert joined("", parts[:1]).reason == "a: reproduced (why)"


def test_length_is_a_share_of_rounds_and_local_steps() -> None:
    """Ten steps of the label that has fewest: a first phase comes on top."""
    table = pd.DataFrame({"label": ["a", "b"], "seed": [3, 4], "step": [10, 14]})
    length, found = Length(50, (9, 10), 5, (50, 200)), {"rounds": table}
    assert length.share(found) == 0.05
    assert length.share(found, like_paper=True) == 0.2
    assert length.words([(found, False)]) == (
        "length: 10 of the paper's 50 rounds of 50 local steps for 200 (5%), 9 of 10 owners, 2 seeds (the paper: 5)"
    )
    assert "length: 10 of the paper's 50 rounds (20%)" in length.words([(found, True)])


def test_length_is_that_of_the_runs_which_decide() -> None:
    """The shortest of those that count, without a longer one beside it; fresh seeds alone, from the first on."""
    runs = [({"rounds": pd.DataFrame({"label": "a", "seed": seeds, "step": step})}, False) for seeds, step in _RUNS]
    short, beside, fresh = runs
    both, alone = Length(50, (9, 9)), Length(50, (9, 9), decides=1, fresh=True, first=11)
    assert "4 of the paper's 50 rounds (8%), 9 of 9 owners, 5 seeds" in both.words(
        both.counted([short, beside], [fresh])
    )
    assert "4 of the paper's 50 rounds (8%), 9 of 9" in alone.words(alone.counted([short, beside], []))
    assert alone.words(alone.counted([short, beside], [fresh])).endswith(
        "8 of the paper's 50 rounds (16%), 9 of 9 owners, 2 seeds"
    )


_RUNS = (([0, 1], 4), ([0, 0], 25), ([10, 11, 12], 8))


def test_every_row_that_rests_on_records_says_how_long_they_are() -> None:
    recorded = [one for one in ledger() if one.kind == "t" and one.decisive and records_of(one.decisive)]
    assert len(recorded) > 30
    for one in reproduce(recorded, TINY):
        assert "; length: " in one.reason, one.id
        assert "recorded: " in one.reason, one.id


def test_rows_on_the_same_evidence_have_the_same_verdict() -> None:
    """P22 and P23 are two attacks that do the same to every rule; D08 and D09 read the same runs."""
    found = {one.id: one.verdict for one in reproduce([one for one in ledger() if one.kind == "t"], TINY)}
    assert found["P22"] == found["P23"]
    assert found["D08"] == found["D09"]
    assert found["D14"] == found["D15"]
    assert found["P19"] == found["P20"] == found["P21"]


def test_a_part_of_the_planned_runs_decides_nothing(monkeypatch) -> None:
    plays = tuple(Play.of("market_attacks", seed=seed) for seed in (1, 2))
    monkeypatch.setattr(training, "record_of", lambda play: None if play.seed == 2 else play)
    some = training.waiting(Finding("1", "reproduced", "why"), plays, 1)
    assert some.verdict == "undecided"
    assert some.reason.startswith("1 of 2 planned runs are there; so far: reproduced; why; what would decide: fedabm")
    assert training.waiting(Finding("1", "reproduced", "why"), plays, 2).verdict == "reproduced"
    monkeypatch.setattr(training, "record_of", lambda play: None)
    none = training.waiting(Finding("1", "undecided", "why"), plays, 0)
    assert (none.verdict, none.reason.count("fedabm record market_attacks")) == ("undecided", 2)


def test_the_head_of_the_page_is_the_standard() -> None:
    page = markdown([], Budget("quick", 1), {})
    assert "\n".join(RULES) in page
    assert "5% of itself over the last quarter" in " ".join(RULES)
    assert "from 50% of the paper's length on" in " ".join(RULES)
    assert all(f"*{ids}*: {rule}." in RULES for ids, rule in EXCEPTIONS.items())


def test_every_row_is_judged_as_the_head_says() -> None:
    """What is decided is beyond its interval, and rules of the plan that are not the standard are named at the head."""
    rows = [one for one in ledger() if one.kind == "t" and one.decisive and records_of(one.decisive)]
    named = {id for ids in EXCEPTIONS for id in ids.split(", ")}
    by_the_standard = {"D13", "D19"}
    assert {one.id for one in ledger() if one.planned} - by_the_standard <= named <= {one.id for one in ledger()}
    checked = 0
    for found in reproduce(rows, TINY):
        for one in found.intervals:
            decided = [word for word in ("reproduced", "not reproducible") if f"{one.name}: {word}" in found.reason]
            checked += len(decided)
            assert not decided or not abs(one.mean) <= one.half, (found.id, one)
        early = "at an early stage" in found.reason and "accuracies: undecided" in found.reason
        assert not early or found.verdict == "undecided", found.id
    assert checked > 3
