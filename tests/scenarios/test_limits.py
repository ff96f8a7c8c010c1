"""Counts without end, and nobody to draw: one line with a remedy, or a result."""

import pytest

from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.study.library import find
from fedabm.study.study import Study
from tests.fuzz.trying import attempt


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("first_training", "rounds=1000000000000", "rounds must be a whole number from 1 to 100000"),
        ("first_training", "interval=1", "interval must be a whole number from 15 on, got 1"),
        ("cost_discrimination", "owners=1000000000", "owners must be a whole number from 2 to 100000"),
        ("gpt3", "cost=1", "1,617,968 companies would have to begin together, more than 100,000; raise worth or lower"),
        ("welfare_by_time", "seeds=1000000000", "seeds must be a whole number from 0 to 100000"),
        ("tournament", "population_size=1000000000", "population_size must be a whole number from 3 to 1000"),
        ("tournament", "owners=30", "30 owners and 7 strategies have 1,947,792 mixtures, more than 2,000; take fewer"),
        ("tournament", "capacity=5000", "give a capacity of 1 to 499, got 5000"),
        ("mechanism_by_population", "owners=1000000000", "owners must be a whole number from 1 to 100"),
        ("mechanism_by_population", "shares=2", "share must lie between 0 and 1"),
        ("free_riding", "liars=1000000000", "liars must lie between 0 and 12"),
    ],
)
def test_a_count_that_would_never_end_is_refused_at_once(name, setting, message, tmp_path):
    found = attempt(["run", name, "--quiet", "--out", str(tmp_path / "out"), "--set", setting], patience=10.0)
    assert found.kind == "refused", found
    assert message in found.said


def test_populations_without_anybody_odd_are_drawn(tmp_path):
    words = ["run", "mechanism_by_population", "--quiet", "--steps", "1", "--out", str(tmp_path / "out")]
    assert main([*words, "--set", "shares=0", "--set", "owners=2", "--set", "seeds=1"]) == 0
    assert {"data.png", "welfare.png"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_a_study_in_which_every_run_fails_says_why(monkeypatch):
    script = find("mechanism_by_population")

    def nothing(*given, **named):
        raise InputError("no costs today; come tomorrow")

    monkeypatch.setattr(script.module, "population", nothing)
    with pytest.raises(InputError, match=r"every run failed, the first by .*no costs today"):
        script.run(Study("mechanism_by_population", steps=1, quiet=True), owners=(2,), seeds=1)
