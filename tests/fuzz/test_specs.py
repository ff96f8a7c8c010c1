"""A short search for input that is not refused in one line; the long one is `python -m tests.fuzz.specs`."""

import subprocess
import sys

from tests.fuzz.specs import fuzz
from tests.fuzz.trying import attempt, judged


def test_whatever_is_wrong_gets_one_line_and_exit_code_2():
    found = list(fuzz(100, seed=7, apart=50, run=15))
    assert [(one, verdict) for one, verdict in found if not verdict.good] == []
    kinds = {(one.words[0], verdict.kind) for one, verdict in found}
    assert {(word, kind) for word in ("solve", "sweep", "run") for kind in ("done", "refused")} <= kinds


def test_what_users_should_not_see_is_noticed(monkeypatch):
    def broken(options):
        raise ZeroDivisionError

    def slow(options):
        while True:
            pass

    monkeypatch.setattr("fedabm.cli.list.show", broken)
    assert attempt(["list"]).kind == "traceback"
    monkeypatch.setattr("fedabm.cli.list.show", slow)
    assert attempt(["list"], patience=0.05).kind == "hang"
    assert judged(2, "fedabm: one\nfedabm: two").kind == "wordy"
    assert judged(3, "fedabm: one").kind == "wordy"
    trace = subprocess.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True, check=False)
    assert judged(trace.returncode, trace.stderr).kind == "traceback"
