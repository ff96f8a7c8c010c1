"""Code that is right passes; what is wrong, endless, greedy or nosy does not, and does no harm."""

from __future__ import annotations

import json
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("limits of processes need a POSIX system", allow_module_level=True)

from fedabm import InputError
from fedabm.data.instructions import Problem, problems
from fedabm.learning.language.trials import ProgramLimits, pass_rate, trial

DOUBLE = Problem("Write double(x).", "", "assert double(2) == 4")
LITTLE = ProgramLimits(seconds=3.0, memory=256e6)


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ("def double(x):\n    return 2 * x", "passed"),
        ("import json, math, random\ndef double(x):\n    return int(math.fsum([x, x]))", "passed"),
        ("def double(x):\n    return x", "failed"),
        ("def double(x)\n    return x", "failed"),
        ("import os\nos._exit(0)", "failed"),
        ("raise SystemExit(0)", "failed"),
        ("held = bytearray(10**9)\ndef double(x):\n    return 2 * x", "stopped"),
        ("import socket\nsocket.socket()", "stopped"),
        ("import subprocess\nsubprocess.run(['true'])", "stopped"),
        ("import os\nos.fork()", "stopped"),
    ],
)
def test_how_answers_end(answer, ending):
    assert trial(DOUBLE.program(answer), LITTLE) == ending


def test_an_endless_loop_is_ended():
    assert trial("while True:\n    pass", ProgramLimits(seconds=1.0)) == "stopped"


def test_nothing_is_written_outside_the_folder_even_if_the_refusal_is_swallowed(tmp_path):
    there, kept = tmp_path / "there", tmp_path / "kept"
    kept.write_text("as it was")
    write = f"try:\n    open({str(there)!r}, 'w').write('x')\nexcept OSError:\n    pass"
    assert trial(write, LITTLE) == "stopped"
    assert trial(f"import os\nos.chdir('/')\nopen({str(there)!r}, 'a')", LITTLE) == "stopped"
    assert trial(f"import os\nos.remove({str(kept)!r})", LITTLE) == "stopped"
    assert not there.exists()
    assert kept.read_text() == "as it was"
    assert trial("open('mine', 'w').write('x')\nassert open('mine').read() == 'x'", LITTLE) == "passed"


def test_the_environment_is_not_handed_on(monkeypatch):
    monkeypatch.setenv("SECRET_WORD", "x")
    assert trial("import os\nassert 'SECRET_WORD' not in os.environ", LITTLE) == "passed"


def test_the_pass_rate_is_the_share_that_passes():
    answers = ["def double(x):\n    return 2 * x", "double = lambda x: x + 2", "double = abs"]
    assert pass_rate([DOUBLE] * 3, answers, LITTLE) == pytest.approx(2 / 3)


def test_problems_in_the_form_of_humaneval_and_in_a_plain_one(tmp_path):
    file = tmp_path / "problems.jsonl"
    start = "def double(x):\n"
    rows = [
        {"prompt": start, "test": "def check(f):\n    assert f(3) == 6", "entry_point": "double"},
        {"prompt": "Write double(x).", "test": "assert double(2) == 4"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    found = problems(file)
    assert trial(found[0].program("    return 2 * x"), LITTLE) == "passed"
    assert trial(found[0].program("    return x"), LITTLE) == "failed"
    assert found[1] == DOUBLE
    with pytest.raises(InputError, match="no file of problems"):
        problems(tmp_path / "none")


def test_limits_must_be_positive():
    with pytest.raises(InputError, match="seconds"):
        ProgramLimits(seconds=0.0)
