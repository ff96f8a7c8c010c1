"""The league: every mechanism of the package, the same for one worker or two, as brute force has it, and trained."""

import json

import numpy as np
import pandas as pd
import pytest

from fedabm import mechanisms
from fedabm.auditing.deviations import Lies
from fedabm.auditing.evaluate import reads, utilities
from fedabm.auditing.league import BEST, PAIR, League, _scenario, closed_rules, exchanging_rules, league
from fedabm.auditing.pictures import league_picture
from fedabm.auditing.stage import Stage
from fedabm.auditing.trained import TRAINED, trained_league
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.specs.kinds import kinds

QUICK = ("ContributionSubsidy", "NoPayments", "ProportionalData", "ShapleyShare", "TullockContest")


def test_every_mechanism_plays():
    """But for rules that are a function of the user's own."""
    playing = {*closed_rules([0.1, 0.2]), *exchanging_rules()}
    assert playing == {rule.__name__ for rule in kinds(mechanisms, mechanisms.Mechanism).values()} - {"PaymentRule"}


@pytest.mark.parametrize("owners", [2, 3, 4])
def test_numbers_agree_with_brute_force_on_a_grid(owners):
    found = league(seeds=1, owners=owners, rules=QUICK).rows.set_index(["rule", "deviation"])
    for name in QUICK:
        stage = Stage.of(_scenario(name, 0, owners))
        assert reads(stage) == frozenset()
        gains = []
        for owner in range(owners):
            capacity = float(stage.capacities[owner])
            axes = np.linspace(0.0, capacity, 101), np.linspace(0.0, 2.0 * capacity, 201)
            x, z = (axis.ravel() for axis in np.meshgrid(*axes))
            value = utilities(stage, owner, Lies.of(stage, owner, len(x), contribution=x, claim=z))
            gains.append(float(np.max(value)) - float(stage.honest.utility[owner]))
        best = found.loc[(name, BEST)]
        assert best["gain"] == pytest.approx(max(*gains, 0.0), abs=2e-3 * best["stake"])
        assert best["gain"] >= max(gains) - 1e-9
        assert best["bound"] >= max(gains)


def test_the_same_by_one_worker_and_by_two():
    one, two = (league(seeds=2, owners=2, rules=QUICK[1:2], workers=workers).rows for workers in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_paired_differences_by_hand():
    rows = [("A", 0, 1.0), ("A", 1, 3.0), ("NoPayments", 0, 0.5), ("NoPayments", 1, 1.5)]
    table = pd.DataFrame(rows, columns=["rule", "seed", "gain"]).assign(deviation=BEST, stake=0.5, loss=0.0)
    found = League(table).paired().set_index("rule")
    assert found.loc["A", "difference"] == pytest.approx(2.0)  # (0.5 and 1.5) / 0.5, on average 2
    assert found.loc["A", "low"] < 2.0 < found.loc["A", "high"]
    assert found.loc["NoPayments", "difference"] == 0


def test_trained_models_tell_attacks_apart():
    """A flipped sign ruins plain averaging and does nothing to those who train alone."""
    found = trained_league(1, 4, ["FedAvgExchange", "LocalOnly", "NoPayments"])
    loss = found.table("loss")
    assert set(loss.columns) == {*TRAINED, BEST, PAIR}
    assert loss.loc["FedAvgExchange", "sign flip"] > 0.05
    assert loss.loc["NoPayments", "sign flip"] > 0.05
    assert loss.loc["LocalOnly"].abs().max() == 0


def test_the_command_prints_and_writes(tmp_path, capsys):
    folder = tmp_path / "out"
    words = ["league", "--quick", "--seeds", "2", "--owners", "2", "--closed", "--workers", "1", "--out", str(folder)]
    assert main([*words, "--rules", "NoPayments,ContributionSubsidy"]) == 0
    printed = capsys.readouterr().out
    assert "What the deviator gains" in printed
    assert "What rules achieve, closed" in printed
    assert "ContributionSubsidy: rate = " in printed
    files = {"league.png", "league.pdf", "league.csv", "league.json", "paired.csv", "definitive.csv"}
    assert files == {path.name for path in folder.iterdir()}
    rows = json.loads((folder / "league.json").read_text())
    assert {row["rule"] for row in rows} == {"NoPayments", "ContributionSubsidy"}


def test_unknown_rules_are_refused():
    with pytest.raises(InputError, match="did you mean 'NoPayments'"):
        league(rules=["NoPayment"])


def test_the_heat_map_has_a_number_in_every_cell():
    rows = [(rule, kind, 0.5) for rule in ("A", "NoPayments") for kind in (BEST, "claim")]
    table = pd.DataFrame(rows, columns=["rule", "deviation", "gain"]).assign(seed=0, stake=1.0, loss=0.1)
    left, right, *_ = league_picture(League(table)).axes
    assert [text.get_text() for text in left.texts] == ["0.50"] * 4
    assert [text.get_text() for text in right.texts] == ["0.10"] * 2


STUDY = """
accuracy = { kind = "power_law", exponent = 0.5 }
[mechanisms]
"cost sharing" = { kind = "cost_sharing", rate = 0.5 }
[[owners]]
name = "Alpha"
cost = { low = 2, high = 4 }
data = 30
value = 1000
[[owners]]
name = "Beta"
cost = 5
data = 20
value = 800
"""


def test_a_study_has_a_league_of_its_own(tmp_path, capsys):
    file = tmp_path / "banks.toml"
    file.write_text(STUDY, "utf-8")
    words = ["--quick", "--seeds", "2", "--workers", "1", "--out", str(tmp_path / "out")]
    assert main(["league", str(file), *words]) == 0
    said = capsys.readouterr().out
    assert "Not known exactly: cost of Alpha; 2 draws" in said
    rows = pd.read_csv(tmp_path / "out" / "league.csv")
    assert set(rows["rule"]) == {"no payments", "cost sharing"}
    assert rows["stake"].min() > 100  # in money, as the owners value accuracy
    lies = rows[(rows["deviation"] == BEST) & (rows["rule"] == "no payments")]
    assert (lies["gain"].abs() < 1e-6).all()
    assert main(["report", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "definitive.csv" in page
    assert page.count("<img") == 1
    assert page.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "line"), [(["--owners", "3"], "leave --owners out"), (["--rules", "nonsense"], "unknown mechanism")]
)
def test_what_a_league_of_a_study_cannot_do_is_refused(tmp_path, capsys, words, line):
    file = tmp_path / "banks.toml"
    file.write_text(STUDY, "utf-8")
    assert main(["league", str(file), "--quick", *words]) == 2
    assert line in capsys.readouterr().err
