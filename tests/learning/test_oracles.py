"""Accuracies from real training answer like closed forms: trained, coalitions, curves and fits."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedabm.common.errors import InputError
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import GroupWeighted
from fedabm.learning import FedAvg, FedProx
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Coalition, Measure, MeasuredCurve, Trained, fit_groups, measure_groups
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.curve import proportional
from fedabm.learning.rules import rounds
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.shapley import shapley
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game

PROFILE = np.array([40.0, 25.0, 0.0, 60.0])


@cache
def digits(owners: int = 4) -> FederatedData:
    return from_partition(load_dataset("digits"), IID(owners), test_share=0.2)


@cache
def engine() -> Engine:
    return Engine("logistic", digits(), device="cpu")


def trained(**changes) -> Trained:
    return replace(Trained(engine(), rounds=3), **changes)


class Counted:
    """Counts how often a federation is really trained."""

    def __init__(self, monkeypatch) -> None:
        from fedabm.learning.oracles import trained as module

        self.calls, real = 0, module.federate

        def federate(*arguments):
            self.calls += 1
            return real(*arguments)

        monkeypatch.setattr(module, "federate", federate)


# Trained


def test_a_trained_accuracy_is_that_of_plain_federated_averaging():
    oracle, counts = trained(), torch.tensor([40, 25, 0, 60])
    model = engine().initial(0)
    for number in range(3):
        local = engine().train(model, counts.numpy(), epochs=1, optimiser=oracle.recipe.optimiser, seed=0, round=number)
        model = model + counts / counts.sum() @ (local - model)
    expected = engine().evaluate(model).numpy()[1]
    np.testing.assert_allclose(oracle.values(PROFILE[None]), expected, atol=1e-12)
    assert expected.mean() > 0.5


def test_more_data_and_more_rounds_teach_more():
    few, many = trained(rounds=5).values(np.array([[5.0] * 4, [200.0] * 4])).mean(axis=1)
    assert many > few + 0.1
    assert many > trained(rounds=1).values(np.array([[200.0] * 4])).mean()


def test_without_data_the_model_stays_as_it_began():
    expected = engine().evaluate(engine().initial(0)).numpy()[1]
    np.testing.assert_array_equal(trained().values(np.zeros((1, 4))), expected)


def test_asking_again_costs_nothing_and_rounding_happens_here_only(monkeypatch):
    oracle, counted = trained(), Counted(monkeypatch)
    first = oracle.values(np.array([PROFILE, PROFILE, PROFILE + 0.4]))
    assert counted.calls == 1
    np.testing.assert_array_equal(first[0], first[2])
    oracle.values((PROFILE + 0.2)[None])
    assert counted.calls == 1
    oracle.values((PROFILE + 0.6)[None])
    assert counted.calls == 2


def test_results_outlive_the_process_and_depend_on_every_setting(monkeypatch, tmp_path):
    known = trained(folder=tmp_path).values(PROFILE[None])
    counted = Counted(monkeypatch)
    np.testing.assert_array_equal(trained(folder=tmp_path).values(PROFILE[None]), known)
    assert counted.calls == 0
    others = [{"rounds": 2}, {"seed": 1}, {"recipe": Recipe(steps=2)}, {"measure": Measure("loss")}]
    others.append({"engine": Engine("logistic", digits(), device="cpu", chunk=1), "recipe": Recipe(batch=5)})
    others.append({"engine": Engine("tiny_mlp", digits(), device="cpu")})
    for number, other in enumerate(others, start=1):
        trained(folder=tmp_path, **other).values(PROFILE[None])
        assert counted.calls == number
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".npz"]


def test_a_damaged_result_is_trained_again(monkeypatch, tmp_path):
    known = trained(folder=tmp_path).values(PROFILE[None])
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    counted = Counted(monkeypatch)
    np.testing.assert_array_equal(trained(folder=tmp_path).values(PROFILE[None]), known)
    assert counted.calls == 1
    anew, before = np.load(file), np.load(io.BytesIO(whole))
    assert set(anew) == set(before) == {"questions", "answers", "seconds"}
    for name in ("questions", "answers"):  # seconds are those of the second training
        np.testing.assert_array_equal(anew[name], before[name])


def test_results_that_cannot_be_written_say_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write to .*; a part of that path is a file"):
        trained(folder=tmp_path / "file" / "below").values(PROFILE[None])


def test_slopes_are_differences_over_whole_samples():
    oracle = trained(step=10)
    x = PROFILE + 5
    slopes = oracle.curves(PROFILE).slope(x)
    for owner in range(4):
        low, high = np.repeat(PROFILE[None], 2, axis=0)
        low[owner], high[owner] = x[owner], x[owner] + 10
        below, above = oracle.values(np.array([low, high]))
        assert slopes[owner] == pytest.approx((above[owner] - below[owner]) / 10, abs=1e-12)
    assert np.any(slopes != 0)
    several = oracle.curves(PROFILE).take([1, 3]).slope(np.stack([x, x], axis=1)[[1, 3]])
    np.testing.assert_allclose(several, slopes[[1, 3]][:, None] * np.ones(2))


def test_slopes_stay_within_the_data():
    oracle, full = trained(step=10), digits().capacities.astype(float)
    below, above = oracle.values(np.array([full - np.array([10, 0, 0, 0]), full]))
    assert oracle.curves(full).slope(full)[0] == pytest.approx((above[0] - below[0]) / 10, abs=1e-12)
    whole = oracle.marginals(full)
    assert whole[0, 0] == pytest.approx((above[0] - below[0]) / 10, abs=1e-12)
    assert whole[3, 0] == pytest.approx((above[3] - below[3]) / 10, abs=1e-12)


def test_claims_beyond_the_data_cannot_be_trained_on():
    full = digits().capacities.astype(float)
    np.testing.assert_array_equal(trained().values(10 * full[None]), trained().values(full[None]))


def test_the_loss_measures_how_far_it_is_below_the_reference():
    model, _ = rounds.federate(engine(), PROFILE, Recipe(), 3, 0)
    loss = engine().evaluate(model).numpy()[0]
    worth = trained(measure=Measure("loss", reference=2.0)).values(PROFILE[None])
    np.testing.assert_allclose(worth, 2.0 - loss)


def test_equal_weighting_counts_everyone_alike_and_fed_prox_holds_back():
    start = engine().initial(0)
    data = rounds.one_round(engine(), start, PROFILE, Recipe(), 0, 0)
    equal = rounds.one_round(engine(), start, PROFILE, Recipe(rule=FedAvg(weighting="equal")), 0, 0)
    torch.testing.assert_close(equal.model, start + data.updates[[0, 1, 3]].mean(0))
    torch.testing.assert_close(data.model, start + torch.tensor([40, 25, 0, 60]) / 125 @ data.updates)
    held = rounds.one_round(engine(), start, PROFILE, Recipe(rule=FedProx(5.0)), 0, 0)
    assert (held.model - start).norm() < 0.9 * (data.model - start).norm()


def test_a_round_passes_through_the_meta_device():
    from fedabm.common.random import owner_streams
    from fedabm.games.messages import Tampering

    ghost = Engine("mlp", digits(), device="meta")
    attack = Tampering(np.array([1, 3]), lambda rows, received, rng: -rows, owner_streams(0, 2))
    done = rounds.one_round(ghost, ghost.initial(0), PROFILE, Recipe(), 0, 0, None, (attack,))
    assert done.model.device.type == "meta"
    assert done.model.shape == (ghost.size,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: FedAvg(weighting="size"), "data or equal"),
        (lambda: Recipe(epochs=1, steps=1), "either epochs or steps"),
        (lambda: Recipe(optimiser="sgd"), "optimiser must be SGD or Adam, got 'sgd'"),
        (lambda: Measure("auc"), "accuracy or loss"),
        (lambda: trained(rounds=-1), "rounds"),
        (lambda: trained(step=0), "step"),
        (lambda: trained().values(np.zeros((1, 3))), "3 contributions but 4 owners"),
        (lambda: trained().values(np.full((1, 4), np.nan)), "must be numbers .* got NaN"),
        (lambda: measure_groups(trained(), [0, 0, -1, 1], 1, np.random.default_rng(0)), "whole numbers from 0"),
        (lambda: measure_groups(trained(), [0, 0, 0.5, 1], 1, np.random.default_rng(0)), "whole numbers from 0"),
        (
            lambda: trained(recipe=Recipe(optimiser=SGD(1e38))).values(PROFILE[None]),
            "rate must be a single number up to 1e",
        ),
        (lambda: Measure("loss").of(engine(), torch.full((1, engine().size), 3e38)), "loss for owner 0 .* diverged"),
    ],
)
def test_bad_settings_are_one_clear_line(wrong, words):
    with pytest.raises(InputError, match=words) as told:
        wrong()
    assert "\n" not in str(told.value)


# Coalitions


def test_the_grand_coalition_is_the_trained_model_and_the_empty_one_the_start():
    coalition = Coalition(engine(), PROFILE, rounds=3)
    grand, empty = coalition.values(np.array([PROFILE, np.zeros(4)]))
    np.testing.assert_array_equal(grand, trained().values(PROFILE[None])[0])
    np.testing.assert_array_equal(empty, engine().evaluate(engine().initial(0)).numpy()[1][0])


def test_a_single_owner_in_one_round_is_its_own_local_model():
    alone = np.array([0.0, 25.0, 0.0, 0.0])
    local = engine().train(engine().initial(0), PROFILE, epochs=1, optimiser=Recipe().optimiser, seed=0, round=0)
    found = Coalition(engine(), PROFILE).values(alone[None])
    np.testing.assert_allclose(found, engine().evaluate(local[1]).numpy()[1], atol=1e-12)


def test_shapley_shares_of_real_models_are_efficient_and_give_nothing_for_nothing():
    coalition = Coalition(engine(), PROFILE, rounds=2)
    gained = coalition.values(PROFILE[None]).sum() - coalition.at_zero(4).sum()
    exact = shapley(coalition, PROFILE, method="enumeration")
    assert exact.sum() == pytest.approx(gained, abs=1e-12)
    assert exact[2] == 0
    assert np.all(exact[[0, 1, 3]] > 0.1)
    sampled = shapley(coalition, PROFILE, method="monte_carlo", permutations=400, rng=np.random.default_rng(1))
    assert sampled.sum() == pytest.approx(gained, abs=1e-12)
    assert np.all(np.abs(sampled - exact) <= 5 * sampled.standard_errors + 1e-12)
    assert len(coalition.coalitions._memory) == 8


def test_values_of_coalitions_outlive_the_process(monkeypatch, tmp_path):
    members = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]]) * PROFILE
    known = Coalition(engine(), PROFILE, folder=tmp_path).values(members)
    monkeypatch.setattr(AveragedModels, "_compute", None)
    np.testing.assert_array_equal(Coalition(engine(), PROFILE, folder=tmp_path).values(members[::-1]), known[::-1])
    with pytest.raises(TypeError):
        Coalition(engine(), PROFILE, seed=1, folder=tmp_path).values(members)


def test_coalitions_are_mixed_as_the_recipe_says():
    recipe = Recipe(rule=FedAvg(0.5, "equal"))
    pair = Coalition(engine(), PROFILE, recipe=recipe, measure=Measure("loss", 2.0)).values(
        np.array([[40.0, 25.0, 0.0, 0.0]])
    )
    start = engine().initial(0)
    updates = rounds.one_round(engine(), start, PROFILE, recipe, 0, 0).updates
    loss = engine().evaluate(start + 0.5 * updates[:2].mean(0)).numpy()[0]
    np.testing.assert_allclose(pair, 2.0 - loss, rtol=1e-5)


def test_an_owner_with_broken_data_is_in_no_coalition():
    data = digits()
    spoiled = replace(data, x_train=data.x_train.astype(np.float32) * (2 / 255) - 1)
    spoiled.x_train[data.offsets[1] : data.offsets[2]] = np.nan
    profile = np.array([40.0, 25.0, 10.0, 60.0])
    coalition = Coalition(Engine("logistic", spoiled, device="cpu"), profile, rounds=2)
    assert coalition.dropped.tolist() == [False, True, False, False]
    shares = shapley(coalition, profile)
    assert np.all(np.isfinite(shares))
    assert shares[1] == pytest.approx(0, abs=1e-15)
    assert np.all(shares[[0, 2, 3]] > 0.01)


def test_a_coalition_knows_one_profile_only():
    coalition = Coalition(engine(), PROFILE)
    with pytest.raises(InputError, match=r"one profile only.*use Trained"):
        coalition.values((PROFILE + 1)[None])
    with pytest.raises(InputError, match="owner 0 contributes"):
        Coalition(engine(), PROFILE + 1e6)


# Curves

HEIGHTS = arrays(float, 6, elements=st.floats(0, 1, width=32))


@given(HEIGHTS)
def test_the_envelope_is_the_least_concave_curve_above_the_points(heights):
    totals = np.array([0.0, 1.0, 3.0, 4.0, 8.0, 10.0])
    curve = MeasuredCurve(totals, heights, concave=True)
    assert curve.concave
    assert curve.monotone
    at = curve.curve(totals)
    assert np.all(at >= heights - 1e-12)
    slopes = curve.curve_slope(np.linspace(0, 9.99, 200))
    assert np.all(np.diff(slopes) <= 1e-9)
    corners = np.isin(totals, curve.totals.array)
    np.testing.assert_allclose(at[corners], np.maximum.accumulate(heights)[corners], atol=1e-12)


def test_a_curve_is_linear_between_points_and_flat_beyond():
    curve = MeasuredCurve([0, 10, 20], [0.1, 0.5, 0.6])
    assert curve.curve(np.array([0.0, 5.0, 10.0, 15.0, 20.0, 99.0])) == pytest.approx([0.1, 0.3, 0.5, 0.55, 0.6, 0.6])
    assert curve.curve_slope(np.array([0.0, 9.9, 10.0, 20.0, 99.0])) == pytest.approx([0.04, 0.04, 0.01, 0, 0])
    np.testing.assert_allclose(curve.kinks(np.array([4.0, 3.0])), [[7.0, 17.0], [6.0, 16.0]])
    assert curve.concave
    assert not MeasuredCurve([0, 10, 20], [0.1, 0.2, 0.6]).concave
    assert not MeasuredCurve([0, 10, 20], [0.1, 0.6, 0.5]).monotone
    assert replace(curve, concave=True) == curve


def test_best_responses_on_a_curve_reach_a_certified_equilibrium():
    curve = MeasuredCurve([0, 10, 20, 30, 60], [0.1, 0.5, 0.65, 0.7, 0.72])
    game = Game(curve, [0.012, 0.02, 0.05], 50.0, NoPayments())
    found = solve(game)
    assert found.gap < 1e-9
    assert found.profile == pytest.approx([20, 0, 0])
    rough = Game(MeasuredCurve([0, 10, 20, 30], [0.1, 0.2, 0.6, 0.61]), [0.012, 0.03], 50.0, NoPayments())
    assert solve(rough).gap < 1e-6


def test_a_curve_pays_shapley_shares():
    curve = MeasuredCurve([0, 10, 20, 30, 60], [0.1, 0.5, 0.65, 0.7, 0.72])
    profile = np.array([10.0, 20.0, 3.0])
    shares = shapley(curve, profile)
    assert shares.sum() == pytest.approx(3 * (curve.curve(np.array(33.0)) - 0.1))
    assert solve(Game(curve, [0.012, 0.02, 0.05], 50.0, ShapleyShare())).gap < 1e-6


def test_a_measured_curve_is_the_mean_of_trained_models():
    totals = [0, 20, 100, 400]
    curve = MeasuredCurve.measure(trained(), totals, repeats=2)
    profile = proportional(100, digits().capacities)
    expected = [trained(seed=seed).values(profile[None]).mean() for seed in (0, 1)]
    assert curve.curve(np.array(100.0)) == pytest.approx(np.mean(expected))
    assert curve.accuracies.array[-1] > curve.accuracies.array[0] + 0.4


@given(st.integers(0, 60), st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_proportional_contributions_are_whole_and_add_up(total, capacities):
    total = min(total, sum(capacities))
    found = proportional(total, capacities)
    assert found.sum() == total
    assert np.all(found == np.rint(found))
    assert np.all((found >= 0) & (found <= capacities))
    assert np.all(np.abs(found - total * np.array(capacities) / sum(capacities)) < 1)


@pytest.mark.parametrize(
    ("totals", "heights", "words"),
    [
        ([0, 1], [0.1], "2 totals but 1 accuracies"),
        ([1, 2], [0.1, 0.2], "rise from 0"),
        ([0, 2, 2], [0.1, 0.2, 0.3], "rise from 0"),
        ([0, np.nan], [0.1, 0.2], "finite"),
    ],
)
def test_bad_points_are_one_clear_line(totals, heights, words):
    with pytest.raises(InputError, match=words):
        MeasuredCurve(totals, heights)


def test_totals_beyond_the_data_cannot_be_measured():
    with pytest.raises(InputError, match="owners have"):
        MeasuredCurve.measure(trained(), [0, 10**6])


# Fits


def spread_points(weights, rng, points=12, noise=0.0, **form):
    groups = np.arange(len(weights))
    totals = rng.uniform(0, 60, size=(points, len(weights)))
    accuracies = GroupWeighted(weights, groups, **form).values(totals)
    return totals, accuracies + noise * rng.standard_normal(accuracies.shape)


@given(arrays(float, (3, 3), elements=st.floats(0.0, 2.0)), st.integers(0, 10**6))
def test_a_fit_recovers_the_weights(weights, seed):
    weights = weights + 0.05 * np.eye(3)
    totals, accuracies = spread_points(weights, np.random.default_rng(seed))
    fit = fit_groups(totals, accuracies, groups=[0, 1, 2, 2])
    np.testing.assert_allclose(fit.accuracy.table, weights, atol=1e-4)
    assert fit.rmse < 1e-6
    assert fit.accuracy.owners == 4


def test_a_fit_to_noisy_points_is_near_and_says_how_near():
    weights = np.array([[1.0, 0.3], [0.1, 0.7]])
    totals, accuracies = spread_points(weights / 10, np.random.default_rng(3), points=200, noise=0.01)
    fit = fit_groups(totals, accuracies, groups=[0, 1])
    np.testing.assert_allclose(10 * fit.accuracy.table, weights, atol=0.05)
    assert fit.rmse == pytest.approx(0.01, rel=0.15)
    assert 0.9 < fit.r_squared < 1
    rest = accuracies - fit.accuracy.values(totals)
    np.testing.assert_allclose(fit.residuals, rest)
    assert fit.r_squared == pytest.approx(1 - np.sum(rest**2) / np.sum((accuracies - accuracies.mean()) ** 2))


def test_further_parameters_can_be_fitted_too():
    weights = np.array([[1.0, 0.3], [0.1, 0.7]])
    totals, accuracies = spread_points(weights, np.random.default_rng(5), points=40, ceiling=0.9, exponent=0.8)
    plain = fit_groups(totals, accuracies, groups=[0, 1])
    fit = fit_groups(totals, accuracies, groups=[0, 1], free=("ceiling", "exponent"))
    assert fit.accuracy.ceiling == pytest.approx(0.9, abs=1e-3)
    assert fit.accuracy.exponent == pytest.approx(0.8, abs=1e-2)
    np.testing.assert_allclose(fit.accuracy.table, weights, atol=0.05)
    assert fit.rmse < 1e-5 < plain.rmse


def test_a_fit_to_real_training_explains_it_and_plays_in_games():
    groups = [0, 0, 1, 1]
    points = measure_groups(trained(), groups, 12, np.random.default_rng(0))
    assert points.totals.shape == points.accuracies.shape == (12, 2)
    fit = fit_groups(*points, groups, free=("ceiling", "exponent"))
    assert fit.rmse < 0.05
    assert solve(Game(fit.accuracy, [1e-4] * 4, 300.0, NoPayments())).gap < 1e-9


@pytest.mark.parametrize(
    ("totals", "accuracies", "free", "words"),
    [
        (np.ones((3, 2)), np.ones((3, 1)), (), "do not match"),
        (np.ones((1, 2)), np.ones((1, 2)), (), "at least 2"),
        (np.full((3, 2), np.nan), np.ones((3, 2)), (), "finite"),
        (np.ones((3, 2)), np.ones((3, 2)), ("celing",), "did you mean 'ceiling'"),
    ],
)
def test_bad_fits_are_one_clear_line(totals, accuracies, free, words):
    with pytest.raises(InputError, match=words):
        fit_groups(totals, accuracies, [0, 1], free=free)
