"""Defects change exactly what they say, as often as they say, and never what was handed in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.data.quality import Chain, Duplicates, FeatureNoise, LabelFlip, LabelNoise, LabelShift

X = np.arange(100 * 4, dtype=np.float32).reshape(100, 4)
Y = np.arange(100) % 5


@settings(deadline=None, max_examples=30)
@given(share=st.floats(0, 1), seed=st.integers(0, 99))
def test_label_noise_changes_its_share(share, seed):
    x, y = LabelNoise(share).spoil(X, Y, np.random.default_rng(seed), 5)
    assert x is X
    assert (y != Y).sum() == round(share * 100)
    assert (y >= 0).all()
    assert (y < 5).all()


def test_label_noise_reaches_every_other_class_alike():
    _, y = LabelNoise(1.0).spoil(np.zeros((40_000, 1)), np.full(40_000, 2), np.random.default_rng(0), 5)
    counts = np.bincount(y, minlength=5)
    assert counts[2] == 0
    np.testing.assert_allclose(counts[[0, 1, 3, 4]], 10_000, rtol=0.04)


def test_a_flip_touches_its_class_only():
    x, y = LabelFlip(source=3, target=1).spoil(X, Y, np.random.default_rng(0), 5)
    assert x is X
    np.testing.assert_array_equal(y, np.where(Y == 3, 1, Y))
    _, some = LabelFlip(3, 1, share=0.5).spoil(X, Y, np.random.default_rng(0), 5)
    assert ((some != Y).sum(), np.unique(Y[some != Y]), np.unique(some[some != Y])) == (10, [3], [1])
    _, none = LabelFlip(4, 0).spoil(X, np.zeros_like(Y), np.random.default_rng(0), 5)
    assert not none.any()


def test_a_shift_moves_labels_round():
    x, y = LabelShift().spoil(X, Y, np.random.default_rng(0), 5)
    assert x is X
    np.testing.assert_array_equal(y, (Y + 1) % 5)
    _, some = LabelShift(2, share=0.3).spoil(X, Y, np.random.default_rng(0), 5)
    moved = some != Y
    assert moved.sum() == 30
    np.testing.assert_array_equal(some[moved], (Y[moved] + 2) % 5)


def test_one_owner_alone_can_have_flipped_labels():
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import IID

    good, bad = (from_partition(load_dataset("digits"), IID(3), quality=q) for q in (None, {1: LabelFlip(7, 1)}))
    for owner in (0, 2):
        np.testing.assert_array_equal(good.train(owner)[1], bad.train(owner)[1])
    np.testing.assert_array_equal(bad.train(1)[1], np.where(good.train(1)[1] == 7, 1, good.train(1)[1]))
    np.testing.assert_array_equal(good.y_test, bad.y_test)
    np.testing.assert_array_equal(good.x_train, bad.x_train)


def test_feature_noise_has_its_width():
    x, y = FeatureNoise(0.5).spoil(np.zeros((5000, 4), np.float32), np.zeros(5000, int), np.random.default_rng(0), 2)
    assert (x.dtype, y.sum()) == (np.float32, 0)
    np.testing.assert_allclose(x.std(), 0.5, rtol=0.03)


def test_feature_noise_of_images_is_a_share_of_brightness():
    grey = np.full((50, 1, 20, 20), 128, np.uint8)
    x, _ = FeatureNoise(0.1).spoil(grey, np.zeros(50, int), np.random.default_rng(0), 2)
    assert x.dtype == np.uint8
    np.testing.assert_allclose(x.std(), 25.5, rtol=0.05)
    bright, _ = FeatureNoise(5.0).spoil(grey, np.zeros(50, int), np.random.default_rng(0), 2)
    assert (bright.min(), bright.max()) == (0, 255)
    assert (grey == 128).all()


@settings(deadline=None, max_examples=30)
@given(share=st.floats(0, 1), seed=st.integers(0, 99))
def test_duplicates_keep_the_size_and_leave_fewer_originals(share, seed):
    x, y = Duplicates(share).spoil(X, Y, np.random.default_rng(seed), 5)
    assert len(x) == len(y) == 100
    assert len(np.unique(x[:, 0])) == max(100 - round(share * 100), 1)
    rows = (x[:, 0] / 4).astype(int)
    assert (X[rows] == x).all()
    assert (Y[rows] == y).all()


def test_a_chain_applies_one_after_the_other():
    rng = np.random.default_rng(3)
    x, y = Duplicates(0.5).spoil(X, Y, rng, 5)
    x, y = LabelNoise(0.2).spoil(x, y, rng, 5)
    both = Chain((Duplicates(0.5), LabelNoise(0.2))).spoil(X, Y, np.random.default_rng(3), 5)
    assert (both[0] == x).all()
    assert (both[1] == y).all()


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="between 0 and 1"):
        LabelNoise(1.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        Duplicates(-0.1)
    with pytest.raises(InputError, match="between 0 and 1"):
        LabelFlip(0, 1, share=2)
    with pytest.raises(InputError, match="whole number"):
        LabelFlip(-1, 1)
    with pytest.raises(InputError, match="count classes from 0"):
        LabelFlip(0, 5).spoil(X, Y, np.random.default_rng(0), 5)
    with pytest.raises(InputError, match="changes no label"):
        LabelShift(5).spoil(X, Y, np.random.default_rng(0), 5)
    with pytest.raises(InputError, match="sigma"):
        FeatureNoise(-1)
    with pytest.raises(InputError, match="two classes"):
        LabelNoise(0.1).spoil(X, Y, np.random.default_rng(0), None)
    with pytest.raises(InputError, match="tokens"):
        FeatureNoise(1).spoil(X.astype(np.int32), Y, np.random.default_rng(0), 5)
