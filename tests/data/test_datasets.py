"""Every reader on tiny files in its format, damaged files, and the real files where they are."""

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fedabm.common.errors import InputError, MissingExtraError
from fedabm.data import datasets
from fedabm.data.datasets import Dataset, data_folder, from_flower, from_hub, from_table, load_dataset, names, status
from fedabm.data.datasets.idx import parse_idx
from fedabm.data.datasets.text import CHARACTERS, words

FULL = Path(os.environ.get("FEDABM_DATA", "no-such-folder"))
SHARED = Path(os.environ.get("FEDABM_SHARED") or Path(__file__).resolve().parents[3] / "shared" / "data")


def needs(folder: Path, path: str, variable: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (folder / path).exists(), reason=f"{path} is not there; set {variable} to its folder")


def idx(array: np.ndarray, kind: int = 8) -> bytes:
    header = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return header + array.astype(np.uint8 if kind == 8 else ">i4").tobytes()


def write(path: Path, data: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def write_idx(folder: Path, zipped: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (7, 28, 28), dtype=np.uint8), np.arange(7, dtype=np.uint8)
    for part, rows in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        for kind, array in (("images-idx3", images[rows]), ("labels-idx1", labels[rows])):
            data = idx(array)
            write(folder / f"{part}-{kind}-ubyte{'.gz' if zipped else ''}", gzip.compress(data) if zipped else data)
    return images, labels


# Embedded


def test_embedded_sets_have_the_documented_form():
    digits, cancer, quadratic = (load_dataset(name) for name in ("digits", "breast_cancer", "quadratic"))
    assert (digits.x.shape, digits.x.dtype, digits.x.max()) == ((1797, 1, 8, 8), np.uint8, 255)
    assert (cancer.x.shape, cancer.x.dtype, cancer.y.sum()) == ((569, 30), np.float32, 357)
    np.testing.assert_allclose(cancer.x.mean(axis=0), 0, atol=1e-5)
    assert (quadratic.x.shape, quadratic.y.mean()) == ((4000, 10), 0.5)


def test_quadratic_set_is_quadratic_and_follows_its_seed():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import PolynomialFeatures

    data = load_dataset("quadratic", noise=0.0)
    squares = PolynomialFeatures(2).fit_transform(data.x)
    linear = LogisticRegression(max_iter=2000).fit(data.x, data.y).score(data.x, data.y)
    quadratic = LogisticRegression(C=1e6, max_iter=5000).fit(squares, data.y).score(squares, data.y)
    assert linear < 0.95 < 0.99 < quadratic
    assert (load_dataset("quadratic", seed=3).x == load_dataset("quadratic", seed=3).x).all()
    assert (load_dataset("quadratic", seed=3).x != load_dataset("quadratic", seed=4).x).any()


def test_nothing_imports_torch():
    modules = "fedabm.learning, fedabm.cli.data; from fedabm.data import datasets, partitions, quality, federated"
    script = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# The registry


def test_folder_comes_from_the_variable_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("FEDABM_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "fedabm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "fedabm"
    assert data_folder(tmp_path) == tmp_path


def test_status_names_every_set_and_says_what_to_do(tmp_path):
    rows = {row.name: row for row in status(tmp_path)}
    assert list(rows) == names()
    assert rows["digits"][1:] == ("embedded", "1,797 samples")
    assert rows["mnist"].state == "missing"
    assert "fedabm data get mnist" in rows["mnist"].detail
    assert str(tmp_path) in rows["femnist"].detail
    write_idx(tmp_path / "mnist")
    assert {row.name: row.state for row in status(tmp_path)}["mnist"] == "present"


def test_every_missing_set_says_in_one_line_what_to_put_where(tmp_path):
    for name in names():
        if name not in ("digits", "breast_cancer", "quadratic"):
            with pytest.raises(InputError, match=f"^{name} is not there; put .* into {tmp_path}") as caught:
                load_dataset(name, tmp_path)
            assert "\n" not in str(caught.value)
            where = ("fedabm data get", "SHA-256 of", "from LEAF")
            assert any(words in str(caught.value) for words in where), "whence it comes"


def test_unknown_names_and_options():
    with pytest.raises(InputError, match="did you mean 'mnist'"):
        load_dataset("mnists")
    with pytest.raises(InputError, match="has no option 'sed'; did you mean 'seed'"):
        load_dataset("quadratic", sed=1)


def test_a_dataset_refuses_what_does_not_fit():
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(InputError, match="3 samples but 2 y"):
        Dataset("a", x, np.zeros(2, int), 2)
    with pytest.raises(InputError, match=r"labels must lie in 0 \.\. 1"):
        Dataset("a", x, np.array([0, 1, 2]), 2)
    with pytest.raises(InputError, match="NaN"):
        Dataset("a", x * np.nan, np.zeros(3, int), 2)
    with pytest.raises(InputError, match="no official test part"):
        _ = Dataset("a", x, np.zeros(3, int), 2).test


def test_subset_keeps_columns_together():
    data = Dataset("a", np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1]), 2, np.arange(4), np.arange(4) > 2)
    some = data.subset([3, 1])
    assert (some.x[:, 0].tolist(), some.y.tolist()) == ([6.0, 2.0], [1, 1])
    assert some.users is not None
    assert some.users.tolist() == [3, 1]
    assert (len(data.train), len(data.test)) == (3, 1)
    assert np.shares_memory(data.train.x, data.x)
    assert data.subset(np.array([True, False, True, False])).x.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert len(data.subset(np.zeros(4, bool))) == 0


# idx


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(("name", "place"), [("mnist", "mnist"), ("fashion_mnist", "fashion-mnist")])
def test_idx_files_plain_and_zipped(tmp_path, name, place, zipped):
    images, labels = write_idx(tmp_path / place, zipped)
    data = load_dataset(name, tmp_path, verify=False)
    assert (data.x[:, 0] == images).all()
    assert data.y.tolist() == labels.tolist()
    assert data.split is not None
    assert data.split.tolist() == [False] * 5 + [True] * 2
    assert data.users is None
    with pytest.raises(InputError, match=r"train-images.* is damaged: expected MD5 .* delete it"):
        load_dataset(name, tmp_path)


def test_damaged_idx_files(tmp_path):
    write_idx(tmp_path / "mnist")
    path = tmp_path / "mnist" / "t10k-images-idx3-ubyte"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(
        InputError, match="t10k-images-idx3-ubyte is damaged: expected 1,568 bytes of values, found 1,567"
    ):
        load_dataset("mnist", tmp_path, verify=False)
    path.write_bytes(b"<html>")
    with pytest.raises(InputError, match="expected an idx header"):
        load_dataset("mnist", tmp_path, verify=False)
    path.unlink()
    zipped = gzip.compress(whole)
    path.with_name(path.name + ".gz").write_bytes(zipped[: len(zipped) // 2])
    with pytest.raises(InputError, match="expected a gzip file"):
        load_dataset("mnist", tmp_path, verify=False)


def test_idx_of_whole_numbers():
    table = np.array([[1, -2], [70_000, 4]])
    assert (parse_idx(idx(table, kind=0x0C), Path("x")) == table).all()


def test_writers_from_an_npz_bundle_and_from_qmnist(tmp_path):
    _, labels = write_idx(tmp_path / "mnist")
    with pytest.raises(InputError, match="mnist_by_writer is not there"):
        load_dataset("mnist_by_writer", tmp_path, verify=False)
    rows = np.zeros((9, 8), int)
    rows[:7, 0], rows[:, 2] = labels, np.arange(100, 109)
    write(tmp_path / "mnist" / "qmnist-train-labels-idx2-int.gz", gzip.compress(idx(rows[:5], kind=0x0C)))
    write(tmp_path / "mnist" / "qmnist-test-labels-idx2-int", idx(rows[5:], kind=0x0C))
    assert load_dataset("mnist_by_writer", tmp_path, verify=False).users.tolist() == list(range(100, 107))
    (tmp_path / "mnist_writer_ids").mkdir()
    kept = {"train_label": labels[:5], "train_writer": np.arange(5), "test_label": labels[5:], "test_writer": [8, 8]}
    np.savez(tmp_path / "mnist_writer_ids" / "ids.npz", **kept)
    assert load_dataset("mnist", tmp_path, verify=False).users.tolist() == [0, 1, 2, 3, 4, 8, 8]
    np.savez(tmp_path / "mnist_writer_ids" / "ids.npz", **(kept | {"test_label": labels[4:6]}))
    with pytest.raises(InputError, match="expected the labels of MNIST's 7 digits"):
        load_dataset("mnist", tmp_path, verify=False)


# CIFAR-10


def cifar_rows(batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(batch)
    return rng.integers(0, 256, (2, 3072), dtype=np.uint8), rng.integers(0, 10, 2)


def test_cifar_binary_and_python_batches_agree(tmp_path):
    parts = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"]
    for k, part in enumerate(parts):
        x, y = cifar_rows(k)
        write(tmp_path / "a/cifar-10-batches-bin" / f"{part}.bin", np.c_[y.astype(np.uint8), x].tobytes())
        batch = {b"data": x, b"labels": y.tolist(), b"batch_label": b"a batch"}
        write(tmp_path / "b/cifar-10-batches-py" / part, pickle.dumps(batch, protocol=2))
    binary, python = (load_dataset("cifar10", tmp_path / place, verify=False) for place in "ab")
    assert (binary.x == python.x).all()
    assert (binary.y == python.y).all()
    assert (binary.x[2:4].reshape(2, -1) == cifar_rows(1)[0]).all()
    assert binary.split.tolist() == [False] * 10 + [True] * 2
    with pytest.raises(InputError, match=r"data_batch_1\.bin is damaged: expected MD5 5dd7e06a"):
        load_dataset("cifar10", tmp_path / "a")
    write(tmp_path / "a/cifar-10-batches-bin/test_batch.bin", b"x" * 3000)
    with pytest.raises(
        InputError, match=r"test_batch\.bin is damaged: expected a multiple of 3,073 bytes, found 3,000"
    ):
        load_dataset("cifar10", tmp_path / "a", verify=False)


def test_a_forged_python_batch_runs_no_code(tmp_path):
    for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        write(tmp_path / "cifar-10-batches-py" / name, pickle.dumps(print))
    with pytest.raises(InputError, match="is not allowed"):
        load_dataset("cifar10", tmp_path, verify=False)


# LEAF


def write_leaf(folder: Path, train: dict, test: dict) -> None:
    for part, data in (("train", train), ("test", test)):
        file = {"users": list(data), "num_samples": [len(d["y"]) for d in data.values()], "user_data": data}
        write(folder / part / "all_data_0.json", json.dumps(file))


def test_leaf_femnist(tmp_path):
    levels = np.arange(784) % 256
    x = (levels / 255).tolist()
    write_leaf(
        tmp_path / "femnist", {"b": {"x": [x, x], "y": [0, 61]}, "a": {"x": [x], "y": [7]}}, {"b": {"x": [x], "y": [5]}}
    )
    data = load_dataset("femnist", tmp_path)
    assert (data.x.reshape(4, -1) == levels).all()
    assert (data.x.shape, data.classes, data.y.tolist()) == ((4, 1, 28, 28), 62, [0, 61, 7, 5])
    assert data.users.tolist() == [1, 1, 0, 1]
    assert data.split.tolist() == [False, False, False, True]


def test_leaf_shakespeare(tmp_path):
    x = ("to be, or not to be " * 4)[:80]
    write_leaf(tmp_path / "shakespeare", {"H": {"x": [x], "y": ["t"]}}, {"H": {"x": [x], "y": ["\n"]}})
    data = load_dataset("shakespeare", tmp_path)
    assert "".join(CHARACTERS[k] for k in data.x[0]) == x
    assert [CHARACTERS[k] for k in data.y] == ["t", "\n"]
    assert (data.classes, data.tokens) == (80, 80)


def test_leaf_sent140(tmp_path):
    tweet = ["1", "Mon", "NO_QUERY", "me", "so  happy!", "training"]
    write_leaf(tmp_path / "sent140", {"me": {"x": [tweet], "y": [1]}}, {"you": {"x": [tweet], "y": [0]}})
    data = load_dataset("sent140", tmp_path, tokens=50, length=4)
    assert (data.x == words(["so happy!"], 50, 4)[0]).all()
    assert (data.y.tolist(), data.users.tolist(), data.tokens) == ([1, 0], [0, 1], 50)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "LEAF's JSON"),
        ('{"users": ["a"], "user_data": {}}', "LEAF's JSON"),
        ('{"users": ["a"], "user_data": {"a": {"x": [[0]], "y": [1]}}}', "samples of user a"),
        ('{"users": ["a"], "user_data": {"a": {"x": [], "y": [1]}}}', "as many x as y"),
        ('{"users": [], "user_data": {}}', "users with samples"),
    ],
)
def test_damaged_leaf_files(tmp_path, text, told):
    write(tmp_path / "femnist/train/a.json", text)
    write(tmp_path / "femnist/test/a.json", text)
    with pytest.raises(InputError, match=f"is damaged: expected {told}"):
        load_dataset("femnist", tmp_path)


# Text, tables and pictures


def test_shakespeare_by_speech(tmp_path):
    speeches = [("B", "Ay,\nsir."), ("A", "No"), ("B", "Go!")]
    lines = "\n".join(json.dumps({"user": user, "text": text}) for user, text in speeches)
    write(tmp_path / "shakespeare/plays.jsonl.gz", gzip.compress(lines.encode()))
    data = load_dataset("shakespeare", tmp_path, stride=1)
    assert "".join(CHARACTERS[k] for k in data.y) == "Ay, sir.\nNo\nGo!\n"
    assert data.users.tolist() == [1] * 9 + [0] * 3 + [1] * 4
    assert "".join(CHARACTERS[k] for k in data.x[8]) == "Ay, sir.".rjust(80)
    assert "".join(CHARACTERS[k] for k in data.x[9]) == " " * 80
    assert len(load_dataset("shakespeare", tmp_path, stride=3)) == 3 + 1 + 2
    assert len(load_dataset("shakespeare", tmp_path, stride=1, roles=1)) == 13
    write(tmp_path / "shakespeare/plays.jsonl.gz", gzip.compress(b'{"user": "A"}'))
    with pytest.raises(InputError, match="the keys user, text in line 1"):
        load_dataset("shakespeare", tmp_path)


def test_sent140_by_user(tmp_path):
    write(tmp_path / "sent140/tweets.csv", 'user,date,text,label\nu1,Mon,"NA, null",0\nu0,Tue,null,4\n')
    data = load_dataset("sent140", tmp_path, length=3)
    assert (data.y.tolist(), data.users.tolist()) == ([0, 1], [1, 0])
    assert (data.x > 0).sum(axis=1).tolist() == [3, 1]
    write(tmp_path / "sent140/tweets.csv", "user,text,label\nu1,hm,2\n")
    with pytest.raises(InputError, match="expected the labels 0, 1, 4, found '2'"):
        load_dataset("sent140", tmp_path)
    write(tmp_path / "sent140/tweets.csv", "user,label\nu1,2\n")
    with pytest.raises(InputError, match="expected the columns user, text, label, found user, label"):
        load_dataset("sent140", tmp_path)
    write(tmp_path / "sent140/tweets.csv", "user,text,label\n")
    with pytest.raises(InputError, match="expected rows below the header, found none"):
        load_dataset("sent140", tmp_path)


def test_financial_sentiment_joins_its_sources(tmp_path):
    folder = tmp_path / "financial_sentiment"
    write(folder / "financial_phrasebank_x.csv", "text,label,min_agreement\nprofit rose,positive,100\n")
    write(folder / "fiqa_task1.csv", "sentence,score\nbad,-0.5\nso so,0.05\ngood,0.3\n")
    write(folder / "tfns_train.csv", "text,label\na,0\nb,1\n")
    write(folder / "tfns_valid.csv", "text,label\nc,2\n")
    write(folder / "nwgi.csv", "text,label\nd,strong negative\ne,neutral\n")
    data = load_dataset("financial_sentiment", tmp_path)
    assert data.y.tolist() == [2, 0, 1, 2, 0, 2, 1, 0, 1]
    assert data.users.tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3]
    assert len(load_dataset("financial_sentiment", tmp_path, sources=("tfns",))) == 3
    write(folder / "tfns_valid.csv.gz", gzip.compress(b"text,label\nc,2\n"))
    write(folder / "tfns_test.csv.part", "text,la")
    assert len(load_dataset("financial_sentiment", tmp_path, sources=("tfns",))) == 3
    with pytest.raises(InputError, match="did you mean 'tfns'"):
        load_dataset("financial_sentiment", tmp_path, sources=("tfn",))


def test_lumpy_skin_drops_what_gives_the_label_away(tmp_path):
    rows = "x,region,country,reportingDate,tmp,lumpy\n1,Asia,India,1-1-20,5,1\n3,,,,5,0\n3,,,,5,0\n"
    write(tmp_path / "lumpy_skin/d.csv", rows)
    data = load_dataset("lumpy_skin", tmp_path)
    assert (data.shape, data.y.tolist()) == ((2,), [1, 0, 0])
    assert load_dataset("lumpy_skin", tmp_path, drop_duplicates=True).x.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    write(tmp_path / "lumpy_skin/d.csv", rows.replace("3,", "none,"))
    with pytest.raises(InputError, match="none in column x"):
        load_dataset("lumpy_skin", tmp_path)


def jpeg(colour: tuple[int, int, int], size: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(buffer, "PNG")
    return buffer.getvalue()


def test_pacs_from_parquet(tmp_path):
    images = [{"bytes": jpeg((255, 0, 0), 64), "path": "a"}, {"bytes": jpeg((0, 0, 9), 100), "path": "b"}]
    columns = {"image": images, "domain": ["sketch", "photo"], "label": ["house", "dog"]}
    write(tmp_path / "pacs/p.parquet", b"")
    pq.write_table(pa.table(columns), tmp_path / "pacs/p.parquet")
    data = load_dataset("pacs", tmp_path)
    assert data.x.shape == (2, 3, 64, 64)
    assert data.x[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 9]]
    assert (data.y.tolist(), data.users.tolist()) == ([1, 0], [1, 0])
    pq.write_table(pa.table(columns | {"image": [{"bytes": b"x"}] * 2}), tmp_path / "pacs/p.parquet")
    with pytest.raises(InputError, match="PACS picture 0 cannot be decoded"):
        load_dataset("pacs", tmp_path)
    write(tmp_path / "pacs/p.parquet", b"PAR1")
    with pytest.raises(InputError, match=r"p\.parquet is damaged: expected parquet"):
        load_dataset("pacs", tmp_path)


def test_npz_bundles(tmp_path):
    x, y, who = np.zeros((3, 28, 28), np.uint8), np.array([0, 2, 1], np.uint8), np.array([4, 4, 5], np.uint8)
    for name in ("femnist_digits", "omniglot", "cifar10_subset"):
        (tmp_path / name).mkdir()
    np.savez(tmp_path / "femnist_digits/a.npz", x=x, y=y, client=who)
    np.savez(tmp_path / "omniglot/a.npz", x=x, y=y, drawer=who, class_names=np.array(["a", "b", "c"]))
    colour = np.arange(3, dtype=np.uint8) * np.ones((3, 32, 32, 1), np.uint8)
    np.savez(tmp_path / "cifar10_subset/a.npz", x_train=colour[:2], y_train=y[:2], x_test=colour[2:], y_test=y[2:])
    assert load_dataset("femnist_digits", tmp_path).users.tolist() == [4, 4, 5]
    assert load_dataset("omniglot", tmp_path).classes == 3
    subset = load_dataset("cifar10_subset", tmp_path)
    assert (subset.x[:, :, 5, 5] == [0, 1, 2]).all()
    assert subset.split.tolist() == [False, False, True]
    np.savez(tmp_path / "omniglot/a.npz", x=x)
    with pytest.raises(InputError, match="none called"):
        load_dataset("omniglot", tmp_path)
    write(tmp_path / "omniglot/a.npz", b"PK torn")
    with pytest.raises(InputError, match="expected an npz file"):
        load_dataset("omniglot", tmp_path)


# The hub


class Column:
    num_classes = 5


class Table(dict):
    """What a table of the package `datasets` looks like from outside."""

    features = {"label": Column()}

    def __len__(self) -> int:
        return len(self["label"])


def test_tables_of_pictures_vectors_and_texts():
    pictures = from_table(
        "p", [Table(image=[Image.new("RGB", (4, 3))] * 2, label=[0, 3], who=["b", "a"])], "image", "label", "who"
    )
    assert (pictures.x.shape, pictures.classes, pictures.users.tolist()) == ((2, 3, 3, 4), 5, [1, 0])
    grey = from_table("g", [Table(image=[Image.new("L", (4, 3))], label=[0])], "image", "label")
    assert grey.x.shape == (1, 1, 3, 4)
    vectors = from_table("v", [{"x": [[1.0, 2.0]], "y": [0.5]}, {"x": [[3.0, 4.0]], "y": [1.5]}], "x", "y")
    assert (vectors.x.tolist(), vectors.y.tolist(), vectors.classes) == ([[1, 2], [3, 4]], [0.5, 1.5], None)
    texts = from_table("t", [{"x": ["good day", "bad"], "y": ["+", "-"]}], "x", "y", length=3)
    assert (texts.x.shape, texts.y.tolist(), texts.tokens) == ((2, 3), [0, 1], 20_000)
    with pytest.raises(InputError, match="different shapes"):
        from_table("v", [{"x": [[1.0], [1.0, 2.0]], "y": [0, 1]}], "x", "y")
    with pytest.raises(InputError, match="v has no column 'labels'; did you mean 'label'"):
        from_table("v", [{"x": [[1.0]], "label": [0]}], "x", "labels")
    with pytest.raises(InputError, match="remove samples without a label"):
        from_table("v", [{"x": [[1.0], [2.0]], "y": [0, None]}], "x", "y")


def test_partitions_of_flower_become_users():
    parts = [Table(x=[[0.0]], label=[1]), Table(x=[[1.0], [2.0]], label=[0, 2])]

    class Federated:
        partitioners = {"train": type("P", (), {"num_partitions": 2})}

        def load_partition(self, number: int, split: str) -> Table:
            return parts[number]

    data = from_flower(Federated(), "x", "label")
    assert (data.users.tolist(), data.y.tolist(), data.classes) == ([0, 1, 1], [1, 0, 2], 5)


def test_hub_splits_and_absence(monkeypatch):
    fake = type(sys)("datasets")
    parts = {"train": Table(x=[[0.0]] * 2, label=[0, 1]), "test": Table(x=[[1.0]], label=[4])}
    fake.load_dataset = lambda path: parts
    monkeypatch.setitem(sys.modules, "datasets", fake)
    assert from_hub("some/set", "x", "label").split.tolist() == [False, False, True]
    fake.load_dataset = lambda path: Path("/nowhere", path).read_bytes()
    with pytest.raises(InputError, match=r"cannot load some/set from the hub: .*No such file"):
        from_hub("some/set", "x", "label")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        from_hub("some/set", "x", "label")


def test_a_real_hub_table():
    hub = pytest.importorskip("datasets", reason="the package datasets is not installed")
    features = hub.Features({"image": hub.Image(), "label": hub.ClassLabel(num_classes=4)})
    table = hub.Dataset.from_dict({"image": [Image.new("L", (5, 6), 9)] * 3, "label": [0, 1, 2]}, features=features)
    data = from_table("real", [table], "image", "label")
    assert (data.x.shape, data.x.max(), data.classes) == ((3, 1, 6, 5), 9, 4)


# The real files


@pytest.mark.parametrize(
    ("name", "place", "shape"),
    [
        pytest.param(name, place, shape, marks=needs(FULL, place, "FEDABM_DATA"))
        for name, place, shape in (
            ("mnist", "mnist", (1, 28, 28)),
            ("fashion_mnist", "fashion-mnist", (1, 28, 28)),
            ("cifar10", "cifar-10-batches-bin", (3, 32, 32)),
        )
    ],
)
def test_full_image_sets(name, place, shape):
    data = load_dataset(name, FULL)
    assert (data.shape, data.split.sum()) == (shape, 10_000)
    counts = np.bincount(data.y, minlength=10)
    assert (len(data), counts.max()) == (
        (60_000, 6000) if name == "cifar10" else (70_000, 7877 if name == "mnist" else 7000)
    )


@needs(FULL, "mnist", "FEDABM_DATA")
@needs(SHARED, "mnist_writer_ids", "FEDABM_SHARED")
def test_real_writers(tmp_path):
    (tmp_path / "mnist").symlink_to((FULL / "mnist").resolve())
    (tmp_path / "mnist_writer_ids").symlink_to(SHARED / "mnist_writer_ids")
    data = load_dataset("mnist_by_writer", tmp_path)
    assert (len(np.unique(data.train.users)), len(np.unique(data.test.users))) == (539, 297)


@pytest.mark.parametrize(
    ("name", "place", "samples", "users", "classes"),
    [
        pytest.param(*row, marks=needs(SHARED, row[1], "FEDABM_SHARED"))
        for row in (
            ("cifar10_subset", "cifar10_subset", 3000, None, 10),
            ("femnist_digits", "femnist_digits_glin20", 5997, 12, 10),
            ("omniglot", "omniglot_small", 4840, 20, 242),
            ("pacs", "pacs", 9991, 4, 7),
            ("sent140", "sent140_leaf", 16_025, 2875, 2),
            ("lumpy_skin", "lumpy_skin_disease", 24_803, None, 2),
            ("financial_sentiment", "financial_sentiment", 4846 + 1173 + 9543 + 2388 + 4047, 4, 3),
        )
    ],
)
def test_shared_sets(name, place, samples, users, classes):
    data = load_dataset(name, SHARED)
    assert (len(data), len(np.unique(data.y))) == (samples, classes)
    assert (None if data.users is None else len(np.unique(data.users))) == users


@needs(SHARED, "lumpy_skin_disease", "FEDABM_SHARED")
def test_real_lumpy_skin():
    assert (load_dataset("lumpy_skin", SHARED).y.sum(), load_dataset("lumpy_skin", SHARED).shape) == (3039, (16,))
    assert len(load_dataset("lumpy_skin", SHARED, drop_duplicates=True)) == 24_803 - 608


@needs(SHARED, "shakespeare", "FEDABM_SHARED")
def test_real_shakespeare():
    data = load_dataset("shakespeare", SHARED, stride=20, roles=10)
    assert len(np.unique(data.users)) == 10
    text = pd.Series([CHARACTERS[k] for k in data.y])
    assert text.value_counts().index[0] == " "


def test_the_package_exports_what_it_says():
    assert all(hasattr(datasets, name) for name in datasets.__all__)
