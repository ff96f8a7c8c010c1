"""A short comparison of certificates; `python -m tests.fuzz.proven 026ca4a` compares thousands."""

import json

from tests.checkouts import ROOT
from tests.fuzz.proven import compared, found_in


def test_the_same_games_have_as_many_certificates_and_a_lost_one_is_noticed():
    names = ["ContributionSubsidy", "NoPayments"]
    found = list(found_in(ROOT, names, 12))
    assert found == list(found_in(ROOT, names, 12))
    assert {what.split()[0] for what, _ in found} == set(names)
    place = next(place for place, (_, bounded) in enumerate(found) if bounded is True)
    worse = [*found[:place], (found[place][0], False), *found[place + 1 :]]
    kinds, lost = compared(worse, found)
    assert kinds["bounded then"] == kinds["bounded now"] + 1
    assert lost == [f"game {place}: {found[place][0]}"]
    assert compared(found, found)[1] == []


def test_games_that_are_drawn_otherwise_or_refused_do_not_count():
    old = [("one", True), ("two", False), ("three", "refused")]
    kinds, lost = compared([("other", False), ("two", True), ("three", True)], old)
    assert lost == []
    assert json.loads(json.dumps(kinds)) == {
        "drawn otherwise": 1,
        "the same": 1,
        "bounded now": 1,
        "bounded then": 0,
        "left out: True now, refused then": 1,
    }
