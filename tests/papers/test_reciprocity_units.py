"""Murhekar et al. 2025 in its own units: batches, the paper's budget, corners, exact shares, sample counts."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.data.datasets import Dataset, load_dataset, status
from fedabm.data.partitions import LabelMix
from fedabm.games.accuracy import GroupWeighted
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Coalition, Points, Trained, corners, fit_groups, measure_corners
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.papers.murhekar2025.printed import PRINTED
from fedabm.papers.murhekar2025.protocols import paper_budget
from fedabm.papers.murhekar2025.reciprocity import measured_reciprocity
from fedabm.papers.murhekar2025.settings import GROUP_PRESETS, Units, fit_in_batches
from fedabm.papers.presets import Size, engine_for
from fedabm.scenarios import reciprocity_table_trained, stage_payments
from fedabm.shapley import shapley
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.strategies import Keep
from fedabm.study.study import Study
from fedabm.views import Reports

MIX = LabelMix(((0.3, 0.7), (0.7, 0.3)))


def small(owners: int = 2) -> Engine:
    return engine_for(load_dataset("digits"), Size(owners, 60, 30, "logistic"), 0)


def test_one_unit_is_a_batch_and_the_last_one_may_be_small():
    units = Units(batch=64, most=27)
    assert units.capacities(np.array([1666, 6400, 64])).tolist() == [27, 27, 1]
    assert units.samples(np.array([27.0, 1.5, 0.0]), np.array([1666, 6400, 64])).tolist() == [1666, 96, 0]


@pytest.mark.parametrize(
    ("name", "batch", "most", "network"), [("mnist", 10, 100, "mnist_cnn"), ("cifar10", 64, 100, "resnet18")]
)
def test_the_papers_batches_networks_and_rates(name, batch, most, network):
    paper = GROUP_PRESETS["paper"]
    assert (paper.units(name).batch, paper.units(name).most, paper.sized(name).network) == (batch, most, network)
    assert paper.training(name).batch == batch
    assert paper.training(name).optimiser.rate == {"mnist": 0.1, "cifar10": 0.001}[name]
    assert (paper.corner, paper.cost, paper.permutations) == (200, 0.001, 102)


def test_the_papers_budget_in_batches_ends_at_three_percent_and_in_samples_nowhere():
    """1000 steps of size 10 from one unit each, 10 of 30 owners at a time, without payments: printed are 5.8%."""
    data = PRINTED["mnist"]
    groups = np.repeat(np.arange(3), 10)
    costs = generator(0, "population").uniform(0, 0.001, 30)
    in_batches = Game(GroupWeighted(data.weights, groups), costs, data.most, NoPayments())
    found = solve(in_batches, **paper_budget(30, seed=0))
    assert found.iterations == 1000
    assert 100 * found.profile.sum() / (data.batches * 30) == pytest.approx(3.0, abs=0.3)
    by_sample = GroupWeighted(np.array(data.weights) / data.batch, groups)
    in_samples = Game(by_sample, costs / data.batch, data.most * data.batch, NoPayments())
    lost = solve(in_samples, **paper_budget(30, seed=0))
    assert 100 * lost.profile.sum() / (data.batches * data.batch * 30) < 0.15


def test_fedbr_shap_takes_the_authors_steps_orders_and_networks():
    """In batches, from one: 1 order, 10 batches more, step 10 on MNIST; 5, 3 and 30 on CIFAR-10 with ResNet-18."""
    mnist, cifar = stage_payments._PRESETS["paper"], stage_payments._CIFAR
    assert [(one.permutations, one.more, one.step, one.active) for one in (mnist, cifar)] == [
        (1, 10, 10.0, 10),
        (5, 3, 30.0, 10),
    ]
    assert [(one.recipe.batch, one.size.network, one.size.owners) for one in (mnist, cifar)] == [
        (10, "mnist_cnn", 30),
        (64, "resnet18", 30),
    ]
    assert (mnist.units, mnist.recipe.optimiser.rate, cifar.recipe.optimiser.rate) == (Units(10, 100.0), 0.1, 0.001)
    assert inspect.signature(stage_payments.run).parameters["start"].default == 1.0


def test_a_third_of_many_owners_moves_and_both_of_two():
    assert paper_budget(30, 0)["active"] == 10
    assert paper_budget(2, 0)["active"] == 2
    assert paper_budget(30, 0, active=30)["active"] == 30


def test_corners_give_nothing_or_all_of_a_groups_batches():
    oracle = Trained(small(4), rounds=1)
    profiles = corners(oracle, [0, 0, 0, 1], 45)
    assert profiles.tolist() == [[0, 0, 0, 0], [15, 15, 15, 0], [0, 0, 0, 45], [15, 15, 15, 45]]
    points = measure_corners(oracle, [0, 0, 0, 1], profiles)
    assert points.totals.tolist() == [[0, 0], [45, 0], [0, 45], [45, 45]]
    with pytest.raises(InputError, match="owner 3 has 60 samples and would give 100 of its group's 100"):
        corners(oracle, [0, 0, 0, 1], 100)


def test_weights_are_those_of_a_batch_and_chance_is_free_or_zero():
    """a = 0.9 - 0.8/(1 + W S) + 0.1 in batches of 10 samples."""
    weights = np.array([[0.02, 0.005], [0.01, 0.03]])
    batches = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]])
    accuracies = 1 - 0.8 / (1 + batches @ weights.T)
    free = fit_in_batches(Points(10 * batches, accuracies), 10, [0, 1], chance=True)
    np.testing.assert_allclose(free.accuracy.table, weights, rtol=1e-6)
    assert free.chance == pytest.approx(0.2)
    assert free.usable()
    fixed = fit_in_batches(Points(10 * batches, accuracies), 10, [0, 1], chance=False)
    assert fixed.chance == 0
    assert fixed.r_squared < free.r_squared


def test_a_bad_fit_is_refused_or_said_aloud(capsys):
    """What does not rise with data cannot be fitted by a curve that does."""
    totals = np.array([[1.0, 0.0], [0.0, 1.0], [50.0, 50.0], [90.0, 90.0]])
    falling = np.array([[0.9, 0.9], [0.9, 0.9], [0.5, 0.5], [0.2, 0.2]])
    bad = fit_groups(totals, falling, [0, 1])
    assert bad.r_squared < 0
    assert not bad.usable()
    with pytest.raises(InputError, match=r"the fit has an R\^2 of -.*describes nothing"):
        fit_groups(totals, falling, [0, 1], least=0.5)
    study = Study("reciprocity_table_trained")
    reciprocity_table_trained._say(study, "lumpy_skin", 3, bad)
    assert f"BAD FIT on lumpy_skin, seed 3: R^2 = {bad.r_squared:.2f}" in capsys.readouterr().out
    reciprocity_table_trained._say(study, "lumpy_skin", 3, replace(bad, r_squared=0.97))
    assert not capsys.readouterr().out


def test_two_owners_have_four_coalitions_and_a_reciprocity_of_exactly_one():
    engine = small()
    oracle = Coalition(engine, np.array([60.0, 20.0]), rounds=2, recipe=Recipe(), seed=0)
    preset = GROUP_PRESETS["paper"]
    assert preset.exact(2)
    assert not preset.exact(30)
    rule = preset.payments(2, seed=0)
    offers = rule.offers(oracle, Reports(oracle.profile, engine.data.capacities.astype(float), None))
    payments, accuracies = offers.payment.value(oracle.profile), offers.received.value(oracle.profile)
    found = measured_reciprocity(oracle, accuracies, payments, None, np.random.default_rng(0))
    assert found.reciprocity == pytest.approx(1.0, abs=1e-12)
    assert found.error == 0
    assert payments.sum() == pytest.approx(0.0, abs=1e-12)


def rare(positive: int = 600, negative: int = 4400) -> Dataset:
    """As in lumpy skin disease about one of eight is positive."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [negative, positive])
    return Dataset("rare", rng.normal(size=(len(labels), 3)).astype(np.float32), labels, classes=2)


def test_a_rare_label_does_not_make_owners_small():
    """150 training and 150 test samples each need 2 * 300 / 2 = 300 positives of 600."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = engine_for(rare(), Size(2, 150, 150, "logistic"), 0, MIX)
    assert engine.data.capacities.tolist() == [150, 150]
    assert engine.data.test_sizes.tolist() == [150, 150]
    share = [engine.data.train(owner)[1].mean() for owner in range(2)]
    assert share == pytest.approx([0.7, 0.3], abs=0.08)


@pytest.mark.parametrize("samples", [150, 1500])
def test_owners_of_lumpy_skin_have_the_samples_that_were_asked_for(samples):
    """41 and 377 of them, silently, when samples were drawn before labels were balanced."""
    if any(row.name == "lumpy_skin" and row.state == "missing" for row in status()):
        pytest.skip("lumpy_skin not here")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = engine_for(load_dataset("lumpy_skin"), Size(2, samples, 150, "logistic"), 0, MIX)
    assert engine.data.capacities.tolist() == [samples, samples]


def test_what_is_not_there_is_said():
    """700 and 300 positives are needed where 600 are: owners of 600 samples, half of them for tests."""
    with pytest.warns(
        UserWarning, match="rare is too small: an owner has 300 samples on average where 500 are asked for"
    ):
        engine = engine_for(rare(), Size(2, 500, 500, "logistic"), 0, MIX)
    assert engine.data.capacities.tolist() == [300, 300]


def test_cifar_10_has_27_batches_of_training_and_6_of_testing_samples():
    """Murhekar et al. 2025, Appendix E; the publisher's test part, 10,000 samples, is shared by 30 owners."""
    size, units = GROUP_PRESETS["paper"].sized("cifar10"), GROUP_PRESETS["paper"].units("cifar10")
    assert units.capacities(np.array([size.samples])).tolist() == [27]
    assert np.ceil(size.tests / units.batch) == 6
    rng = np.random.default_rng(0)
    split = np.repeat([False, True], [500, 100])
    whole = Dataset("whole", rng.normal(size=(600, 3)).astype(np.float32), rng.integers(0, 2, 600), 2, split=split)
    dealt = engine_for(whole, Size(3, 160, 30, "logistic", published=True), 0).data
    assert dealt.capacities.sum() == pytest.approx(475, abs=15)
    assert dealt.test_sizes.sum() == 570 - dealt.capacities.sum()


def test_fresh_orders_differ_from_round_to_round_and_average_out():
    rule = ShapleyShare(method="monte_carlo", permutations=1, seed=0, fresh=True)
    accuracy, profile = GroupWeighted(((1.0, 3.0), (0.5, 1.0)), (0, 1)), np.array([1.0, 2.0])

    def share(rounds: int, rule: ShapleyShare) -> np.ndarray:
        reports = Reports(profile, np.full(2, 5.0), None, memory={"rounds": rounds})
        return rule.shares(accuracy, reports).value(profile)

    drawn = np.array([share(turn, rule) for turn in range(200)])
    assert len(np.unique(drawn[:, 0].round(9))) == 2
    np.testing.assert_allclose(drawn.mean(axis=0), shapley(accuracy, profile), atol=0.05)
    fixed = replace(rule, fresh=False)
    np.testing.assert_array_equal(share(0, fixed), share(7, fixed))
    other = next(one for one in (replace(rule, seed=s) for s in range(20)) if share(0, one)[0] != share(1, one)[0])
    people = population([0.1, 0.2], 5.0, Keep(), profile)
    model = Federation(Scenario(people, accuracy, other, steps=2)).run()
    paid = model.frames().owners.pivot(index="step", columns="owner", values="payment")
    expected = [share(turn, other) for turn in range(2)] - accuracy.values(profile[None])
    np.testing.assert_allclose(paid, expected, atol=1e-12)
