"""A short search for logs and studies that are neither settled rightly nor refused; the long one is a command."""

from tests.fuzz.settlements import fuzz


def test_mutated_logs_and_studies_are_settled_rightly_or_refused_in_one_line():
    found = list(fuzz(60, seed=5))
    assert [one for one in found if not one[2].good] == []
    assert {one[2].kind for one in found} == {"done", "refused"}
