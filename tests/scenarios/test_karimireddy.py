"""The numbers behind the pictures of Karimireddy et al. 2022, as the scenario scripts compute them."""

import numpy as np
import pandas as pd
import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import PacBound
from fedabm.games.costs import Linear
from fedabm.games.individual import smallest_federation, viability_cost
from fedabm.mechanisms.proportional import ProportionalData, ProportionalValue
from fedabm.mechanisms.proportional_shapley import ProportionalShapley
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.papers.karimireddy2022.menus import one_owner, over_chances
from fedabm.papers.karimireddy2022.proportional import Market, largest_symmetric
from fedabm.papers.karimireddy2022.shaping import (
    fit_losses,
    largest_complexity,
    optima_alone,
    shaped_total,
    value_of_tokens,
)
from fedabm.scenarios import cost_discrimination
from fedabm.study.library import find
from fedabm.study.study import Study


def play(name: str, steps: int | None = None, **parameters) -> Study:
    script = find(name)
    study = Study(name, steps=steps, quiet=True)
    script.run(study, **{**script.defaults, **parameters})
    return study


def summary(study: Study, name: str = "summary") -> pd.DataFrame:
    return study._tables[name]


# Figures 1 and 2


def test_individual_optimum_falls_with_cost_until_nobody_starts():
    costs = viability_cost(PacBound()) * np.array([0.01, 0.1, 0.999999, 1.000001, 2.0])
    found = optima_alone(PacBound(), costs)
    assert np.all(np.diff(found[:3]) < 0)
    assert np.all(found[:3] > PacBound().viable)
    assert np.all(found[3:] == 0)


def test_individual_optimum_at_the_costs_of_the_paper():
    assert optima_alone(PacBound(), np.array([1e-4, 1e-3])) == pytest.approx([1148.388915, 238.113009])
    study = play("individual_optimum", complexities=(1.0, 100.0))
    assert summary(study)["m* (samples)"].tolist() == pytest.approx([238.113009, 0.0, 0.0], abs=1e-6)
    assert summary(study, "viability")["viability cost"][0] == pytest.approx(2.122022e-3, rel=1e-6)
    assert summary(study, "viability").iloc[:, -1].between(-0.70, -0.66).all()
    simulated = study.frames.owners.groupby("run")["contribution"].last()
    assert simulated.tolist() == pytest.approx([238.113009, 0.0, 0.0], rel=1e-6)


# Theorem III and Remark 1


def test_only_the_cheapest_owner_contributes_whatever_their_number():
    table = summary(play("free_riding_collapse", owners=6, sizes=(1, 3)))
    bearable = table[table["costs"] == "costs an owner can bear"]
    assert bearable["simulated"].to_numpy() == pytest.approx(bearable["m* of cheapest"].to_numpy(), rel=1e-6)
    assert bearable["solved"].to_numpy() == pytest.approx(bearable["m* of cheapest"].to_numpy(), rel=1e-7)
    assert (bearable["contributors"] == 1).all()
    assert bearable["data alone"].is_monotonic_increasing
    assert (table["gap"] < 1e-9).all()


def test_nobody_contributes_where_nobody_would_alone():
    table = summary(play("free_riding_collapse", owners=4, sizes=(1,)))
    hard = table[table["costs"] == "costs too high alone"]
    assert (hard[["simulated", "solved", "contributors"]] == 0).all(axis=None)


def test_equal_lowest_and_highest_cost_are_refused():
    with pytest.raises(InputError, match="0 < lowest < highest"):
        play("free_riding_collapse", lowest=1e-3, highest=1e-3)


# Figures 3 and 4


@pytest.mark.parametrize(("complexity", "total", "fewest"), [(1.0, 91972.16, 48), (100.0, 78735.42, 1084)])
def test_totals_and_smallest_federations_of_figure_4(complexity, total, fewest):
    accuracy = PacBound(complexity=complexity)
    assert shaped_total(accuracy, 0.1, 10_000) == pytest.approx(total, abs=0.01)
    assert smallest_federation(accuracy, 0.1) == fewest
    assert shaped_total(accuracy, 0.1, fewest) > accuracy.viable
    assert shaped_total(accuracy, 0.1, fewest - 1) == 0


def test_ten_thousand_owners_solve_problems_up_to_complexity_1120():
    assert 1119 < largest_complexity(0.95, 0.1, 10_000) < 1120.5


def test_value_shaping_needs_a_start_but_then_keeps_everyone_in():
    study = play("value_shaping", complexities=(1.0,), points=3)
    played = summary(study, "simulated").set_index("label")
    assert (played["status"] == "converged").all()
    assert (played["gap"] < 1e-9).all()
    nothing, everything = played["data (samples)"].iloc[1:]
    assert nothing == 0
    assert everything == pytest.approx(shaped_total(PacBound(), 0.1, 96), rel=1e-6)
    assert played["utility per owner"].iloc[0] == pytest.approx(0.4402 - 0.2381, abs=1e-4)


# Figure 5


@pytest.mark.parametrize(("exponent", "fewest"), [(0.095, 1618), (0.95, 224)])
def test_smallest_number_of_companies(exponent, fewest):
    accuracy = value_of_tokens(exponent)
    assert accuracy.curve(np.array([5.4e13, 5.4e14])) == pytest.approx([0.0, 1e9 * (1 - 0.1**exponent)], abs=1e-3)
    assert smallest_federation(accuracy, 1e-3) == fewest
    assert shaped_total(accuracy, 1e-3, fewest) > 5.4e13
    assert shaped_total(accuracy, 1e-3, fewest - 1) == 0


def test_simulated_companies_reach_the_equilibrium():
    study = play("gpt3", companies=2500, points=3)
    expected = shaped_total(value_of_tokens(), 1e-3, 2500)
    assert study.frames.runs["converged"].all()
    assert study.frames.owners["contribution"].sum() == pytest.approx(expected, rel=1e-6)


def test_the_law_is_fitted_to_losses_that_are_given(tmp_path):
    """Points on (5.4e13 / m)^0.095, with noise that adds up to nothing along the line."""
    sizes = np.array([1e8, 1e9, 1e10, 1e11])
    file = tmp_path / "losses.csv"
    noise = np.exp(0.01 * np.array([1, -1, -1, 1]))
    pd.DataFrame({"tokens": sizes, "loss": noise * (5.4e13 / sizes) ** 0.095}).to_csv(file, index=False)
    fit = fit_losses(sizes, (5.4e13 / sizes) ** 0.095)
    assert (fit.tokens, fit.exponent, fit.r_squared) == pytest.approx((5.4e13, 0.095, 1.0))
    found = summary(play("gpt3", companies=2500, points=3, losses=str(file)))
    assert found["exponent"].tolist() == pytest.approx([0.095, 0.95], rel=1e-6)
    assert found["smallest n"][0] == 1618
    for text, said in (("a,b\n1,2\n", "needs tokens and loss"), ("tokens,loss\n1,2\n9,3\n", "losses rise")):
        file.write_text(text)
        with pytest.raises(InputError, match=said):
            play("gpt3", companies=10, points=3, losses=str(file))
    with pytest.raises(InputError, match="cannot read"):
        play("gpt3", companies=10, points=3, losses=str(tmp_path / "nothing.csv"))


# Figure 6


@pytest.fixture(scope="module")
def market() -> Market:
    return Market(PacBound(), 0.1, 300)


@pytest.mark.parametrize("rule", [ProportionalData, ProportionalShapley])
def test_proportional_rules_collect_more_with_larger_powers_but_never_more_than_value_shaping(market, rule):
    shaped = shaped_equilibrium(PacBound(), Linear(np.full(300, 0.1)))[0]
    powers = np.array([0.0, 0.5, 0.8, 1.0])
    found = largest_symmetric(market, rule, powers)
    assert found[0] == 0
    assert np.all(np.diff(found) > 0)
    assert np.all(found <= shaped * (1 + 1e-9))
    for power, each in zip(powers[1:], found[1:], strict=True):
        assert market.gain(rule(power), each, 1e-5) < 2e-5
        assert market.gain(rule(power), 1.02 * each, 1e-5) > 2e-5


def test_value_alone_collects_nothing_where_nobody_is_viable_alone(market):
    assert np.all(largest_symmetric(market, ProportionalValue, np.array([0.3, 1.0])) == 0)


def test_power_one_equals_value_shaping_or_collapses_by_how_the_equilibrium_is_chosen(market):
    shaped = shaped_equilibrium(PacBound(), Linear(np.full(300, 0.1)))[0]
    one = np.array([1.0])
    assert largest_symmetric(market, ProportionalData, one) == pytest.approx([shaped], rel=1e-9)
    assert largest_symmetric(market, ProportionalData, one, "small") == 0


def test_proportional_data_by_its_first_order_condition():
    wide = Market(PacBound(), 0.1, 10_000)
    each = largest_symmetric(wide, ProportionalData, np.array([0.5]))[0]
    value, slope = PacBound().curve(np.array(1e4 * each)), PacBound().curve_slope(np.array(1e4 * each))
    assert each == pytest.approx(0.5 * value / (0.1 - slope), rel=1e-8)


def test_outside_matters_where_owners_can_do_something_alone():
    alone, nothing = (Market(PacBound(), 1e-3, 50, outside) for outside in ("alone", "nothing"))
    assert alone.elsewhere > 0 == nothing.elsewhere
    one = np.array([1.0])
    found = [largest_symmetric(one_market, ProportionalData, one)[0] for one_market in (alone, nothing)]
    shaped = shaped_equilibrium(PacBound(), Linear(np.full(50, 1e-3)))[0]
    assert found[0] == pytest.approx(shaped, rel=1e-8)
    assert found[1] > 1.2 * shaped


# Figure 7


@pytest.mark.parametrize("outside", ["alone", "nothing"])
@pytest.mark.parametrize("goal", ["low_cost", "total"])
@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.5, 1.0])
def test_tuned_proportional_data_is_an_equilibrium(outside, goal, fraction):
    mixture = cost_discrimination.Mixture(PacBound(), 1e-4, 2e-4, 200, outside)
    power, low, high = cost_discrimination.tuned(mixture, fraction, goal)
    # At p = 1 every contribution below the level is worth the same, so that the proof cannot be sharper.
    assert cost_discrimination.gap(mixture, fraction, power, low, high) < (1e-5 if power == 1 else 1e-7)
    assert max(low, high) > 1000
    assert cost_discrimination.gap(mixture, fraction, power, 1.1 * low, 1.1 * high) > 1e-4


def test_high_cost_owners_opt_out_only_if_the_rule_is_tuned_for_the_low_cost_ones():
    mixture = cost_discrimination.Mixture(PacBound(), 1e-4, 2e-4, 10_000)
    shaped = shaped_equilibrium(PacBound(), Linear(mixture.costs(0.01)))
    _, low, high = cost_discrimination.tuned(mixture, 0.01, "low_cost")
    assert high == 0
    assert 50 < shaped.sum() / (100 * low) < 80
    _, low, high = cost_discrimination.tuned(mixture, 0.01, "total")
    assert high == pytest.approx(low)
    assert 1 < shaped.sum() / (100 * low + 9900 * high) < 1.02


def test_no_mixture_lets_rational_proportional_data_collect_more_than_value_shaping():
    table = summary(play("cost_discrimination", owners=500, fractions=(0.1, 0.5, 0.9), simulated=10))
    assert (table["value shaping / this"] >= 1 - 1e-9).all()
    assert (table["gap"].dropna() < 1e-7).all()


# Figure 8


def test_the_corrected_formula_collects_at_least_as_much_as_the_printed_one():
    reports = one_owner(PacBound(), 5e-4, 200.0)
    chances = np.linspace(0.0, 1.0, 41)
    right, wrong = (over_chances(PacBound(), reports, 5e-4, 1e-3, chances, printed) for printed in (False, True))
    gained = (right["expected data"] - wrong["expected data"]).to_numpy()
    assert np.all(gained >= -1e-6)
    assert gained.max() > 10
    assert np.all(right["expected data"] <= right["if costs were known"] + 1e-6)
    assert np.all(right["rent"] >= -1e-9)
    assert np.all(np.abs(right["rent"][chances >= 0.5]) < 1e-9)
    assert right["rent"][0] > 0.01


def test_simulated_owners_choose_the_corner_meant_for_them():
    table = summary(play("screening", points=5), "simulated")
    assert (table["status"] == "converged").all()
    assert (table["gap"] < 1e-8).all()
    total = {label: rows["contribution"] @ [4, 6] for label, rows in table.groupby("label")}
    assert total["10 owners, corrected"] > total["10 owners, printed"]


# All of them


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("individual_optimum", {"costs": (0.0,)}),
        ("individual_optimum", {"complexities": ()}),
        ("value_shaping", {"complexities": ()}),
        ("proportional_rules", {"powers": ()}),
        ("cost_discrimination", {"fractions": ()}),
        ("value_shaping", {"owners": 0}),
        ("gpt3", {"tokens": -1.0}),
        ("proportional_rules", {"powers": (2.0,)}),
        ("cost_discrimination", {"fractions": (1.5,)}),
        ("screening", {"low": 2.0}),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(name, wrong):
    with pytest.raises(InputError) as refusal:
        play(name, **wrong)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "smaller"),
    [
        ("individual_optimum", {"complexities": (1.0,), "points": 5}),
        ("free_riding_collapse", {"owners": 3, "sizes": (2,)}),
        ("value_shaping", {"complexities": (1.0,), "points": 3, "owners": 200}),
        ("gpt3", {"companies": 2000, "points": 3}),
        ("proportional_rules", {"owners": 100, "powers": (0.0, 1.0), "simulated": 60}),
        ("cost_discrimination", {"owners": 50, "fractions": (0.5,), "simulated": 4}),
        ("screening", {"points": 3, "owners": 3}),
    ],
)
def test_two_steps_are_enough_for_frames_table_and_picture(name, smaller):
    study = play(name, steps=2, **smaller)
    assert len(study.frames.runs) >= 1
    assert len(summary(study)) >= 1
    assert study._pictures
