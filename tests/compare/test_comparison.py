"""Comparisons are paired, and their intervals are Student's where noise is normal."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fedabm import Federation, Scenario, load, population
from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.comparison import compare
from fedabm.comparison.comparison import MEASURES
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, NoPayments, PaymentRule, ShapleyShare
from fedabm.simulation.activation import Sequential


def people(rng):
    return population(np.sort(rng.uniform(0.05, 0.4, 4)), 20.0)


@pytest.fixture(scope="module")
def found():
    return compare(people, [NoPayments(), ShapleyShare()], seeds=4, accuracy=PowerLaw(), noise="normal")


def test_each_run_is_the_one_that_a_federation_gives(found):
    for seed in range(4):
        owners = people(generator(seed, "population"))
        alone = Federation(Scenario(owners, PowerLaw(), ShapleyShare(), Sequential()), seed).run()
        row = found.ends().query("seed == @seed and label == 'Shapley share'").iloc[0]
        assert row["welfare"] == alone.welfare
        assert row["worst"] == alone.population.utility.min()


def test_means_and_intervals_are_those_of_student(found):
    data = found.ends().query("label == 'no payments'")["data"]
    row = found.table().set_index("mechanism").loc["no payments"]
    assert row["data"] == pytest.approx(data.mean())
    assert row["data ±"] == pytest.approx(stats.t.ppf(0.975, 3) * data.std() / 2)


def test_differences_are_paired_by_seed(found):
    ends = found.ends().pivot(index="seed", columns="label", values="welfare")
    gap = ends["Shapley share"] - ends["no payments"]
    row = found.differences().iloc[0]
    assert row["welfare"] == pytest.approx(gap.mean())
    assert row["welfare ±"] == pytest.approx(stats.t.ppf(0.975, 3) * gap.std() / 2)
    assert found.differences("Shapley share").iloc[0]["welfare"] == pytest.approx(-gap.mean())


def test_everything_is_saved(found, tmp_path):
    names = {path.name for path in found.save(tmp_path / "out")}
    assert {"comparison.pdf", "comparison.svg", "comparison.png", "comparison.tex", "comparison.md"} <= names
    assert len(load(tmp_path / "out").runs) == 8
    assert "Shapley share &" in (tmp_path / "out" / "comparison.tex").read_text("utf-8")
    table = pd.read_csv(tmp_path / "out" / "comparison.csv")
    assert table["mechanism"].tolist() == ["no payments", "Shapley share"]


def test_the_figure_names_mechanisms_and_measures(found):
    figure = found.figure()
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["no payments", "Shapley share"]
    assert [panel.get_title().replace("\n", " ") for panel in figure.axes] == list(MEASURES.values())


def test_without_chance_nothing_differs_between_seeds():
    fixed = compare(population([0.1, 0.2], 9.0), [NoPayments()], seeds=3, accuracy=PowerLaw())
    assert not fixed.random


def test_bad_input_is_refused_in_one_line(found):
    with pytest.raises(InputError, match="no mechanism"):
        compare(people, [], accuracy=PowerLaw())
    with pytest.raises(InputError, match="give each once"):
        compare(people, [NoPayments(), NoPayments()], accuracy=PowerLaw())
    with pytest.raises(InputError, match="must be a"):
        compare(people, ["no_payments"], accuracy=PowerLaw())
    with pytest.raises(InputError, match="unknown baseline"):
        found.differences("nobody")
    with pytest.raises(InputError, match="unknown measure"):
        found.table(["happiness"])


def test_mechanisms_of_one_kind_are_told_apart():
    rules = [ContributionSubsidy(0.01), ContributionSubsidy(0.02)]
    assert compare(people, rules, 1, accuracy=PowerLaw()).labels == [
        "contribution subsidy 0.01",
        "contribution subsidy 0.02",
    ]


@pytest.mark.parametrize("seeds", [[], [1, 1], "two", 1.5, [0, 1.5], None, 0])
def test_seeds_are_a_number_or_different_ones(seeds):
    with pytest.raises(InputError, match="seeds must be"):
        compare(people, [NoPayments()], seeds=seeds, accuracy=PowerLaw())


def test_a_number_of_numpy_and_a_single_mechanism_will_do():
    found = compare(people, NoPayments(), seeds=np.int64(2), accuracy=PowerLaw(), steps=1)
    assert (found.labels, found.seeds) == (["no payments"], 2)


def test_labels_name_no_place_in_memory():
    rules = [PaymentRule(lambda accuracy, reports: 0 * reports.contribution) for _ in range(2)]
    found = compare(people, rules, seeds=1, accuracy=PowerLaw(), steps=1)
    assert found.labels == ["payment rule 1", "payment rule 2"]


def test_runs_that_ended_too_early_are_told():
    found = compare(people, [NoPayments(), ShapleyShare()], seeds=1, accuracy=PowerLaw(), steps=1)
    early = [line for line in found.unsettled() if line.startswith("Shapley share: 1 of 1 runs ended before")]
    assert len(early) == 1
    assert "an owner could still gain" in early[0]
    done = compare(people, [NoPayments(), ShapleyShare()], seeds=1, accuracy=PowerLaw())
    assert done.unsettled() == []


def test_signs_mean_themselves_in_latex():
    named = {r"fee $5 ~ ^ {x} \n 10% a_b & #1": NoPayments()}
    table = compare(people, named, seeds=2, accuracy=PowerLaw(), steps=1, noise="normal").latex(["data"])
    wanted = r"fee \$5 \textasciitilde{} \textasciicircum{} \{x\} \textbackslash{}n 10\% a\_b \& \#1 & "
    assert wanted in table
    assert r"$\pm$" in table


def test_what_owners_receive_is_called_paid():
    rule = PaymentRule(lambda accuracy, reports: np.array([0.3, -0.1, -0.1, -0.1]), equal_treatment=False)
    found = compare(people, {"fee": rule}, seeds=1, accuracy=PowerLaw(), steps=1)
    assert found.ends()["paid"].tolist() == pytest.approx([0.3])
    assert MEASURES["paid"] == "money that owners receive in a step"
