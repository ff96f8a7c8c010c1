"""Settings of market studies: the paper's numbers, data that follow from the preset, natural owners, divided owners."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fedabm import Federation, InputError
from fedabm.data.datasets import Dataset, load_dataset
from fedabm.data.federated import FederatedData, from_partition, split_owner
from fedabm.data.partitions import Clusters
from fedabm.learning.engine.augment import CropAndFlip
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.personal.own import ClassMix
from fedabm.mechanisms import FedAvgExchange, ModelMarket
from fedabm.papers.ipfl2025 import settings
from fedabm.papers.ipfl2025.settings import honest_owners, market_rules, market_setting
from scenarios import inclusive_market, market_liars


@cache
def data() -> FederatedData:
    return from_partition(load_dataset("digits"), Clusters(6, 2), seed=1, test_share=0.8, one_class="allow")


def test_an_owner_may_be_divided_into_accounts():
    twice = split_owner(data(), 2, 3)
    assert twice.owners == 8
    assert twice.capacities[2:5].sum() == data().capacities[2]
    assert twice.test_sizes[2:5].sum() == data().test_sizes[2]
    np.testing.assert_array_equal(np.delete(twice.capacities, [2, 3, 4]), np.delete(data().capacities, 2))
    with pytest.raises(InputError, match="cannot be divided"):
        split_owner(data(), 6)


def test_the_papers_setting_is_the_papers():
    setting = market_setting("paper", "cifar10", 10, "niid")
    assert (setting.rounds, setting.recipe.steps, setting.recipe.batch) == (50, 200, 64)
    assert setting.recipe.optimiser == SGD(0.01, momentum=0.9, weight_decay=1e-5)
    assert (setting.rule.similarity_weight, setting.rule.step, setting.unit_cost) == (2.0, 5.0, 1.0)
    assert setting.eagerness(np.array([5000.0])) == 5e5
    with pytest.raises(InputError, match="data=cifar10"):
        market_setting("paper", "digits", 10, "niid")
    writers = market_setting("decisive", "femnist_digits", 12, "natural")
    assert (writers.rule, writers.network) == (ModelMarket(1.0, 5.0), "simple_cnn")
    with pytest.raises(InputError, match="no study of femnist_digits"):
        market_setting("paper", "femnist_digits", 12, "natural")


def test_what_the_paper_sets_for_single_figures():
    market = inclusive_market._setting(market_setting("paper", "auto", 12, "cluster", rounds=20))
    assert (market.owners, market.rounds, market.recipe.steps) == (12, 20, 500)
    assert (market.rule.similarity_weight, market.rule.step) == (2.0, 10.0)
    assert (market_liars.OWNERS, market_liars.SPLIT) == (10, "niid")
    assert {0.1, 0.5, 10.0, 2.0, 5.0} == set(market_liars.PRESETS["paper"]["size"])
    table_2 = {"size": (0.1, 0.5, 10.0), "cost": (2.0, 5.0, 10.0)}
    assert market_liars.PRESETS["decisive"] == table_2


def test_what_decides_is_the_papers_in_all_but_its_length():
    for data, similarity in (("cifar10", 2.0), ("fashion_mnist", 0.001)):
        short, full = (market_setting(preset, data, 10, "niid") for preset in ("decisive", "paper"))
        assert short.rule == full.rule == ModelMarket(similarity, 5.0)
        assert (short.rounds, short.recipe.steps, short.judged_every, short.length) == (8, 50, 8, 50)
        assert replace(short.recipe, steps=200) == full.recipe
        assert short.eagerness(np.ones(3)) == full.eagerness(np.ones(3)) == 5e5
        assert (full.recipe.augment == CropAndFlip(4)) == (data == "fashion_mnist")


def test_cifar_is_normalised_by_mean_and_deviation_and_nothing_else_is(monkeypatch):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(600, 3, 8, 8), dtype=np.uint8), np.tile(np.arange(10), 60)
    held = np.arange(600) >= 500
    monkeypatch.setattr(settings, "load_dataset", lambda name: Dataset(name, images, labels, classes=10, split=held))
    owned = market_setting("decisive", "cifar10", 3, "skew").federated(0)
    assert owned.scaling[0] == pytest.approx(images[~held].mean(axis=(0, 2, 3)))
    assert owned.scaling[1] == pytest.approx(images[~held].std(axis=(0, 2, 3)))
    assert market_setting("decisive", "fashion_mnist", 3, "skew").federated(0).scaling is None


@pytest.mark.parametrize(
    ("preset", "split", "data"),
    [
        ("quick", "niid", "digits"),
        ("quick", "natural", "femnist_digits"),
        ("paper", "cluster", "cifar10"),
        ("paper", "natural", "femnist"),
    ],
)
def test_data_follow_from_the_preset(preset, split, data):
    assert market_setting(preset, "auto", 9, split).data == data
    assert market_setting(preset, "fashion_mnist", 9, split).data == "fashion_mnist"


def test_clusters_have_equal_sizes():
    assert [market_setting("quick", "auto", n, "cluster").owners for n in (2, 3, 9, 10, 11, 12)] == [2, 3, 9, 9, 9, 12]
    assert market_setting("quick", "auto", 10, "skew").owners == 10


def writers(samples: int = 60) -> Dataset:
    """Five writers with little ink on much white paper; writer k has 10 k samples less than the first."""
    known, rng = load_dataset("digits"), np.random.default_rng(0)
    rows = rng.permutation(len(known.y))[: 5 * samples]
    ink = np.where(known.x[rows] > 0.7 * known.x.max(), 0, 255).astype(np.uint8)
    ink = np.pad(ink, ((0, 0), (0, 0), (10, 10), (10, 10)), constant_values=255)
    users = np.repeat(np.arange(5), samples)
    kept = np.concatenate([np.flatnonzero(users == k)[: samples - 10 * k] for k in range(5)])
    return Dataset("writers", ink[kept], known.y[rows][kept], classes=10, users=users[kept])


def test_natural_owners_are_the_largest_writers_and_learn(monkeypatch):
    monkeypatch.setattr(settings, "load_dataset", lambda name: writers())
    setting = market_setting("quick", "auto", 3, "natural", rounds=3)
    owned = setting.federated(0)
    assert (owned.capacities + owned.test_sizes).tolist() == [60, 50, 40]
    accuracy = setting.accuracy(owned)
    for rule in market_rules(setting).values():
        made = Federation(setting.scenario(honest_owners(setting, owned), accuracy, rule)).run()
        assert made.frames().steps["accuracy"].iloc[-1] > 0.35


@pytest.mark.parametrize(
    ("split", "averaged", "trained"), [("niid", 84.5, 94.6), ("cluster", 84.7, 89.7), ("skew", 70.3, 91.7)]
)
def test_averaging_is_shown_with_the_accuracy_of_the_averaged_model(split, averaged, trained):
    """Means of three seeds of the quick setting, in percent; models fit owners better after local training."""
    setting, found = market_setting("quick", "digits", 10, split), []
    for seed in range(3):
        owned = setting.federated(seed)
        accuracy = setting.accuracy(owned)
        made = Federation(setting.scenario(honest_owners(setting, owned), accuracy, FedAvgExchange()), seed).run()
        local = ClassMix().own(accuracy.engine, made.state.last.models).mean()
        found.append((made.frames().steps["accuracy"].iloc[-1], local))
    assert 100 * np.mean(found, axis=0) == pytest.approx([averaged, trained], abs=0.1)
