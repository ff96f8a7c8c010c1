"""The whole of it: ranges, runs, indices and what is said of them."""

import json
from pathlib import Path

import numpy as np
import pytest

import fedabm
from fedabm import InputError, Scenario, population, sensitivity
from fedabm.accuracy import PowerLaw
from fedabm.cli import main
from fedabm.common.errors import Interrupted
from fedabm.factors.methods import SobolIndices
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments
from fedabm.sweep import SerialExecutor, Span
from tests.factors.closed_forms import COST, EXPONENT, OVER, RATE, build, game, welfare

QUIET = {"executor": "serial", "quiet": True}
SPANS = {
    "cost": Span(*COST, log=True),
    "rate": Span(*RATE),
    "exponent": Span(*EXPONENT),
    "owners": Span(2, 6, whole=True),
}
PLAIN = NoPayments()


def noisy(seed: int, rate: float = 0.1, mechanism: Mechanism = PLAIN) -> Scenario:
    """Everything but a little of the welfare comes from the seed."""
    cost = 0.2 * np.exp(np.random.default_rng(seed).standard_normal())
    return Scenario(population([cost, 10 * cost], 100.0), PowerLaw(scale=1 - 1e-3 * rate), mechanism)


def restless(cost: float = 0.1) -> Scenario:
    """Two like owners who answer each other at the same time never come to rest."""
    return Scenario(population([cost, cost], 100.0), PowerLaw(), NoPayments(), steps=11)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("game") / "runs"
    return sensitivity(build, OVER, "welfare, gap, steps", n=64, one_seed=True, out=folder, **QUIET)


def test_a_simulated_game_has_the_values_and_indices_of_its_closed_form(found):
    points = found.points
    np.testing.assert_allclose(points["welfare"], welfare(*(points[name] for name in SPANS)), atol=1e-8)
    method = SobolIndices()
    drawn = method.points(4, 64, seed=0)
    exact = method.indices(drawn, game().values(drawn), 0, method.sequences(64))
    mine = found.indices[found.indices["of"] == "welfare"]
    np.testing.assert_allclose(mine["value"], [one.value for one in exact], atol=1e-6)
    np.testing.assert_allclose(mine["±"], [one.half for one in exact], atol=1e-6)


def test_numbers_that_should_be_whole_are_and_spans_say_the_same_as_words(found, tmp_path):
    assert sorted(found.points["owners"].unique()) == [2, 3, 4, 5, 6]
    same = sensitivity(build, SPANS, "welfare", n=64, one_seed=True, out=tmp_path, **QUIET)
    assert same.points["welfare"].tolist() == found.points["welfare"].tolist()


def test_it_says_what_is_analysed_and_how_many_runs_would_be_enough(found):
    said = " ".join(found.notes)
    assert "Analysed is the end of every run: all came to rest." in said
    assert "welfare: too few runs, as the widest interval is ±" in said
    assert "from half of the runs to all, no total index moved by more than" in said
    assert "gap" in said


def test_tables_rank_inputs_and_pairs(found):
    table = found.table("welfare")
    assert table["input"].tolist()[:2] == ["owners", "exponent"]
    assert {"first", "first ±", "total", "total ±", "total at half"} <= set(table)
    pairs = found.pairs()
    assert pairs["value"].abs().is_monotonic_decreasing
    assert "welfare" in repr(found.outcomes)
    assert "4 inputs" in repr(found)
    with pytest.raises(InputError, match="unknown outcome 'wellfare'; did you mean 'welfare'"):
        found.table("wellfare")


def test_everything_is_written(found, tmp_path):
    written = {path.name for path in found.save(tmp_path)}
    assert {"indices.csv", "curves.csv", "points.csv", "sensitivity.json", "sensitivity_against.pdf"} <= written
    told = json.loads((tmp_path / "sensitivity.json").read_text())
    assert told["n"] == 64
    assert len(told["indices"]) == len(found.indices)


class Impatient(SerialExecutor):
    """Ctrl-C comes after a few batches."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 3

    def submit(self, *work, **more):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().submit(*work, **more)


def test_what_was_interrupted_goes_on_to_the_same_indices(found, tmp_path):
    with pytest.raises(Interrupted):
        sensitivity(build, OVER, n=64, one_seed=True, out=tmp_path, executor=Impatient(), quiet=True)
    done = len(fedabm.load(tmp_path).runs)
    assert 0 < done < found.runs
    again = sensitivity(build, OVER, "welfare,gap,steps", n=64, one_seed=True, out=tmp_path, **QUIET)
    assert again.indices.equals(found.indices)
    assert again.curves.equals(found.curves)


def test_noise_is_told_from_effect(tmp_path):
    over = 'rate=0.05:0.15, mechanism=no_payments|{ kind = "contribution_subsidy", rate = 0.0 }'
    noise = sensitivity(noisy, over, n=64, out=tmp_path, **QUIET)
    total = noise.table().set_index("input")["total"]
    assert total["seed"] == pytest.approx(1.0, abs=0.15)
    assert total["rate"] < 1e-3
    assert total["mechanism"] < 1e-3
    assert any("seeds make" in line and "that is noise" in line for line in noise.notes)
    assert "no_payments" in noise.points["mechanism"].tolist()
    assert noise.points["seed"].nunique() == 128


def test_a_seed_that_changes_nothing_is_told(tmp_path):
    calm = sensitivity(build, "cost=0.1:0.3:log, rate=0:0.05", n=64, out=tmp_path, **QUIET)
    assert calm.table().set_index("input").loc["seed", "total"] == 0.0
    assert any("the seed changes nothing; with --one-seed you save 128 runs" in line for line in calm.notes)


def test_of_runs_that_do_not_come_to_rest_the_mean_over_time_counts(tmp_path):
    def at(when):
        return sensitivity(restless, "cost=0.1:0.2", when=when, n=64, one_seed=True, out=tmp_path, **QUIET)

    auto, end, mean = at("auto"), at("end"), at("mean")
    assert "were stopped before they came to rest: of these the mean over the second half" in auto.notes[0]
    assert "were stopped while owners still moved" in end.notes[0]
    assert auto.points["welfare"].tolist() == mean.points["welfare"].tolist() != end.points["welfare"].tolist()
    steps = fedabm.load(tmp_path).steps
    first = steps[steps["run"] == steps["run"].min()].sort_values("step")["welfare"]
    assert np.isclose(auto.points["welfare"], first.iloc[5:].mean()).any()


def test_outcomes_of_owners_and_of_strategies(tmp_path):
    ranges = "cost=0.1:0.3:log, rate=0:0.05"
    owners = sensitivity(build, ranges, "payment,welfare", by="owner", n=64, one_seed=True, out=tmp_path, **QUIET)
    assert owners.outcomes == ["payment, owner 0", "payment, owner 1", "payment, owner 2", "welfare"]
    np.testing.assert_allclose(owners.points.filter(like="payment").sum(axis=1), 0.0, atol=1e-12)
    kinds = sensitivity(build, ranges, "utility", by="strategy", n=64, one_seed=True, out=tmp_path, **QUIET)
    assert kinds.outcomes == ["utility, best_response"]
    with pytest.raises(InputError, match=r"owner \d is in \d+ of \d+ runs only; hold their number fixed"):
        sensitivity(build, "owners=2:3, rate=0:0.05", "payment", by="owner", n=64, out=tmp_path, **QUIET)


def test_morris_and_pawn_go_the_same_way(tmp_path):
    few = sensitivity(build, OVER, method="morris", n=20, out=tmp_path / "m", **QUIET)
    assert few.runs <= 20 * 6
    assert few.table()["input"].tolist()[0] == "owners"
    assert few.table().set_index("input").loc["seed", "mean effect"] == 0.0
    whole = sensitivity(build, OVER, method="pawn", n=100, out=tmp_path / "p", **QUIET)
    assert whole.table()["input"].tolist()[0] == "owners"
    assert "(none)" in whole.table()["input"].tolist()
    with pytest.raises(InputError, match="pawn has one index"):
        whole.against()


def test_runs_are_a_budget_and_larger_designs_use_smaller_ones(tmp_path):
    small = sensitivity(build, "cost=0.1:0.3", runs=700, one_seed=True, out=tmp_path, **QUIET)
    assert small.n == 128
    large = sensitivity(build, "cost=0.1:0.3", n=200, one_seed=True, out=tmp_path, **QUIET)
    assert large.n == 256
    assert "n = 200 was rounded up to 256, a power of two." in large.notes
    assert set(small.points["cost"]) <= set(large.points["cost"])


def test_blocks_of_failed_runs_are_left_out_and_told(tmp_path):
    found = sensitivity(sometimes, "cost=0.1:0.3, rate=0:0.05", n=64, one_seed=True, out=tmp_path, **QUIET)
    assert any("runs failed and are left out: ValueError: no such market" in line for line in found.notes)
    assert any("blocks of points are left out" in line for line in found.notes)


def sometimes(cost: float = 0.2, rate: float = 0.01) -> Scenario:
    """Fails where data cost most."""
    if cost > 0.299:
        raise ValueError("no such market")
    return build(cost, rate)


@pytest.mark.parametrize(
    ("over", "more", "message"),
    [
        ("", {}, "--over takes name=range"),
        ({}, {}, "nothing varies"),
        ("cost", {}, "--over takes name=range, separated by commas, got 'cost'"),
        ("cost=0.1", {}, "the range of cost must be low:high"),
        ("cost=a:b", {}, "the range of cost must be low:high"),
        ("cost=0.3:0.1", {}, "a span must rise"),
        ("cost=0:1:log", {}, "a logarithmic span must be positive"),
        ("owners=2.5:4", {}, "a whole span needs whole ends"),
        ("cots=0.1:0.3", {}, "has no parameter 'cots'; did you mean 'cost'"),
        ("cost=0.1:0.3, cost=0.2:0.4", {}, "cost has two ranges"),
        ("cost=0.1|0.1", {}, "cost needs at least two different choices, got '0.1' twice"),
        ("seed=1:5", {}, "seed is varied by itself"),
        ("cost=0.1:0.3", {"n": 3}, "n must be a whole number from 64"),
        ("cost=0.1:0.3", {"runs": 100}, "100 runs are too few"),
        ("cost=0.1:0.3", {"runs": 1000, "n": 64}, "n and runs say the same thing"),
        ("cost=0.1:0.3", {"method": "morriss"}, "unknown method 'morriss'"),
        ("cost=0.1:0.3", {"by": "role"}, "by must be one of owner, strategy"),
        ("cost=0.1:0.3", {"when": "late"}, "when must be one of auto, end, mean"),
        ("cost=0.1:0.3", {"fixed": ["cost=0.2"]}, "cost is varied and set, got both"),
        ("cost=0.1:0.3", {"fixed": ["cost"]}, "--set takes key=value"),
        ("cost=0.1:0.3", {"of": ""}, "nothing to explain"),
        ("cost=-1:0.3", {"n": 64}, "cost"),
    ],
)
def test_bad_input_gets_one_line_before_anything_runs(over, more, message, tmp_path):
    with pytest.raises(InputError) as caught:
        sensitivity(build, over, out=tmp_path / "new", **QUIET, **more)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_no_run_has_or_never_changes_gets_one_line(tmp_path):
    options = {"method": "morris", "n": 8, "out": tmp_path, **QUIET}
    with pytest.raises(InputError, match="no run has a number called 'wellfare' to explain; did you mean 'welfare'"):
        sensitivity(build, "cost=0.1:0.3", "wellfare", **options)
    with pytest.raises(InputError, match="server_balance is the same in all runs"):
        sensitivity(build, "cost=0.1:0.3", "server_balance", **options)


STUDY = """
accuracy = { kind = "power_law", exponent = 0.5 }
steps = 40

[mechanisms]
"no payments" = "no_payments"
"subsidy" = { kind = "contribution_subsidy", rate = 0.004 }

[[owners]]
name = "St. Mary"
cost = { low = 0.002, high = 0.004 }
data = 300

[[groups]]
name = "practice"
count = 2
cost = 0.03
data = 50
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_study_is_varied_by_the_names_that_stand_in_it(study, tmp_path, capsys):
    over = "mechanism=no payments|subsidy, rate=0.001:0.01:log, St. Mary.cost=0.001:0.005, practice.count=1:3"
    command = ["sensitivity", str(study), "--over", over, "--of", "welfare,net,payment", "--method", "morris"]
    command += ["--n", "8", "--out", str(tmp_path / "out"), "--executor", "serial"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "mean effect" in said
    assert "rate has no effect under no payments: no such number" in said
    assert main([*command, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["input"] for row in told["indices"]} == {"mechanism", "rate", "St. Mary.cost", "practice.count", "seed"}


def test_a_varied_study_runs_as_it_does_by_itself(study):
    from fedabm import Federation, compare
    from fedabm.comparison.varied import StudyInputs, varied_study
    from fedabm.comparison.written import read_study

    written = read_study(study)
    usual = compare(written.people, written.mechanisms, [7], accuracy=written.accuracy, steps=40)
    text = StudyInputs.read(Path(study)).text
    mine = Federation(varied_study(7, text, mechanism="subsidy"), 7).run().frames()
    theirs = usual.frames.steps[usual.frames.steps["run"] == 1]
    assert mine.steps["welfare"].tolist() == theirs["welfare"].tolist()
    other = varied_study(7, text, mechanism=ContributionSubsidy(0.1), rate=0.2, owners=4, exponent=0.7, cost=0.01)
    assert other.mechanism == ContributionSubsidy(0.2)
    assert other.accuracy == PowerLaw(exponent=0.7)
    assert [one.cost.rate for one in other.owners] == [0.01] * 5


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("rate=0.001:0.01", "study.toml has 2 mechanisms, got no choice; vary mechanism=no payments|subsidy"),
        ("rat=0.001:0.01", "study.toml has nothing called 'rat' to vary; did you mean 'rate'"),
        ("practice.cots=1:3", "practice has no 'cots' to vary; did you mean 'cost'"),
        ("mechanism=subsidi|no payments", "mechanisms of the study: no payments, subsidy"),
        ("practice.count=1.5:3", "a whole span needs whole ends"),
    ],
)
def test_what_a_study_does_not_have_gets_one_line(study, over, message, capsys):
    assert main(["sensitivity", str(study), "--over", over, "--out", str(study.parent / "new")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_script_is_explained_run_by_run(tmp_path):
    over = "rate=0.01:0.05, owners=3:4"
    found = sensitivity("free_riding", over, method="morris", n=8, one_seed=True, out=tmp_path, **QUIET)
    assert len(found.outcomes) > 1
    assert all(one.startswith("welfare, ") for one in found.outcomes)
