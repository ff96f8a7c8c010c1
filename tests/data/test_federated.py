"""Owners' data: parts are disjoint, contributions nested, owners independent of each other."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.data.datasets import Dataset, load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID, Dirichlet, Natural, Partition, Rotated, Shards, rotate
from fedabm.data.quality import Duplicates, FeatureNoise, LabelNoise


def numbered(samples: int = 200, **columns: np.ndarray) -> Dataset:
    """Sample k has feature k, so that it can be recognised."""
    x = np.arange(samples, dtype=np.float32)[:, None]
    return Dataset("numbered", x, np.arange(samples) % 4, 4, **columns)


def test_train_and_test_parts_are_disjoint_and_complete():
    data = from_partition(numbered(), Dirichlet(5, 1.0), seed=1)
    assert sorted(np.concatenate([data.x_train, data.x_test])[:, 0].tolist()) == list(range(200))
    assert (data.y_train == data.x_train[:, 0] % 4).all()
    assert (data.capacities + data.test_sizes).sum() == 200
    np.testing.assert_allclose(data.test_sizes, 0.1 * (data.capacities + data.test_sizes), atol=0.51)
    for owner in range(5):
        assert len(data.train(owner)[0]) == data.capacities[owner]
        assert len(data.test(owner)[0]) == data.test_sizes[owner]


def test_every_owner_has_the_samples_of_its_part():
    parts = IID(4).split(numbered(), generator(3, "data"))
    data = from_partition(numbered(), IID(4), seed=3)
    for owner, part in enumerate(parts):
        mine = np.concatenate([data.train(owner)[0], data.test(owner)[0]])[:, 0]
        assert set(mine.tolist()) == set(part.tolist())
        assert mine.tolist() == generator(3, "data", owner).permutation(part).tolist()


@settings(deadline=None, max_examples=25)
@given(shares=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=4, max_size=4), seed=st.integers(0, 9))
def test_contributions_are_nested(shares, seed):
    data = from_partition(numbered(), IID(4), seed=seed)
    low, high = (np.array(side) * data.capacities for side in (np.min(shares, axis=1), np.max(shares, axis=1)))
    less, more = data.rows(low), data.rows(high)
    assert set(less) <= set(more)
    assert len(less) == data.counts(low).sum()
    owner = np.repeat(np.arange(4), data.counts(high))
    assert (more >= data.offsets[owner]).all()
    assert (more < data.offsets[owner + 1]).all()
    expected = np.concatenate([data.train(i, high[i])[0] for i in range(4)])
    assert (data.x_train[more] == expected).all()


def test_rows_by_hand():
    x, y = np.zeros((6, 1)), np.array([0, 1, 0, 1, 0, 1])
    data = FederatedData("a", x, y, np.array([0, 2, 6]), x[:2], y[:2], np.array([0, 1, 2]), classes=2)
    assert data.rows([1, 3]).tolist() == [0, 2, 3, 4]
    assert data.rows([0.4, 1.6]).tolist() == [2, 3]
    assert data.class_counts().tolist() == [[1, 1], [2, 2]]
    assert (data.owners, data.shape) == (2, (1,))


def test_seeds_decide_everything():
    one, same, other = (from_partition(numbered(), IID(4), seed=seed) for seed in (1, 1, 2))
    assert (one.x_train == same.x_train).all()
    assert (one.x_train != other.x_train).any()


def test_one_owners_quality_changes_nobody_else():
    good = from_partition(numbered(), IID(4), seed=1)
    bad = from_partition(numbered(), IID(4), seed=1, quality={2: LabelNoise(0.5)})
    changed = good.y_train != bad.y_train
    assert changed[good.offsets[2] : good.offsets[3]].sum() == round(0.5 * good.capacities[2])
    assert changed.sum() == round(0.5 * good.capacities[2])
    assert (good.x_train == bad.x_train).all()
    assert (good.y_test == bad.y_test).all()


def test_quality_for_all_and_for_each():
    good = from_partition(numbered(), IID(3), seed=1)
    noisy = from_partition(numbered(), IID(3), seed=1, quality=FeatureNoise(1.0))
    assert (good.x_train != noisy.x_train).all()
    assert (good.x_test == noisy.x_test).all()
    each = from_partition(numbered(), IID(3), seed=1, quality=[None, Duplicates(0.5), None])
    sizes = [len(np.unique(each.train(owner)[0])) for owner in range(3)]
    assert sizes == [good.capacities[0], good.capacities[1] - round(good.capacities[1] / 2), good.capacities[2]]
    assert (each.capacities == good.capacities).all()
    with pytest.raises(InputError, match="1 qualities but 3 owners"):
        from_partition(numbered(), IID(3), quality=[None])
    with pytest.raises(InputError, match="quality for owner 3 but owners are"):
        from_partition(numbered(), IID(3), quality={3: Duplicates(0.1)})


def test_rotation_reaches_both_parts():
    digits = load_dataset("digits").subset(slice(0, 300))
    plain = from_partition(digits, IID(3), seed=1)
    turned = from_partition(digits, Rotated(IID(3), angles=(0, 90, 180)), seed=1)
    for owner, angle in enumerate((0, 90, 180)):
        assert (turned.train(owner)[0] == rotate(plain.train(owner)[0], angle)).all()
        assert (turned.test(owner)[0] == rotate(plain.test(owner)[0], angle)).all()


def test_the_publishers_test_part_belongs_to_nobody_or_is_shared():
    split = np.arange(200) >= 150
    own = from_partition(numbered(split=split), IID(4))
    assert max(own.x_train.max(), own.x_test.max()) == 149
    shared = from_partition(numbered(split=split), IID(4), test_share=None)
    assert sorted(shared.x_test[:, 0].tolist()) == list(range(150, 200))
    with pytest.raises(InputError, match="no official test part"):
        from_partition(numbered(), IID(4), test_share=None)
    with pytest.raises(InputError, match="empty test part"):
        from_partition(numbered(split=split, users=split.astype(int)), Natural(), test_share=None)


class Nothing(Partition):
    def parts(self, labels, users, rng):
        return [np.arange(len(labels)), np.arange(0)]


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="owner 1 has no sample"):
        from_partition(numbered(), Nothing())
    with pytest.raises(InputError, match="empty test part"):
        from_partition(numbered(), IID(2), test_share=0)
    with pytest.raises(InputError, match="empty training part"):
        from_partition(numbered(4), IID(4))
    with pytest.raises(InputError, match="test_share must lie between 0 and 1"):
        from_partition(numbered(), IID(2), test_share=1.5)
    with pytest.raises(InputError, match="partition must be a Partition, got 2"):
        from_partition(numbered(), 2)
    with pytest.raises(InputError, match="seed must be a whole number"):
        from_partition(numbered(), IID(2), seed=-1)
    for wrong in ("label_noise", {1: 0.5}, [None, "label_noise"]):
        with pytest.raises(InputError, match="must be a Quality, got"):
            from_partition(numbered(), IID(2), quality=wrong)
    with pytest.raises(InputError, match="quality for owner 0 but"):
        from_partition(numbered(), IID(2), quality={"0": None})


def test_labels_and_tokens_beyond_their_number_are_refused():
    """Otherwise a network would fail in the middle of a training, or on a GPU read what is not its own."""
    texts = Dataset("texts", np.full((20, 3), 7, np.int32), np.arange(20) % 2, classes=2, tokens=7)
    with pytest.raises(InputError, match=r"texts: tokens must lie in 0 .. 6, got 7 .. 7"):
        from_partition(texts, IID(2))
    data = from_partition(numbered(), IID(2))
    with pytest.raises(InputError, match=r"labels must lie in 0 .. 0"):
        replace(data, classes=1)


def test_contributions_beyond_capacity_are_refused():
    data = from_partition(numbered(), IID(2))
    assert data.counts(data.capacities).tolist() == data.capacities.tolist()
    with pytest.raises(InputError, match="owner 1 contributes 91 of 90 samples"):
        data.counts([3, 91])
    with pytest.raises(InputError, match="owner 0 contributes -1 of 90"):
        data.rows([-1, 0])
    with pytest.raises(InputError, match="finite"):
        data.rows([np.nan, 0])
    with pytest.raises(InputError, match="3 values of contributions but 2 owners"):
        data.rows([1, 2, 3])


def test_owners_with_one_class():
    with pytest.warns(UserWarning, match="owner 0 has samples of one class only"):
        from_partition(numbered(), Shards(4, 1))
    with pytest.raises(InputError, match="one class only"):
        from_partition(numbered(), Shards(4, 1), one_class="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_partition(numbered(), Shards(4, 1), one_class="allow")
        from_partition(numbered(), IID(4))
    with pytest.raises(InputError, match="warn, error or allow"):
        from_partition(numbered(), IID(4), one_class="no")


def test_regression_has_targets():
    data = Dataset("r", np.zeros((20, 1), np.float32), np.linspace(0, 1, 20, dtype=np.float32), None)
    owners = from_partition(data, IID(2))
    assert owners.y_train.dtype == np.float32
    with pytest.raises(InputError, match="targets, not classes"):
        owners.class_counts()
