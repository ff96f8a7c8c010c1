"""Images as they are learned from: bytes by mean and deviation, crops and mirror images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.data.federated import normalised
from fedabm.learning.engine.augment import CropAndFlip, crop_and_flip
from fedabm.learning.engine.engine import Engine
from tests.learning.plain import random_data

SHAPE = (3, 8, 8)


def images():
    return random_data(SHAPE, sizes=(30, 20, 40), bytes_=True)


def test_normalised_bytes_have_mean_0_and_deviation_1_in_every_channel():
    data = normalised(images())
    seen, _ = Engine("logistic", data, device="cpu")._train.take(torch.arange(90))
    np.testing.assert_allclose(seen.mean((0, 2, 3)), np.zeros(3), atol=1e-5)
    np.testing.assert_allclose(seen.var((0, 2, 3), unbiased=False), np.ones(3), atol=1e-5)
    assert data.x_train is images().x_train or data.x_train.dtype == np.uint8


def test_training_on_normalised_bytes_is_training_on_normalised_numbers():
    data = normalised(images())
    mean, spread = (np.array(part, dtype=np.float32)[:, None, None] for part in data.scaling)
    plain = replace(data, scaling=None, x_train=(data.x_train - mean) / spread, x_test=((data.x_test - mean) / spread))
    bytes_, numbers = (Engine("logistic", one, device="cpu") for one in (data, plain))
    models = [one.train(one.initial(0), [30, 20, 40], steps=4, seed=1) for one in (bytes_, numbers)]
    torch.testing.assert_close(*models, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(bytes_.evaluate(models[0]).loss, numbers.evaluate(models[0]).loss, rtol=1e-4, atol=1e-5)


def test_numbers_are_not_normalised_twice():
    with pytest.raises(InputError, match="no images of bytes"):
        normalised(random_data(SHAPE))


def test_a_crop_by_hand():
    """One pixel down and two to the left; then mirrored."""
    image = torch.arange(1, 10, dtype=torch.uint8).view(1, 1, 3, 3)
    moved = crop_and_flip(image.repeat(2, 1, 1, 1), torch.tensor([[1, -2, 0], [1, -2, 1]]))
    assert moved[0, 0].tolist() == [[0, 0, 0], [3, 0, 0], [6, 0, 0]]
    assert moved[1, 0].tolist() == [[0, 0, 0], [0, 0, 3], [0, 0, 6]]


@given(down=st.integers(-4, 4), right=st.integers(-4, 4), mirrored=st.booleans())
def test_crops_are_those_of_a_padded_image(down, right, mirrored):
    image = torch.from_numpy(np.random.default_rng(0).integers(1, 256, (2, 2, 6, 7)).astype(np.uint8))
    border = torch.nn.functional.pad(image, (4, 4, 4, 4))
    crop = border[:, :, 4 - down : 10 - down, 4 - right : 11 - right]
    wanted = crop.flip(3) if mirrored else crop
    assert torch.equal(crop_and_flip(image, torch.tensor([[down, right, mirrored]] * 2)), wanted)


def test_draws_cover_all_moves_evenly():
    moves = CropAndFlip(2).draw(np.random.default_rng(0), (5000,))
    assert moves.shape == (5000, 3)
    for axis in (0, 1):
        assert np.bincount(moves[:, axis] + 2, minlength=5) == pytest.approx(np.full(5, 1000), abs=120)
    assert moves[:, 2].mean() == pytest.approx(0.5, abs=0.03)


def test_augmented_training_depends_on_the_own_stream_only_and_on_nothing_without_moves():
    engine = Engine("logistic", images(), device="cpu")
    start = engine.initial(0)
    how = {"steps": 3, "batch": 5, "seed": 2}
    alike, plain = (engine.train(start, [30, 20, 40], augment=one, **how) for one in (CropAndFlip(2), None))
    assert (alike - plain).abs().max() > 1e-3
    one = engine.train(start, [20], augment=CropAndFlip(2), owners=[1], **how)
    torch.testing.assert_close(one[0], alike[1], rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="train without augment"):
        Engine("logistic", random_data(SHAPE), device="cpu").train(start, [7, 5, 9], augment=CropAndFlip(), **how)


def test_small_convolutions_are_judged_together_as_one_by_one():
    data = random_data((3, 32, 32), classes=10, bytes_=True)
    engine = Engine("simple_cnn", data, device="cpu")
    models = torch.stack([engine.initial(seed) for seed in range(4)])
    assert engine.models_at_once(8) > 1
    models_at_once = engine.evaluate(models)
    for place in range(4):
        alone = engine.evaluate(models[place])
        torch.testing.assert_close(models_at_once.loss[place], alone.loss[0], rtol=1e-5, atol=1e-6)
        assert torch.equal(models_at_once.accuracy[place], alone.accuracy[0])
