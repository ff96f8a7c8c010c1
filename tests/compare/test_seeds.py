"""Enough seeds: which intervals are shown, what a rule comes to, and that both hold their level."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fedabm import compare, load, population
from fedabm.accuracy import PowerLaw
from fedabm.cli import main
from fedabm.common.confidence import LEAST, ConfidenceIntervals, confidence
from fedabm.common.errors import InputError
from fedabm.common.until import Until, until
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.strategies import Honest
from tests.compare.coverage import Case, covered

RULES = [NoPayments(), ShapleyShare()]
STUDY = """
accuracy = "power_law"
mechanisms = ["no_payments", "cost_sharing"]
figures = []
steps = 20

[[groups]]
name = "owner"
count = 2
cost = { low = 0.1, high = 0.3 }
data = 10
"""


def people(rng):
    return population(rng.uniform(0.1, 0.3, 2), 20.0)


def test_few_seeds_of_unknown_noise_have_no_interval_and_say_how_many_have():
    few = compare(people, RULES, 3, accuracy=PowerLaw())
    assert np.isnan(few.differences()["welfare ±"]).all()
    assert f"at least {LEAST}" in few.lacking()
    normal = compare(people, RULES, 3, accuracy=PowerLaw(), noise="normal")
    gap = normal.compared("welfare")[0]
    assert normal.lacking() == ""
    assert normal.differences()["welfare ±"][0] == pytest.approx(stats.t.ppf(0.975, 2) * gap.std(ddof=1) / np.sqrt(3))


def test_what_is_measured_of_coverage_is_what_the_table_shows():
    found = compare(people, RULES, LEAST, accuracy=PowerLaw())
    gap = found.compared("net")[0]
    assert found.differences()["net ±"][0] == ConfidenceIntervals().half(gap) > 0


def test_a_rule_for_the_number_of_seeds_reaches_its_width_and_says_so():
    def owners(rng):
        return population(rng.uniform(0.1, 0.3, 2), 1.0, Honest())

    def played(seeds):
        return compare(owners, RULES[:1], seeds, accuracy=PowerLaw(), steps=1)

    width = 0.9 * ConfidenceIntervals().half(played(20).compared("net")[0])
    found = played(f"until {width}")
    assert found.enough.reached
    assert found.enough.stages[0] == 20 < found.seeds == found.enough.stages[-1]
    assert found.table()["net ±"][0] == pytest.approx(found.enough.half)
    assert found.enough.half <= width
    assert found.says_of_seeds()["stages"] == list(found.enough.stages)
    assert "as asked" in str(found.enough)


def test_a_study_says_on_screen_and_in_its_manifest_what_its_seeds_came_to(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text('seeds = "until 0.0001 of data from 10 at most 11"\n' + STUDY, "utf-8")
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "as asked: 11 is the most allowed" in " ".join(capsys.readouterr().out.split())
    told = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["seeds"]
    assert (told["stages"], told["reached"]) == ([10, 11], False)
    assert len(load(tmp_path / "out").runs) == 22


def test_the_command_takes_until_and_what_is_known_of_noise(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY, "utf-8")
    rule = ["--seeds", "until 1 from 4", "--noise", "normal"]
    assert main(["compare", str(path), *rule, "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    told = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["seeds"]
    assert (told["noise"], told["stages"], told["reached"]) == ("normal", [4], True)
    assert main(["compare", str(path), "--seeds", "2", "--out", str(tmp_path / "two")]) == 0
    assert "give no 95% interval" in " ".join(capsys.readouterr().out.split())
    assert "±" not in Path(tmp_path / "two" / "comparison.csv").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("until", "until when"),
        ("until 0", "must be a positive"),
        ("until 0.1 from 5", "give at least 10"),
        ("until 0.1 from 30 at most 20", "allow more"),
        ("until 0.1 of happiness", "unknown measure"),
    ],
)
def test_rules_that_cannot_be_are_refused_in_one_line(words, said):
    with pytest.raises(InputError, match=said):
        compare(people, RULES, words, accuracy=PowerLaw(), steps=1)


def test_a_rule_reads_itself():
    rule = Until.read("until 5e-3 of data, from 20, at most 500 seeds")
    assert rule == Until(0.005, "data", 20, 500) == Until.read(str(rule))


def test_equal_values_have_no_width_and_nearly_equal_ones_none_that_is_known():
    assert confidence([2.0, 2.0, 2.0]) == (2.0, 2.0)
    assert np.isnan(ConfidenceIntervals().half([0.0] * 11 + [1.0]))
    rare = [np.repeat([0.0, 1.0, 0.0, 1.0], [11, 1, 200, 188])]
    found = until(Until(0.2, first=12), "unknown", lambda seeds: [one[:seeds] for one in rare])
    assert found.intervals.first > 12


def test_the_interval_of_skewed_noise_reaches_farther_where_the_tail_is():
    values = np.random.default_rng(1).lognormal(sigma=1.5, size=30)
    low, high = confidence(values)
    assert high - values.mean() > 1.3 * (values.mean() - low) > 0


def test_noise_that_is_said_to_be_normal_and_is_not_is_told():
    def owners(rng):
        return population([0.2, 0.2], rng.lognormal(sigma=2, size=2), Honest())

    assert "deny" in compare(owners, RULES[:1], 15, accuracy=PowerLaw(), noise="normal", steps=1).denied()
    assert compare(owners, RULES[:1], 15, accuracy=PowerLaw(), steps=1).denied() == ""


CASES = (
    Case("normal", "normal", 3, 0.92, 0.98),
    Case("normal", "unknown", 20, 0.93, 0.99),
    Case("lognormal", "unknown", 3, refused=True),
    Case("lognormal", "unknown", 20, 0.88),
    Case("normal", "normal", "until 0.5 from 5", 0.92, 0.98),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_coverage_in_short(case):
    """300 studies; `python -m tests.compare.coverage` has a thousand and narrower bounds."""
    found = covered(case, 300)
    assert found.shown == 0 if case.refused else case.low <= found.share <= case.high
