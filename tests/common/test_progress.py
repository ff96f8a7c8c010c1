"""Long work without a terminal says now and then how far it is."""

import io
import re
import time

import pytest
from rich.console import Console

from fedabm.common import progress
from fedabm.common.progress import following, heartbeat, track


@pytest.fixture
def hasty(monkeypatch):
    """Lines come after a fiftieth of a second."""
    monkeypatch.setattr(progress, "FIRST", 0.02)


def test_lines_tell_what_is_done_and_how_long_the_rest_takes_also_within_one_long_piece(hasty, capsys):
    with heartbeat("training", 4, done=1) as advance:
        advance()
        time.sleep(0.3)
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert 2 <= len(lines) <= 7  # 0.02, 0.05, 0.095, 0.16, 0.26 seconds: the pauses grow
    assert all(re.fullmatch(r"fedabm: training: 2 of 4 after 0:00:00, about 0:00:0[01] to go", line) for line in lines)


def test_short_work_and_quiet_work_say_nothing(monkeypatch, capsys):
    assert list(track(range(3), "short", console=Console(file=io.StringIO()))) == [0, 1, 2]
    monkeypatch.setattr(progress, "FIRST", 0.01)
    with following("quiet", 2, quiet=True) as advance:
        time.sleep(0.05)
        advance()
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_and_no_lines(hasty, capsys):
    terminal = Console(file=io.StringIO(), force_terminal=True)
    with following("shown", 2, console=terminal) as advance:
        advance()
        time.sleep(0.1)
    assert "shown" in terminal.file.getvalue()
    assert capsys.readouterr().err == ""
