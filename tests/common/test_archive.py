"""Objects come back as they were, and nothing that an archive says is run."""

import contextlib
import enum
import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given as sampled
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fedabm.common.archive import Given, Unsaveable, pack, unpack
from fedabm.common.random import owner_streams
from fedabm.learning.engine import stored  # noqa: F401  tensors
from fedabm.learning.oracles.memory import MEMORY, AnswerCache
from fedabm.strategies import FixedShare

NOTHING = Given(())


def again(value, given=NOTHING):
    return unpack(pack(value, given), given)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers(), max_size=1)
    ),
    max_leaves=20,
)


@sampled(plain)
def test_plain_values_come_back(value):
    assert repr(again(value)) == repr(value)


numbers = arrays.arrays(
    arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, min_side=0), elements={"allow_subnormal": False}
)


@sampled(numbers, st.booleans())
def test_arrays_come_back_bit_by_bit_with_their_order(array, turned):
    array = array.T if turned else array
    found = again(array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes("C") == array.tobytes("C")
    assert found.flags.f_contiguous == array.flags.f_contiguous
    assert found.flags.writeable == array.flags.writeable


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    one: object
    other: object


@dataclass(frozen=True)
class Own:
    name: str
    content: object = None


def test_what_is_one_object_stays_one():
    shared = np.arange(3.0)
    found = again([shared, {"again": shared}, (shared,)])
    assert found[0] is found[1]["again"]
    assert found[0] is found[2][0]
    circle = []
    circle.append(circle)
    found = again(circle)
    assert found[0] is found


def test_objects_of_trusted_classes_come_back_without_being_called(monkeypatch):
    given = Given((Own("here"), Pair(1, 2), Colour.BLUE))
    value = [
        Own("a", Own("b")),
        Pair(1, Own("c")),
        Colour.RED,
        np.array([Own("d"), None]),
        FixedShare(0.5),
    ]
    content = pack(value, given)
    monkeypatch.setattr(Own, "__init__", None)
    monkeypatch.setattr(FixedShare, "__post_init__", None)
    assert repr(unpack(content, given)) == repr(value)


def test_generators_go_on_where_they_were():
    for kind in (np.random.PCG64, np.random.Philox, np.random.SFC64, np.random.MT19937):
        one = np.random.Generator(kind(7))
        one.integers(5, dtype=np.int32)
        other = again(one)
        assert other.random(9).tolist() == one.random(9).tolist()
        assert other.spawn(2)[1].random() == one.spawn(2)[1].random()
    streams = owner_streams(3, 4)
    streams.uniform()
    assert again(streams).uniform().tolist() == streams.uniform().tolist()


def test_tensors_come_back_with_their_strides():
    for tensor in (
        torch.randn(3, 4).T,
        torch.randn(4).expand(3, -1),
        torch.zeros(0),
        torch.tensor(2, dtype=torch.int8),
    ):
        found = again(tensor)
        assert torch.equal(found, tensor)
        assert found.stride() == tensor.stride()
        assert found.dtype == tensor.dtype
    parameter = again(torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)))
    assert isinstance(parameter, torch.nn.Parameter)
    assert parameter.requires_grad


def test_tensors_of_the_same_numbers_are_kept_once_and_come_back_apart():
    one = torch.arange(5000.0)
    found = again((one, one.clone(), one.reshape(50, 100), one + 1))
    assert [part.shape for part in found] == [(5000,), (5000,), (50, 100), (5000,)]
    assert len(pack((one, one.clone(), one.reshape(50, 100)), NOTHING)) < 1.1 * one.nbytes
    found[0].zero_()
    assert found[1].equal(one)
    assert found[2].flatten().equal(one)
    assert found[3].equal(one + 1)


def test_what_is_given_is_not_written_but_named():
    def function():
        pass

    root = Own("scenario", (function, np.zeros(10**6), Path("data")))
    own = Own("own", function)
    state = {"own": own, "large": root.content[1], "path": Path("data"), "root": root}
    content = pack(state, Given(root))
    assert len(content) < 1000
    fresh = Own("scenario", (function, np.zeros(10**6), Path("data")))
    found = unpack(content, Given(fresh))
    assert found["root"] is fresh
    assert found["large"] is fresh.content[1]
    assert found["own"] == own


@pytest.mark.parametrize(
    "value",
    [os.system, lambda: 0, functools.partial(os.system, "true"), Path("x"), os.environ, Own, Own("a"), object()],
)
def test_what_is_no_data_is_refused_when_it_is_written(value):
    with pytest.raises(Unsaveable):
        pack([value], NOTHING)


def archive(*nodes):
    return json.dumps({"root": [0], "nodes": nodes}).encode() + b"\n" + bytes(8)


@pytest.mark.parametrize(
    "node",
    [
        ["object", "os:system", {}],
        ["object", "posix:system", {}],
        ["object", "subprocess:Popen", None],
        ["object", "tempfile:TemporaryDirectory", [1]],
        ["class", "builtins:eval"],
        ["class", "fedabm.common.files:os"],
        ["class", "fedabm.common.files:write"],
        ["object", "fedabm.common.archive.given:sys.modules", [1]],
        ["class", "not_there:x"],
        ["class", "fedabm.not_there:x"],
        ["named", "fedabm.games.accuracy:PowerLaw", []],
        ["enum", "fedabm.games.accuracy:PowerLaw", "x"],
        ["given", ["__class__", "__init__"]],
        ["given", [3]],
        ["method", [1], "clear"],
        ["generator", "default_rng", {}, {}],
        ["array", "|O", [1], "C", False, [0, 8]],
        ["array", "<f8", [1], "C", False, [4, 8]],
        ["array", "<f8", [2], "C", False, [0, 8]],
        ["array", "<f8", [10**12], "C", False, [0, 8 * 10**12]],
        ["foreign", "nothing", []],
        ["foreign", "tensor", ["load", "cpu", [1], [1], [1], None, [1]]],
        ["value", 1],
        ["_values", 1],
        ["tuple", [[0]]],
        [],
        None,
    ],
)
def test_a_hostile_archive_runs_nothing(node, monkeypatch):
    monkeypatch.setattr(os, "system", None)
    with pytest.raises(ValueError, match=r"."):
        unpack(archive(node, ["dict", []]), NOTHING)


@sampled(st.binary(max_size=60), st.integers(0, 400))
def test_garbage_is_a_value_error(garbage, place):
    content = pack([Pair(1, np.arange(4)), {"a": owner_streams(1, 2)}], Given(Pair(1, 2)))
    with contextlib.suppress(ValueError):
        unpack(content[:place] + garbage + content[place:], Given(Pair(1, 2)))


def test_folders_of_ones_own_choice_are_not_written_to(tmp_path):
    """A memory of training writes into its folder; an archive cannot choose that."""
    memory = AnswerCache(tmp_path / "mine", "x")
    with pytest.raises(Unsaveable):
        pack(memory, NOTHING)
    with pytest.raises(Unsaveable):
        pack(memory, Given(Own("scenario", tmp_path / "mine")))
    restored = MEMORY.value(again(MEMORY.state(memory)))
    assert restored._folder is None
