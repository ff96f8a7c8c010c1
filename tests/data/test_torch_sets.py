"""Datasets of PyTorch become owners' data, in their order and with their names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset

from fedabm import InputError
from fedabm.data import Dirichlet, LabelNoise, from_torch
from fedabm.learning import Engine


def numbered(first: int, size: int) -> TensorDataset:
    x = torch.arange(first, first + size, dtype=torch.float32)[:, None].repeat(1, 4)
    return TensorDataset(x, torch.arange(size) % 2)


def test_one_for_each_owner_keeps_order_names_and_samples() -> None:
    data = from_torch({"small": numbered(0, 10), "large": numbered(100, 30)})
    assert data.names == ("small", "large")
    assert (data.capacities + data.test_sizes).tolist() == [10, 30]
    mine = np.concatenate([data.train(0)[0][:, 0], data.test(0)[0][:, 0]])
    assert sorted(mine.tolist()) == list(range(10))
    assert from_torch([numbered(0, 10), numbered(100, 30)]).capacities.tolist() == data.capacities.tolist()


def test_a_partition_deals_a_single_one_and_labels_may_be_wrong() -> None:
    data = from_torch(numbered(0, 400), Dirichlet(4, 5.0), quality={1: LabelNoise(0.5)})
    assert data.owners == 4
    wrong = [
        float((y != data.train(owner)[0][:, 0] % 2).mean()) for owner, y in ((i, data.train(i)[1]) for i in range(4))
    ]
    assert wrong[1] == pytest.approx(0.5, abs=0.02)
    assert wrong[0] == wrong[2] == wrong[3] == 0.0


class Pictures(Dataset):
    """As torchvision gives them without a transform."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, place: int) -> tuple[Image.Image, int]:
        if not 0 <= place < 20:
            raise IndexError(place)
        return Image.new("RGB", (5, 4), (place, 0, 255)), place % 3


def test_pictures_are_bytes_with_channels_first_and_train() -> None:
    data = from_torch([Pictures(), Subset(Pictures(), range(10))])
    assert (data.shape, data.x_train.dtype, data.classes) == ((3, 4, 5), np.uint8, 3)
    engine = Engine("logistic", data, device="cpu")
    models = engine.train(engine.initial(0), data.capacities, epochs=1)
    assert torch.isfinite(models).all()


class Endless(IterableDataset):
    def __iter__(self):
        yield torch.zeros(3), 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (numbered(0, 10), "one dataset is no federation; give a partition"),
        ([Endless(), Endless()], "dataset 0 cannot be read"),
        ([[(torch.zeros(3), 1), (torch.zeros(4), 0)]] * 2, "dataset 0 cannot be read"),
        ([[(torch.zeros(3), "cat")] * 4] * 2, "'cat' is no number"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(given, why: str) -> None:
    with pytest.raises(InputError, match=why):
        from_torch(given)
