"""The table of all sets: how each is read, which files it needs and where they can be had."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fedabm.common.errors import InputError, nearest
from fedabm.data.datasets import cifar, embedded, idx, language, leaf, pictures, tables
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.download import Progress, Remote, fetch, open_url
from fedabm.data.datasets.files import data_folder, matches

__all__ = ["DatasetRow", "download", "load_dataset", "names", "status", "where_to_get"]

_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
_MNIST_GZ = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
_FASHION_GZ = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
_WRITERS_GZ = {
    "qmnist-train-labels-idx2-int.gz": "0058f8dd561b90ffdd0f734c6a30e5e4",
    "qmnist-test-labels-idx2-int.gz": "5b5b05890a5e13444e108efe57b788aa",
}


def _remotes(folder: str, files: dict[str, str], *sites: str) -> tuple[Remote, ...]:
    return tuple(Remote(f"{folder}/{file}", tuple(site + file for site in sites), md5) for file, md5 in files.items())


_MNIST = _remotes(
    "mnist",
    _MNIST_GZ,
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_FASHION = _remotes(
    "fashion-mnist",
    _FASHION_GZ,
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
_CIFAR = Remote(
    "cifar-10-binary.tar.gz",
    (
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "https://cave.cs.toronto.edu/kriz/cifar-10-binary.tar.gz",
    ),
    "c32a1d4ab5d03f1284b67883e8d87530",
    tuple(f"cifar-10-batches-bin/{file}" for file in cifar.BINARY_MD5),
)
_LUMPY = Remote(
    "lumpy_skin/lumpy_skin.csv",
    (
        "https://raw.githubusercontent.com/rakshitha912/lumpy-skin-diseases/"
        "b906eda3f6e67adbfb6d28f33a5b5e175091d9ed/Lumpy%20skin%20disease%20data.csv",
    ),
    "431aca0de0987914a38116712b9c1bd6284c414b630c5195225f17319ac19dcd",
)


@dataclass(frozen=True)
class Origin:
    """Where a set that cannot be downloaded comes from, and the SHA-256 of the file that recorded results rest on."""

    source: str
    file: str = ""
    sha256: str = ""

    def __str__(self) -> str:
        known = f"SHA-256 of {self.file}: {self.sha256}" if self.sha256 else "no checksum is known"
        return f"from {self.source}; {known}"


@dataclass(frozen=True)
class _Spec:
    """One set.  `layouts` are alternatives; in one of them every pattern must find a file.  None: embedded."""

    read: Callable[..., Dataset]
    put: str = ""
    layouts: tuple[tuple[str, ...], ...] = ()
    samples: int | None = None
    remotes: tuple[Remote, ...] = ()
    origin: Origin | None = None

    def files(self, folder: Path) -> list[Path]:
        """The files of the first layout that is complete."""
        return next((found for layout in self.layouts if (found := matches(folder, layout))), [])

    def remedy(self, folder: Path) -> str:
        """What to put where, and whence it comes."""
        return self.wanted(str(folder))

    def wanted(self, place: str) -> str:
        """The same for a place in words."""
        return f"put {self.put} into {place}" + (f" ({self.origin})" if self.origin else "")


_IDX = tuple(f"{file}*" for file in idx.MNIST_MD5)
_MNIST_FILES, _FASHION_FILES = (tuple(f"{place}/{file}" for file in _IDX) for place in ("mnist", "fashion-mnist"))
_IDX_PUT = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte (or .gz)"
_LEAF_PUT = "LEAF's {0}/train/*.json and {0}/test/*.json (its data/{0}/preprocess.sh writes them)"
_WRITER_LAYOUTS = (
    (*_MNIST_FILES, "mnist/*writer*.npz"),
    (*_MNIST_FILES, "mnist_writer_ids/*.npz"),
    (*_MNIST_FILES, *(f"mnist/{file}*" for file in idx.WRITER_FILES)),
)


def _leaf(name: str) -> tuple[str, str]:
    return f"{name}/train/*.json", f"{name}/test/*.json"


_LEAF = "LEAF, github.com/TalwalkarLab/leaf"
_SUBSET_FROM = Origin(
    "the first 200 training and 100 test images of each class of CIFAR-10, in its order",
    "cifar10_2k_1k.npz",
    "8d2eb52c5f86292d6db474799ddc75e19343501c3912e3716ad732a03deb38a2",
)
_DIGITS_FROM = Origin(
    "github.com/glin20/FEMNIST_Federated_Learning at 7d318f4, src/femnist_subset, 12 clients",
    "femnist_digits_12clients.npz",
    "caf569a1884e0f3a0d9ad019ffeb9da6a75f4c5eec7b43d649311295b089ac16",
)
_OMNIGLOT_FROM = Origin(
    "github.com/brendenlake/omniglot at 057f034, python/images_background_small1 and 2, 28 by 28 pixels",
    "omniglot_small_28.npz",
    "4c60167b06edfc0ba01c43a37e861c3875c668566f122b43f3bdfd999d57fe31",
)
_PACS_FROM = Origin(
    "github.com/MachineLearning2020/Homework3-PACS at d586a6c, 64 by 64 pixels, JPEG of quality 90",
    "pacs_64_jpeg90.parquet",
    "fed0d8f6fdb5fe82b7ce59d482097e4b8e5cebcf2d9aa40d706bfbc6ad4ab6fd",
)
_SHAKESPEARE_FROM = Origin(
    f"{_LEAF}, or github.com/TheMITTech/shakespeare at 6b82db8, a row per speech",
    "shakespeare_mit_by_role.jsonl.gz",
    "e53d0db35a3510ccce472cf56088f4cde0943ab8c80af0428c6800e9714ca7cf",
)
_SENT140_FROM = Origin(
    f"{_LEAF}, or github.com/wingter562/LEAF_prepartitioned at 5b28ba6, sentiment140_k30, its test part",
    "sent140_leaf_k30_test.csv.gz",
    "8f6a138b92794d89db933237dcf94709f468a6ce0dd4a250948590dbff618738",
)
_FINANCE_FROM = Origin(
    "the sets of their names: Malo et al. 2014, FiQA 2018 task 1, Twitter financial news, FinGPT's NWGI",
    "financial_phrasebank_50agree.csv.gz",
    "aa15dcfba41f74bfc19f837556a9bed719a0bb223248def1742cf7a45f6a41c8",
)

_SPECS: dict[str, _Spec] = {
    "digits": _Spec(embedded.digits, samples=1_797),
    "breast_cancer": _Spec(embedded.breast_cancer, samples=569),
    "quadratic": _Spec(embedded.quadratic, samples=4_000),
    "mnist": _Spec(idx.mnist, f"mnist/ with {_IDX_PUT}", (_MNIST_FILES,), 70_000, _MNIST),
    "mnist_by_writer": _Spec(
        idx.mnist_by_writer,
        f"mnist/ with {_IDX_PUT} and mnist_writer_ids.npz",
        _WRITER_LAYOUTS,
        70_000,
        _MNIST + _remotes("mnist", _WRITERS_GZ, _QMNIST),
    ),
    "fashion_mnist": _Spec(idx.fashion_mnist, f"fashion-mnist/ with {_IDX_PUT}", (_FASHION_FILES,), 70_000, _FASHION),
    "cifar10": _Spec(
        cifar.cifar10,
        "cifar-10-batches-bin/ or cifar-10-batches-py/ with all six batches",
        tuple(
            tuple(f"cifar-10-batches-{kind}/{file}" for file in files)
            for kind, files in (("bin", cifar.BINARY_MD5), ("py", cifar.PYTHON_MD5))
        ),
        60_000,
        (_CIFAR,),
    ),
    "cifar10_subset": _Spec(
        pictures.cifar10_subset,
        "cifar10_subset/cifar10_2k_1k.npz (x_train, y_train, x_test, y_test)",
        (("cifar10_subset*/*.npz",),),
        3_000,
        origin=_SUBSET_FROM,
    ),
    "femnist": _Spec(leaf.femnist, _LEAF_PUT.format("femnist"), (_leaf("femnist"),), origin=Origin(_LEAF)),
    "femnist_digits": _Spec(
        pictures.femnist_digits,
        "femnist_digits/femnist_digits_12clients.npz (x, y, client)",
        (("femnist_digits*/*.npz",),),
        5_997,
        origin=_DIGITS_FROM,
    ),
    "omniglot": _Spec(
        pictures.omniglot,
        "omniglot/omniglot_small_28.npz (x, y, drawer, class_names)",
        (("omniglot*/*.npz",),),
        4_840,
        origin=_OMNIGLOT_FROM,
    ),
    "pacs": _Spec(
        pictures.pacs, "pacs/*.parquet (image, domain, label)", (("pacs/*.parquet",),), 9_991, origin=_PACS_FROM
    ),
    "shakespeare": _Spec(
        language.shakespeare,
        f"{_LEAF_PUT.format('shakespeare')} or shakespeare/*.jsonl.gz (user, text)",
        (_leaf("shakespeare"), ("shakespeare/*.jsonl.gz",), ("shakespeare/*.jsonl",)),
        origin=_SHAKESPEARE_FROM,
    ),
    "sent140": _Spec(
        language.sent140,
        f"{_LEAF_PUT.format('sent140')} or sent140/*.csv.gz (user, text, label)",
        (_leaf("sent140"), ("sent140*/*.csv.gz",), ("sent140*/*.csv",)),
        origin=_SENT140_FROM,
    ),
    "financial_sentiment": _Spec(
        language.financial_sentiment,
        "financial_sentiment/ with financial_phrasebank*.csv, fiqa_task1*.csv, tfns_*.csv, nwgi*.csv (or .csv.gz)",
        (("financial_sentiment/*.csv*",),),
        origin=_FINANCE_FROM,
    ),
    "lumpy_skin": _Spec(
        tables.lumpy_skin,
        "lumpy_skin/lumpy_skin.csv (or .csv.gz)",
        (("lumpy_skin*/*.csv.gz",), ("lumpy_skin*/*.csv",)),
        24_803,
        (_LUMPY,),
    ),
}


class DatasetRow(NamedTuple):
    """What `fedabm data list` says of one set."""

    name: str
    state: str
    detail: str


def names() -> list[str]:
    """The sets that can be loaded."""
    return list(_SPECS)


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
    """Read a set; `options` are those of its reader, for instance `seed` of quadratic.

    >>> load_dataset("digits").shape
    (1, 8, 8)

    Parameters
    ----------
    name : str
        The set.
    folder : str | os.PathLike[str] | None, optional
        The folder of all data; None: the usual one.
    **options : Any
        Options of its reader, such as a seed.

    Returns
    -------
    Dataset
        The set.
    """
    spec, place = _spec(name), data_folder(folder)
    allowed = list(inspect.signature(spec.read).parameters)[1:]
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise InputError(f"{name} has no option {unknown[0]!r}; {nearest(unknown[0], allowed)}")
    if spec.layouts and not spec.files(place):
        more = f", or run `fedabm data get {name}`" if spec.remotes else ""
        raise InputError(f"{name} is not there; {spec.remedy(place)}{more} (FEDABM_DATA sets the folder)")
    return spec.read(place, **options)


def status(folder: str | os.PathLike[str] | None = None) -> list[DatasetRow]:
    """Which sets are there; files are looked for, not read.

    Parameters
    ----------
    folder : str | os.PathLike[str] | None, optional
        The folder of all data; None: the usual one.

    Returns
    -------
    list[DatasetRow]
        One row per set.
    """
    return [_row(name, spec, data_folder(folder)) for name, spec in _SPECS.items()]


def where_to_get(name: str) -> str:
    """Which files a set needs, whence they come and with which checksum, without a folder of this machine.

    >>> where_to_get("cifar10_subset")[:66]
    'put cifar10_subset/cifar10_2k_1k.npz (x_train, y_train, x_test, y_'

    Parameters
    ----------
    name : str
        The set.

    Returns
    -------
    str
        In one line.
    """
    spec = _spec(name)
    return f"run `fedabm data get {name}`" if spec.remotes else spec.wanted("the data folder")


def download(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    opener: Callable[..., Any] = open_url,
    progress: Progress = lambda name, done, total: None,
) -> Path:
    """Get the files of a set that are not there yet, each checked; the folder they are in.

    Parameters
    ----------
    name : str
        The set.
    folder : str | os.PathLike[str] | None, optional
        The folder of all data; None: the usual one.
    opener : Callable[..., Any], optional
        What opens an address.
    progress : Progress, optional
        Is told how far it has come.

    Returns
    -------
    Path
        The set's folder.
    """
    spec, place = _spec(name), data_folder(folder)
    if spec.layouts and not spec.files(place):
        if not spec.remotes:
            raise InputError(f"{name} has no public download with a checksum; {spec.remedy(place)}")
        for remote in spec.remotes:
            if not remote.there(place):
                fetch(remote, place, opener, progress)
    return place


def _spec(name: str) -> _Spec:
    if name not in _SPECS:
        raise InputError(f"unknown dataset {name!r}; {nearest(name, _SPECS)}")
    return _SPECS[name]


def _row(name: str, spec: _Spec, folder: Path) -> DatasetRow:
    count = f"{spec.samples:,} samples" if spec.samples else ""
    if not spec.layouts:
        return DatasetRow(name, "embedded", count)
    files = spec.files(folder)
    if files:
        return DatasetRow(name, "present", count or f"in {files[0].parent}")
    get = f"fedabm data get {name}, or " if spec.remotes else ""
    return DatasetRow(name, "missing", get + spec.remedy(folder))
