"""What rules achieve: measures by hand, intervals and paired differences, equal rows, tuned rules, a measured curve."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from fedabm import Game, InputError, solve
from fedabm.accuracy import PowerLaw
from fedabm.auditing import league as leagues
from fedabm.auditing import play, trained
from fedabm.auditing.achieved import ACHIEVED, measures_of
from fedabm.auditing.arena import Arena, fitted
from fedabm.auditing.attacks import ATTACKS, DEFENCES, attack_league, attack_table, same_defences
from fedabm.auditing.contenders import contenders
from fedabm.auditing.definitive import alike, definitive, printed, unexplained
from fedabm.auditing.league import League, closed_rules, league, population_of
from fedabm.auditing.trained import IDLE, MIXTURES, SAME, trained_league
from fedabm.auditing.tuned import NO_PARAMETER, games_of, rations, social_welfare, tuned
from fedabm.cli import main
from fedabm.learning import CoordinateMedian, FedAvg, NoDuplicates
from fedabm.mechanisms import ContributionSubsidy, MultiplicativeWeights, NoPayments, ProportionalData


def test_measures_by_hand():
    """Two owners: 3 of 4 units given, accuracies .6 and .8, costs .1 and .3, and .05 goes from one to the other."""
    found = measures_of(*map(np.array, ([1.0, 2.0], [2.0, 2.0], [0.6, 0.8], [-0.05, 0.05], [0.1, 0.3])))
    assert found == pytest.approx(
        {"data": 0.75, "accuracy": 0.7, "welfare": 0.5, "welfare without costs": 0.7, "worst off": 0.45, "budget": 0.0}
    )


def rows_of(values, measure="data", scheme="closed"):
    made = [
        {"rule": rule, "scheme": scheme, "seed": seed, "tuned": "", "measure": measure, "value": value, "note": note}
        for (rule, note), numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    return pd.DataFrame(made)


def test_intervals_and_paired_differences_by_hand():
    """Differences of 1 and 3 to the rule without payments: 2 +- 12.7 by Student's t with one degree of freedom."""
    values = {("A", ""): [2.0, 5.0], ("NoPayments", ""): [1.0, 2.0], ("B", "means nothing"): [np.nan, np.nan]}
    deviations = pd.DataFrame(columns=["rule", "seed", "deviation", "gain", "loss", "bound", "stake", "words"])
    table = definitive(League(deviations, rows_of(values))).set_index("rule")
    assert table.loc["A", "mean"] == 3.5
    assert table.loc["A", "difference"] == 2.0
    assert table.loc["A", "to"] - 2.0 == pytest.approx(12.706, abs=0.01)
    assert table.loc["A", "wide"]
    assert np.isnan(table.loc["B", "mean"])
    assert table.loc["B", "note"] == "means nothing"
    text = printed(table.reset_index(), "closed")
    assert text.loc["A", "data"].startswith("3.5 ±")
    assert text.loc["A", "data"].endswith("~")
    assert text.loc["B", "data"] == "·"


def test_rules_with_the_same_numbers_everywhere_are_named():
    values = {("A", ""): [2.0, 5.0], ("B", ""): [2.0, 5.0], ("C", ""): [2.0, 6.0]}
    found = League(pd.DataFrame(), rows_of(values))
    assert alike(found, "closed") == [("A", "B")]
    assert unexplained(found, "closed", {}, "idle") == [("A", "B")]
    assert unexplained(found, "closed", {("A", "B"): "one is the other"}, "idle") == []
    one = League(pd.DataFrame(), found.achieved.assign(tuned=found.achieved["rule"].map({"A": "x; idle"}).fillna("")))
    assert unexplained(one, "closed", {}, "idle") == [("A", "B")]
    both = League(pd.DataFrame(), found.achieved.assign(tuned="idle"))
    assert unexplained(both, "closed", {}, "idle") == []
    more = rows_of({("A", ""): [1.0, 1.0], ("B", "none"): [np.nan, np.nan], ("C", ""): [1.0, 1.0]}, "welfare")
    missing = League(pd.DataFrame(), pd.concat([found.achieved, more]))
    assert alike(missing, "closed") == [("A", "B")]


def test_a_tuned_rule_is_no_worse_on_what_it_was_tuned_to():
    games = games_of([population_of(seed, 3) for seed in (5, 6)], PowerLaw())
    rule = ContributionSubsidy(0.5)
    best, words = tuned(rule, games, 10)
    assert words.startswith("rate = ")

    def welfare(one):
        return np.mean([social_welfare(game := replace(play, mechanism=one), solve(game).profile) for play in games])

    assert welfare(best) > welfare(rule)
    assert tuned(NoPayments(), games, 10) == (NoPayments(), NO_PARAMETER)


def test_rules_that_ration_are_tuned_for_data_and_rules_that_ask_by_what_they_ask():
    """Welfare alone would ration nobody; of two equal owners D = 9 is to be asked, where 2/(1 + D)^2 = 0.02."""
    games = games_of([population_of(seed, 3) for seed in (5, 6)], PowerLaw())
    best, words = tuned(ProportionalData(0.5), games, 10)
    assert rations(best, games[0])
    assert words.endswith("(for data)")
    two = [Game(PowerLaw(), [0.02, 0.02], 20.0, NoPayments())]
    asking, _ = tuned(MultiplicativeWeights(0.5, 20.0), two, 200)
    assert asking.data == pytest.approx(9.0, rel=0.1)


def test_every_measure_of_the_closed_half_has_a_number_or_a_reason():
    found = league(1, 3, ["ContributionSubsidy", "NoPayments", "ModelMarket"], questions=10, tuning=3)
    reached = found.achieved
    assert set(ACHIEVED) < set(reached["measure"])
    assert (reached["value"].notna() | (reached["note"] != "")).all()
    assert (reached["value"].isna() | (reached["note"] == "")).all()
    table = definitive(found)
    assert (table["mean"].notna() | (table["note"] != "")).all()
    assert set(table["measure"]) >= {
        "gain: best lie",
        "bound of the best lie",
        "gain: pair",
        "harm: claim",
        "secession",
    }


def test_a_planted_power_law_is_found_again():
    planted = PowerLaw(0.6, 0.8, 5.0, 0.9)
    totals = np.array([0.0, 5.0, 20.0, 80.0, 500.0])
    curve, error = fitted(totals, planted.curve(totals))
    assert error < 0.02
    assert curve.curve(np.array([50.0])) == pytest.approx(planted.curve(np.array([50.0])), abs=0.02)


def test_no_two_closed_rules_are_equal_unless_they_are_or_do_nothing(monkeypatch):
    """All of them, tuned in short; what is nan under one of two rules does not tell them apart.

    Deviations but the best lie are no measures of what is achieved, and left out to be quick.
    """
    monkeypatch.setattr(leagues, "try_kinds", lambda *given: [])
    monkeypatch.setattr(leagues, "best_joint_lie", lambda *given: SimpleNamespace(gain=0.0, loss=0.0, words=""))
    found = league(1, 3, questions=1, tuning=2)
    assert set(found.achieved["rule"]) >= set(closed_rules([0.1, 0.2]))
    assert unexplained(found, "closed", SAME, IDLE) == []
    assert any({"Deposit", "NoPayments"} <= set(group) for group in alike(found, "closed"))


def test_trained_owners_respond_inside_and_unlike_rules_differ():
    rules = ["ContributionSubsidy", "Deposit", "NoPayments", "RealFM", "ShapleyShare", "ValueShaping"]
    found = trained_league(1, 3, rules, tuning=3)
    table = definitive(found)
    data = table[(table["scheme"] == "trained") & (table["measure"] == "data")]["mean"]
    assert ((data > 0.01) & (data < 0.99)).all()
    assert alike(found, "trained") == [("Deposit", "NoPayments"), ("RealFM", "ValueShaping")]
    assert unexplained(found, "trained", SAME, IDLE) == []
    assert set(table["scheme"]) == {"trained", *(f"trained, {name}" for name in MIXTURES)}
    assert (table["mean"].notna() | (table["note"] != "")).all()


def test_no_two_trained_rules_are_equal_unless_they_are_or_do_nothing(monkeypatch):
    """All of them, on digits, as they are without tuning; what deviations do is left out to be quick."""
    monkeypatch.setattr(trained, "tried", lambda play: ([], play.honest))
    monkeypatch.setattr(play.TrainedPlay, "asked_once", lambda *given: {})
    found = trained_league(1, 4)
    names = set(contenders([0.1, 0.2]))
    assert len(names) >= 25
    assert set(found.achieved["rule"]) == names
    for scheme in found.achieved["scheme"].unique():
        assert unexplained(found, scheme, SAME, IDLE) == []
    reached = found.achieved
    assert (reached["value"].notna() | (reached["note"] != "")).all()


def test_a_median_stops_what_ruins_a_mean():
    defences = {"FedAvg": FedAvg(), "CoordinateMedian": CoordinateMedian()}
    found = attack_table(["sign flip"], defences, {"NoPayments": NoPayments()}, 1, 5).set_index("defence")
    assert found.loc["FedAvg", "accuracy lost"] > found.loc["CoordinateMedian", "accuracy lost"]
    assert found["success"].isna().all()
    with pytest.raises(InputError, match="did you mean 'Deposit'"):
        attack_league(1, 4, ["Deposits"])


def test_a_trimmed_mean_of_the_league_is_no_median_and_equal_defences_are_named():
    """Of six rows it leaves out one at each end: the mean of 1, 2, 3, 10 is 4, where the median is 2.5."""
    rows = torch.tensor([[0.0], [1.0], [2.0], [3.0], [10.0], [99.0]])
    usable = torch.ones(6, dtype=torch.bool)
    assert DEFENCES["TrimmedMean"].centre(rows, usable).item() == 4.0
    assert DEFENCES["CoordinateMedian"].centre(rows, usable).item() == 2.5
    facts = {"attack": "nan", "rule": "NoPayments", "seed": 0, "gain": 0.0}
    found = pd.DataFrame(
        [{**facts, "defence": name, "accuracy lost": lost} for name, lost in (("A", 1), ("B", 1), ("C", 2))]
    )
    assert same_defences(found) == ["The same under every attack: A, B"]


def test_hidden_free_riders_are_in_the_table():
    """Each is an attack of its own: what is sent instead differs, and so does what becomes of the model."""
    names = ["random weights", "delta noise"]
    assert {*names} < {*ATTACKS}
    found = attack_table(names, {"FedAvg": FedAvg()}, {"NoPayments": NoPayments()}, 1, 4).set_index("attack")
    assert found.loc["random weights", "gain"] != found.loc["delta noise", "gain"]
    assert (found["accuracy lost"] > -1).all()


def test_detectors_are_judged_by_precision_and_recall_and_backdoors_by_success():
    """Two of six copy a third owner: the duplicates are found, with the one that was copied; no backdoor elsewhere."""
    defences = {"NoDuplicates": NoDuplicates(), "FedAvg": FedAvg()}
    found = attack_table(["copy", "backdoor"], defences, {"NoPayments": NoPayments()}, 1, 6)
    found = found.set_index(["attack", "defence"])
    assert found.loc[("copy", "NoDuplicates"), "recall"] == 1.0
    assert 0.4 <= found.loc[("copy", "NoDuplicates"), "precision"] < 1.0
    assert np.isnan(found.loc[("copy", "FedAvg"), "precision"])
    assert 0.0 <= found.loc[("backdoor", "FedAvg"), "success"] <= 1.0
    assert np.isnan(found.loc[("copy", "FedAvg"), "success"])


def test_the_curve_is_measured_on_the_data_and_costs_follow_it():
    arena = Arena.of(3, 4)
    assert arena.error < 0.1
    assert arena.rates.mean() == pytest.approx(
        4 * float(arena.curve.curve_slope(np.array(0.6 * sum(arena.clean.capacities)))), rel=0.5
    )


def test_the_command_shows_attacks_by_defence(tmp_path, capsys, monkeypatch):
    rows = [
        {"attack": "nan", "defence": defence, "rule": "NoPayments", "seed": 0, "accuracy lost": lost, "gain": -lost}
        | {"success": np.nan, "precision": 0.375, "recall": 1.0}
        for defence, lost in (("FedAvg", 0.25), ("Krum", 0.125))
    ]
    monkeypatch.setattr("fedabm.auditing.attacks.attack_league", lambda *given: pd.DataFrame(rows))
    assert main(["league", "--attacks", "--quick", "--out", str(tmp_path / "made")]) == 0
    printed = capsys.readouterr().out
    assert "little is enough, min-max: weak where rounds have several steps" in printed
    assert next(line.split("│")[1:3] for line in printed.splitlines() if "Krum" in line)[1].strip() == "Krum"
    assert "lost: NoPayments" in printed
    assert "-0.12" in printed
    assert "0.38" in printed
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"attacks.csv", "attacks.png", "attacks.pdf"}
