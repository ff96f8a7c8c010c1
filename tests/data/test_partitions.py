"""Partitions are disjoint, cover what they should, follow their rule and their generator."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError, MissingExtraError
from fedabm.data.datasets import Dataset
from fedabm.data.partitions import (
    IID,
    ClassSkew,
    Clusters,
    Dirichlet,
    FromFlower,
    LabelMix,
    Natural,
    Partition,
    Rotated,
    Shards,
    SizeSkew,
    rotate,
)

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 300))
USERS = np.random.default_rng(1).integers(0, 40, len(LABELS))
ALL = [
    IID(7),
    Dirichlet(10, 0.5),
    Dirichlet(10, 0.1, rule="ipfl"),
    Clusters(9),
    Clusters(10, groups=4, rule="plain", minimum=1),
    ClassSkew(10),
    ClassSkew(9, classes=2, blocks=3),
    Shards(20),
    Natural(),
    Natural(parts_each=2),
    SizeSkew(10, sigma=1.0),
    SizeSkew(10, exponent=1.2),
    Rotated(IID(6)),
]


def mix(parts: list[np.ndarray], labels: np.ndarray = LABELS) -> np.ndarray:
    return np.array([np.bincount(labels[part], minlength=labels.max() + 1) for part in parts])


@pytest.mark.parametrize("partition", ALL, ids=str)
def test_every_sample_goes_to_exactly_one_owner(partition: Partition):
    parts = partition.split(LABELS, np.random.default_rng(2), USERS)
    assert (np.sort(np.concatenate(parts)) == np.arange(len(LABELS))).all()
    again = partition.split(LABELS, np.random.default_rng(2), USERS)
    assert all((a == b).all() for a, b in zip(parts, again, strict=True))
    other = partition.split(LABELS, np.random.default_rng(3), USERS)
    assert isinstance(partition, Natural) or any(a.tolist() != b.tolist() for a, b in zip(parts, other, strict=True))


@settings(deadline=None, max_examples=40)
@given(
    labels=st.lists(st.integers(0, 4), min_size=60, max_size=120),
    owners=st.integers(1, 5),
    alpha=st.floats(0.05, 100),
    rule=st.sampled_from(["plain", "ipfl"]),
    seed=st.integers(0, 99),
)
def test_dirichlet_covers_everything_with_its_minimum(labels, owners, alpha, rule, seed):
    parts = Dirichlet(owners, alpha, minimum=2, rule=rule).split(np.array(labels), np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
    assert min(map(len, parts)) >= 2


@settings(deadline=None, max_examples=40)
@given(samples=st.integers(50, 500), owners=st.integers(1, 5), sigma=st.floats(0, 4), seed=st.integers(0, 99))
def test_size_skew_covers_everything_with_its_minimum(samples, owners, sigma, seed):
    parts = SizeSkew(owners, sigma=sigma).split(np.zeros(samples, int), np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(samples))
    assert min(map(len, parts)) >= 10


def test_iid_sizes_and_mix():
    parts = IID(7).split(LABELS, np.random.default_rng(0))
    assert {len(part) for part in parts} == {428, 429}
    assert mix(parts).min() > 15


def test_alpha_sets_how_different_owners_are():
    def spread(alpha: float) -> float:
        shares = mix(Dirichlet(10, alpha, minimum=1).split(LABELS, np.random.default_rng(5))) / 300
        return float(shares.std())

    assert spread(0.1) > 2 * spread(1.0) > 8 * spread(100.0)


def test_ipfl_rule_gives_nothing_to_those_that_have_their_share():
    parts = Dirichlet(10, 0.1, rule="ipfl").split(LABELS, np.random.default_rng(4))
    counts = mix(parts)
    held = np.cumsum(counts, axis=1) - counts  # before each class
    assert counts.sum(axis=1).min() >= 10
    assert (counts[held >= 300] == 0).all()
    # One class has 300 samples, so nobody can pass the share of 300 by more than one class.
    assert counts.sum(axis=1).max() < 600
    plain = mix(Dirichlet(10, 0.1).split(LABELS, np.random.default_rng(4)))
    assert (plain[np.cumsum(plain, axis=1) - plain >= 300] > 0).any()


def test_clusters_are_alike_inside_and_different_outside():
    shares = mix(Clusters(9).split(LABELS, np.random.default_rng(0))).astype(float)
    shares /= np.linalg.norm(shares, axis=1, keepdims=True)
    likeness = shares @ shares.T
    same = np.kron(np.eye(3), np.ones((3, 3))).astype(bool)
    assert likeness[same].min() > 0.8 > 0.6 > likeness[~same].mean()


def test_class_skew_is_ipfls():
    counts = mix(ClassSkew(10).split(LABELS, np.random.default_rng(0)))
    assert (counts[:5, :5] == 60).all()
    assert (counts[5:, 5:] == 60).all()
    assert counts.sum() == len(LABELS)
    three = mix(ClassSkew(10, classes=3).split(LABELS, np.random.default_rng(0)))
    assert ((three > 0).sum(axis=1) == 3).all()
    assert ((three > 0).sum(axis=0) == 3).all()


def test_shards_hold_few_classes():
    counts = mix(Shards(20, 2).split(LABELS, np.random.default_rng(0)))
    assert (counts.sum(axis=1) == 150).all()
    assert (counts > 0).sum(axis=1).max() <= 2


def test_natural_takes_the_largest_users_first():
    users = np.array([3, 3, 3, 5, 5, 9, 9, 9, 9, 1])
    parts = Natural(2).split(np.zeros(10, int), np.random.default_rng(0), users)
    assert [part.tolist() for part in parts] == [[5, 6, 7, 8], [0, 1, 2]]
    assert len(Natural(minimum=2).split(np.zeros(10, int), np.random.default_rng(0), users)) == 3
    halves = Natural(4, parts_each=2).split(np.zeros(10, int), np.random.default_rng(0), users)
    assert sorted(np.concatenate(halves[:2]).tolist()) == [5, 6, 7, 8]
    assert [len(half) for half in halves] == [2, 2, 2, 1]


def test_a_dataset_brings_its_users():
    data = Dataset("a", np.zeros((4, 1), np.float32), np.zeros(4, int), 1, users=np.array([1, 0, 1, 1]))
    assert [part.tolist() for part in Natural().split(data, np.random.default_rng(0))] == [[0, 2, 3], [1]]


def test_sizes_fall_as_a_power():
    sizes = [len(part) for part in SizeSkew(4, exponent=1.0, minimum=0).split(LABELS, np.random.default_rng(0))]
    assert sizes == [1440, 720, 480, 360]


def test_label_mix_is_exact():
    labels = np.repeat([0, 1], [900, 100])
    parts = LabelMix(((0.3, 0.7), (0.7, 0.3))).split(labels, np.random.default_rng(0))
    assert mix(parts, labels).tolist() == [[30, 70], [70, 30]]
    assert len(np.unique(np.concatenate(parts))) == 200


def test_rotation_turns_counter_clockwise():
    image = np.zeros((1, 1, 5, 5), np.uint8)
    image[0, 0, 2, 4] = 200  # right of the centre
    assert rotate(image, 90)[0, 0, 0, 2] == 200  # above it
    assert (rotate(image, 180) == image[:, :, ::-1, ::-1]).all()
    assert np.abs(rotate(image, 89.999).astype(int) - rotate(image, 90)).max() <= 1
    smooth = np.add.outer(np.arange(28), np.arange(28))[None, None].astype(np.uint8)
    turned = rotate(smooth, 10)
    assert turned.dtype == np.uint8
    assert (turned[0, 0, 8:20, 8:20] != smooth[0, 0, 8:20, 8:20]).any()


def test_rotated_groups():
    x = np.random.default_rng(0).integers(0, 256, (2, 1, 4, 4), dtype=np.uint8)
    rule = Rotated(IID(6), angles=(0, 90, 180))
    assert (rule.transform(x, 1, 6) == x).all()
    assert (rule.transform(x, 2, 6) == rotate(x, 90)).all()
    assert (rule.transform(x, 5, 6) == rotate(x, 180)).all()
    with pytest.raises(InputError, match="only images"):
        rotate(np.zeros((3, 2)), 10)
    with pytest.raises(InputError, match="3 angles but 2 owners"):
        Rotated(IID(2)).split(LABELS, np.random.default_rng(0))


class FakeTable(dict):
    @classmethod
    def from_dict(cls, columns: dict) -> "FakeTable":
        return cls(columns)


class FakePartitioner:
    """The interface of flwr-datasets: a table once, then partitions of it."""

    num_partitions = 3

    def __init__(self) -> None:
        self._table: FakeTable | None = None

    @property
    def dataset(self) -> FakeTable | None:
        return self._table

    @dataset.setter
    def dataset(self, table: FakeTable) -> None:
        if self._table is not None:
            raise ValueError("assigned only once")
        self._table = table

    def load_partition(self, number: int) -> FakeTable:
        assert self._table is not None
        rows = [row for row in self._table["index"] if self._table["user"][row] % 3 == number]
        return FakeTable(index=rows)


def test_flowers_interface(monkeypatch):
    fake = type(sys)("datasets")
    fake.Dataset = FakeTable
    monkeypatch.setitem(sys.modules, "datasets", fake)
    partition = FromFlower(FakePartitioner())
    for _ in range(2):  # the same partitioner can be used again
        parts = partition.split(LABELS, np.random.default_rng(0), USERS)
        assert [np.unique(USERS[part] % 3).tolist() for part in parts] == [[0], [1], [2]]
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="flwr-datasets"):
        partition.split(LABELS, np.random.default_rng(0))


def test_flowers_real_partitioners():
    flower = pytest.importorskip("flwr_datasets.partitioner", reason="flwr-datasets is not installed")
    for partitioner in (
        flower.IidPartitioner(num_partitions=4),
        flower.DirichletPartitioner(num_partitions=5, partition_by="label", alpha=0.5),
        flower.NaturalIdPartitioner(partition_by="user"),
    ):
        parts = FromFlower(partitioner).split(LABELS, np.random.default_rng(0), USERS)
        assert (np.sort(np.concatenate(parts)) == np.arange(len(LABELS))).all()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: IID(0), "owners must be a whole number from 1 on, got 0"),
        (lambda: IID(2.5), "owners must be a whole number"),
        (lambda: Dirichlet(10, minimum=-1), "minimum must be a whole number"),
        (lambda: Clusters(9, groups=2.5), "groups must be a whole number"),
        (lambda: Shards(10, 0), "per_owner must be a whole number"),
        (lambda: Natural(0), "owners must be a whole number"),
        (lambda: Natural(parts_each=0), "parts_each must be a whole number"),
        (lambda: IID(4000), "too few for 4000 owners"),
        (lambda: Dirichlet(10, -1), "alpha must be a positive number"),
        (lambda: Dirichlet(10, rule="other"), "choose one of: plain, ipfl"),
        (lambda: Dirichlet(250, 0.01), "larger alpha"),
        (lambda: Dirichlet(400, 1.0), "too few for 400 owners with at least 10"),
        (lambda: Clusters(3, groups=4), "at least one owner per group"),
        (lambda: ClassSkew(10, classes=6), "at most 5 classes"),
        (lambda: ClassSkew(2, classes=2), "enough to hold all"),
        (lambda: ClassSkew(10, blocks=11), "fewer blocks"),
        (lambda: Natural(41), "41 users wanted but 40"),
        (lambda: Natural(3, parts_each=2), "take a multiple"),
        (lambda: SizeSkew(3), "give one of them"),
        (lambda: SizeSkew(3, sigma=1.7e308), "size skew must be a single number up to"),
        (lambda: LabelMix(((0.5, 0.4),)), "sum to 1"),
        (lambda: LabelMix(((0.5, 0.5),)), "2 shares per owner but 10 labels"),
        (lambda: Rotated(IID(3), angles=()), "one per group"),
    ],
)
def test_bad_input_says_what_to_do(make, told):
    with pytest.raises(InputError, match=told):
        make().split(LABELS, np.random.default_rng(0), USERS)


def test_labels_and_users_must_be_there():
    with pytest.raises(InputError, match="targets of a regression"):
        Dirichlet(2).split(np.linspace(0, 1, 50), np.random.default_rng(0))
    with pytest.raises(InputError, match="the user of every sample"):
        Natural().split(LABELS, np.random.default_rng(0))
    with pytest.raises(InputError, match="no samples"):
        IID(2).split(np.zeros(0, int), np.random.default_rng(0))
    with pytest.raises(InputError, match="one label per sample"):
        IID(2).split(np.zeros((5, 2)), np.random.default_rng(0))
    with pytest.raises(InputError, match=f"{len(LABELS)} labels but 3 users"):
        Natural().split(LABELS, np.random.default_rng(0), USERS[:3])


def test_any_width_of_sizes_leaves_everybody_its_minimum():
    sizes = [len(part) for part in SizeSkew(5, sigma=1e6, minimum=3).split(LABELS, np.random.default_rng(0))]
    assert sorted(sizes) == [3, 3, 3, 3, len(LABELS) - 12]
