"""Content has the same digest wherever it is, and other content another one."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fedabm.common.digest import Content
from fedabm.learning.engine import stored  # noqa: F401  tensors
from fedabm.mechanisms import NoPayments


class Pair(NamedTuple):
    one: object
    other: object


@dataclass(frozen=True)
class Own:
    name: str
    content: object = None


def said(value):
    return Content.of(value).digest


def test_digests_tell_content_apart_and_nothing_else():
    same = said(Own("a", (np.arange(3), {"b": [1.0, None]})))
    shared = [1.0, None]
    assert said(Own("a", (np.arange(3), {"b": shared}))) == same
    assert said([shared, shared]) == said([[1.0, None], [1.0, None]])
    others = [
        Own("a", (np.arange(3.0), {"b": [1.0, None]})),
        Own("a", (np.array([0, 1, 3]), {"b": [1.0, None]})),
        Own("a", (np.arange(3), {"b": [1.5, None]})),
        Pair("a", (np.arange(3), {"b": [1.0, None]})),
        *({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        *(Path("a"), [], ()),
        *(partial(int, "1"), partial(int, "2")),
        (lambda: 1, lambda: 2),
        *(torch.ones(2), torch.zeros(2)),
    ]
    found = [said(other) for other in others]
    assert len({same, *found}) == len(others) + 1
    assert said(lambda: 1) != said(lambda: 2)


def test_what_holds_itself_has_a_digest():
    circle = []
    circle.append(circle)
    assert said(circle) != said([[]])


def test_the_modules_of_classes_and_functions_are_told():
    found = Content.of([Own("a", NoPayments()), np.sum]).modules
    assert {__name__, "fedabm.mechanisms.no_payments", "numpy"} <= found
