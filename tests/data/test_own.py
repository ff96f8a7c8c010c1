"""Data of one's own keep their owners' names, and mistakes get one line."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from fedabm.common.errors import InputError
from fedabm.data.own import from_arrays, from_csv, from_folders
from fedabm.data.partitions import IID


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 90), "ward": rng.choice(["a", "b"], 90)})
    frame["sick"] = np.where(frame["age"] > 50, "yes", "no")
    frame["clinic"] = ["south"] * 20 + ["north"] * 50 + ["east"] * 20
    frame.to_csv(tmp_path / "patients.csv", index=False)
    return tmp_path / "patients.csv"


def test_a_csv_keeps_the_clinics_apart_and_their_names(table):
    data = from_csv(table, label="sick", owner="clinic", test_share=0.2)
    assert data.names == ("north", "east", "south")
    assert (data.capacities + data.test_sizes).tolist() == [50, 20, 20]
    assert data.shape == (3,)  # age, ward a, ward b
    assert data.classes == 2


def test_every_sample_stays_with_its_owner():
    x = np.arange(30.0)[:, None]
    owner = np.repeat(["b", "a", "c"], [5, 15, 10])
    data = from_arrays(x, np.zeros(30, dtype=int), owner)
    for number, name in enumerate(data.names):
        mine = np.concatenate([data.train(number)[0], data.test(number)[0]]).ravel()
        assert sorted(mine) == np.flatnonzero(owner == name).tolist()


def test_tensors_and_arrays_give_the_same():
    x, y = torch.randn(20, 3, requires_grad=True), torch.arange(20) % 2
    one = from_arrays(x, y, ["a", "b"] * 10)
    two = from_arrays(x.detach().numpy(), y.numpy(), ["a", "b"] * 10)
    np.testing.assert_array_equal(one.x_train, two.x_train)
    np.testing.assert_array_equal(one.y_test, two.y_test)


def test_a_partition_may_deal_the_samples():
    assert from_arrays(np.ones((40, 2)), np.arange(40) % 4, IID(4)).owners == 4


def test_images_in_folders(tmp_path):
    for owner, count in (("north", 4), ("south", 8)):
        for kind, shade in (("dark", 0), ("light", 255)):
            (tmp_path / owner / kind).mkdir(parents=True)
            for number in range(count):
                Image.new("RGB", (50, 30), (shade,) * 3).save(tmp_path / owner / kind / f"{number}.png")
    data = from_folders(tmp_path, size=8)
    assert data.names == ("south", "north")
    assert data.x_train.dtype == np.uint8
    assert data.shape == (3, 8, 8)
    assert all(
        np.all(image == (0 if label == 0 else 255)) for image, label in zip(data.x_train, data.y_train, strict=True)
    )
    assert from_folders(tmp_path, size=8, colour=False).shape == (1, 8, 8)


def test_mistakes_get_one_line(table, tmp_path):
    with pytest.raises(InputError, match="no column 'clinik'; did you mean 'clinic'"):
        from_csv(table, "sick", "clinik")
    with pytest.raises(InputError, match="there is no file"):
        from_csv(tmp_path / "none.csv", "a", "b")
    with pytest.raises(InputError, match="regression=True"):
        from_csv(table, "age", "clinic")
    with pytest.raises(InputError, match="a row per sample"):
        from_arrays([1.0, 2.0], [0, 1], ["a", "b"])
    with pytest.raises(InputError, match="is no folder"):
        from_folders(tmp_path / "nothing")
    (tmp_path / "pictures" / "north" / "dark").mkdir(parents=True)
    with pytest.raises(InputError, match="holds no images"):
        from_folders(tmp_path / "pictures")
    (tmp_path / "pictures" / "north" / "dark" / "a.png").write_text("no image")
    with pytest.raises(InputError, match="is no image"):
        from_folders(tmp_path / "pictures")
    frame = pd.read_csv(table)
    frame.loc[3, "age"] = np.nan
    frame.to_csv(table, index=False)
    with pytest.raises(InputError, match="1 rows of"):
        from_csv(table, "sick", "clinic")


def test_data_are_told_in_one_line():
    x = np.zeros((50, 3, 32, 32), dtype=np.uint8)
    data = from_arrays(x, np.arange(50) % 2, ["a", "b"] * 25, test_share=0.2)
    assert repr(data) == "<FederatedData 'own data': 2 owners, 40 + 10 samples of shape (3, 32, 32)>"
