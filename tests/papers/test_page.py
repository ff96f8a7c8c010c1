"""The ledger as cards: every row, its numbers beside what is printed, sentences that do not outlive their evidence."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedabm.papers.ledger.page import html
from fedabm.papers.ledger.pictures import picture, stacked
from fedabm.papers.ledger.rows import VERDICTS, ClaimInterval, Result
from fedabm.papers.ledger.runner import ledger, reproduce
from fedabm.papers.ledger.takeaways import TAKEAWAYS, outlived
from tests.papers.rows import IDS, TINY

CHOSEN = ("D01", "D07", "M12", "P22", "P27")
PAGES = Path(__file__).parents[2] / "analysis"


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return reproduce([one for one in ledger() if one.id in CHOSEN], TINY)


def test_every_row_has_a_card_with_its_verdict_and_no_script(results) -> None:
    page = html(results, ledger())
    cards = re.findall(r'<article class="card ([\w-]+) kind-(\w+)" id="(\w+)">', page)
    assert {id for _, _, id in cards} == set(CHOSEN)
    assert {id: slug for slug, _, id in cards} == {one.id: one.verdict.replace(" ", "-") for one in results}
    assert {id: kind for _, kind, id in cards} == {"D01": "closed"} | dict.fromkeys(CHOSEN[1:], "recorded")
    assert "<script" not in page
    assert "http" not in re.sub(r"http-equiv", "", page)


def test_cards_show_what_a_verdict_turns_on(results) -> None:
    by_id = {one.id: one for one in results}
    assert [one.name for one in by_id["D07"].intervals] == [f"beats UPBReD with {count} owners" for count in (5, 10)]
    assert {one.name.partition(":")[0] for one in by_id["P22"].intervals} >= {"iPFL", "pFedGraph"}
    pairs = ["FedBR-BG > FedBR", "FedBR > MWFed", "MWFed > FedAvg"]
    assert [one.name for one in by_id["M12"].intervals] == pairs
    assert f"{pairs[2]}: reproduced ({by_id['M12'].intervals[2].mean:+.3g}" in by_id["M12"].reason
    page = html(results, ledger())
    assert page.count('class="evidence"') == sum(bool(one.intervals) for one in results)
    assert re.search(r"recorded</dt><dd>\d+\.\d hours on one core", page)


def test_a_picture_has_its_interval_zero_and_what_is_printed_in_the_right_places() -> None:
    drawn = picture(ClaimInterval("a < b", 1.0, 1.0, 4.0))
    zero, (left, right) = 10.0, (10.0, 210.0)
    assert f'<line x1="{zero}" y1="2"' in drawn
    assert f'x1="{left}" y1="17" x2="{right}"' in drawn
    assert '<circle cx="110.0"' in drawn
    assert 'points="410.0,10 417.0,17' in drawn
    assert "a &lt; b: +1 ± 1, printed +4" in drawn
    assert "one seed" in picture(ClaimInterval("alone", -1.0, math.nan))


def test_a_bar_has_a_piece_per_verdict() -> None:
    drawn = stacked([("reproduced", 3), ("undecided", 1)])
    assert 'width="450.0"' in drawn
    assert 'x="450.0" y="0" width="150.0"' in drawn
    assert 'aria-label="3 reproduced, 1 undecided"' in drawn


def test_a_sentence_whose_evidence_has_changed_says_so(results) -> None:
    stands = next(one for one in TAKEAWAYS if "D07" in one.rows)
    changed = [replace(one, verdict="reproduced") if one.id == "D07" else one for one in results]
    assert outlived(stands, results) == []
    assert outlived(stands, changed) == ["D07: reproduced"]
    assert "No longer so in D07: reproduced." in html(changed, ledger())


@pytest.mark.parametrize("takeaway", TAKEAWAYS, ids=lambda one: one.sentence[:30])
def test_five_sentences_rest_on_the_verdicts_of_the_committed_page(takeaway) -> None:
    text = (PAGES / "REPRODUCTION.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| (\w+) \|.* \| \*\*([a-zA-Z ]+)\*\* \|", text, re.MULTILINE))
    assert set(takeaway.rows) <= set(IDS)
    assert set(takeaway.rows.values()) <= set(VERDICTS)
    assert {id: found[id] for id in takeaway.rows} == takeaway.rows


def test_the_committed_cards_are_those_of_the_committed_page() -> None:
    text = (PAGES / "REPRODUCTION.md").read_text(encoding="utf-8")
    cards = (PAGES / "REPRODUCTION.html").read_text(encoding="utf-8")
    in_text = dict(re.findall(r"^\| (\w+) \|.* \| \*\*([a-zA-Z ]+)\*\* \|", text, re.MULTILINE))
    in_cards = {
        id: slug.replace("-", " ") for slug, id in re.findall(r'class="card ([\w-]+) kind-\w+" id="(\w+)"', cards)
    }
    assert in_cards == in_text
    assert list(in_cards) == IDS
    assert "No longer so" not in cards
