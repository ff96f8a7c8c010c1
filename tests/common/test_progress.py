"""Long work without a terminal says now and then how far it is."""

import io
import re
import threading
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from fedabm.common import progress
from fedabm.common.progress import following, heartbeat, track
from tests.waiting import until


@pytest.fixture
def hasty(monkeypatch):
    """Lines come after a fiftieth of a second."""
    monkeypatch.setattr(progress, "FIRST", 0.02)


def test_lines_tell_what_is_done_and_how_long_the_rest_takes_also_within_one_long_piece(hasty, monkeypatch, capsys):
    pauses, said = [], []

    class Noted(threading.Event):
        def wait(self, timeout=None):
            pauses.append(timeout)
            return super().wait(timeout)

    def heard():
        said.append(capsys.readouterr())
        return "".join(one.err for one in said).count("\n") >= 3

    monkeypatch.setattr(progress, "threading", SimpleNamespace(Event=Noted, Thread=threading.Thread))
    with heartbeat("training", 4, done=1) as advance:
        advance()
        until(heard)
    lines = "".join(one.err for one in said).splitlines()
    assert "".join(one.out for one in said) == ""
    assert pauses[:4] == pytest.approx([0.02, 0.03, 0.045, 0.0675])
    assert all(re.fullmatch(r"fedabm: training: [12] of 4 after 0:\d\d:\d\d.*", line) for line in lines)
    assert re.fullmatch(r".*: 2 of 4 after 0:\d\d:\d\d, about 0:\d\d:\d\d to go", lines[-1])


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
        until(lambda: "shown" in terminal.file.getvalue())
    assert "shown" in terminal.file.getvalue()
    assert capsys.readouterr().err == ""
