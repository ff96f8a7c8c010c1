"""One glossary, in the documentation, on cards and in reports; numbers that read as in the terminal."""

from __future__ import annotations

import pytest

from fedabm import Federation, Game, InputError, Scenario, audit, population, save
from fedabm.accuracy import PowerLaw
from fedabm.auditing import SearchEffort
from fedabm.auditing.card import Thoroughness
from fedabm.auditing.page import page
from fedabm.auditing.runs import Interval
from fedabm.common.errors import check_number
from fedabm.common.glossary import GLOSSARY
from fedabm.common.texts import others, readable
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.report import write_report
from fedabm.report.tables import text

WORDS = {word for words in GLOSSARY.values() for word in words}


def test_it_has_the_words_of_tables_and_cards_once():
    assert {"owner", "claim", "report", "eagerness", "found", "certified", "at rest", "knowledge", "evidence"} <= WORDS
    assert sum(map(len, GLOSSARY.values())) == len(WORDS)
    assert all(said.endswith((".", "_i.", ").")) for words in GLOSSARY.values() for said in words.values())


def test_cards_and_reports_link_to_it(tmp_path):
    few = Thoroughness(SearchEffort(5, 1), (), 0, 1, 0, others_move=False, fewer=False)
    made = page(audit(Game(PowerLaw(), [0.1, 0.2], 50.0, ContributionSubsidy(0.05)), thoroughness=few))
    save(
        Federation(Scenario(population([0.1], 1.0), PowerLaw(), NoPayments(), steps=1)).run().frames(), tmp_path / "out"
    )
    for shown in (made, write_report(tmp_path / "out").read_text("utf-8")):
        assert '<a href="#words">' in shown
        assert all(f"<dt>{word}</dt>" in shown for word in WORDS)


def test_numbers_read_as_in_the_terminal():
    assert [text(12184.3), text(0.5), text(120000)] == ["12,184", "0.5", "120,000"]
    assert [readable(-1234.5), readable(2.0, sign=True), readable(float("inf"))] == ["-1,234", "+2", "inf"]
    assert others(-0.04) == "the others gain 0.04"
    assert Interval(-0.5, -1.0, 0.25).lost == "the others gain 0.5 (95%: -0.25 to 1)"
    assert Interval(2.0, 2.0, 2.0).lost == "the others lose 2 with every seed"


def test_a_decimal_comma_is_named():
    with pytest.raises(InputError, match=r"that is a decimal comma; write 0\.05"):
        check_number("rate", "0,05")
    with pytest.raises(InputError, match="give a number"):
        check_number("rate", "a,b")
