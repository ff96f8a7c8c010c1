"""A threshold that is missed is said, and the command fails."""

import pytest

from tests.thresholds import Thresholds


def test_what_is_missed_is_named_and_ends_in_one(capsys):
    found = Thresholds()
    found.least("right", 0.96, 0.95)
    found.most("right, too", 0.1, 0.1)
    found.end()
    found.least("too low", 0.94, 0.95)
    found.most("not a number", float("nan"), 0.1)
    with pytest.raises(SystemExit, match="missed: too low; not a number"):
        found.end()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["met", "met", "MISSED", "MISSED"]
