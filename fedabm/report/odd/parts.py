"""What a scenario consists of, read off its values: parts, their parameters, ranges over owners, data sets."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fedabm.common.docstrings import meanings_of
from fedabm.common.names import brief
from fedabm.report.odd.blocks import Block, Rows
from fedabm.simulation.scenario import Owners, Scenario

__all__ = ["datasets", "distinct", "named", "over_owners", "parameters", "parts_of", "ranged"]

#: parts of a scenario by their fields, in the order of a round
_PARTS = ("participation", "activation", "accuracy", "knowledge", "mechanism", "valuation", "stopping")
#: how far data may lie within an oracle
_DEEP = 6
#: how far parameters of parts within parts are told
_NESTED = 2
#: numbers of a row up to this many are listed, more of them as a range; texts are cut after this many characters
_LISTED, _LONG = 20, 600
#: how the samples and labels of a set of data are called: x and y, or those of its halves
_HALVES = ("", "_train", "_test")


def distinct(values: Sequence[Any]) -> list[Any]:
    """The values without those that are written alike.

    >>> distinct([1, 2, 1])
    [1, 2]
    """
    return list({repr(value): value for value in values}.values())


def parts_of(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """What plays together, each with the name of its family: strategies and costs of owners, then the rest."""
    people = Owners.of(scenario.owners)
    for strategy in people.strategy.values:
        yield from (("strategy", one) for one in _around(strategy))
    yield "cost", people.cost
    for name in _PARTS:
        yield name, scenario.knows if name == "knowledge" else getattr(scenario, name)


def _around(strategy: Any) -> Iterator[Any]:
    """A strategy, and the one that it lets act."""
    yield strategy
    if (truth := getattr(strategy, "truth", None)) is not None:
        yield from _around(truth)


def named(part: Any) -> str:
    """The class of a part."""
    return type(part).__name__


def parameters(part: Any) -> tuple[Block, ...]:
    """The parameters of a part with values and meanings, also of the parts within it; nothing where it has none."""
    shown = tuple(_rows(part, "", 0))
    return (Rows(("parameter", "value", "meaning"), shown),) if shown else ()


def _rows(part: Any, within: str, deep: int) -> Iterator[tuple[str, str, str]]:
    meanings = meanings_of(inspect.getdoc(type(part)) or "")
    for name, value in _stated(part).items():
        meaning = meanings.get(name, "")
        if deep < _NESTED and _stated(value):
            yield f"{within}{name}", named(value), meaning
            yield from _rows(value, f"{within}{name}.", deep + 1)
        else:
            yield f"{within}{name}", _written(value), meaning


def _stated(part: Any) -> dict[str, Any]:
    """The parameters of a part by name: its fields, or what it says of itself as `described`."""
    if not type(part).__module__.startswith("builtins") and isinstance(given := getattr(part, "described", None), dict):
        return given
    if not is_dataclass(part) or isinstance(part, type):
        return {}
    return {one.name: getattr(part, one.name) for one in fields(part) if one.repr}


def _written(value: Any) -> str:
    value = getattr(value, "array", value)  # of a table that is compared by its numbers
    if _is_numbers(value):
        several = 1 < len(value) <= _LISTED and value.min() < value.max()
        return ", ".join(f"{one:.6g}" for one in value) if several else ranged(value)
    words = re.sub(r"\s+", " ", brief(value))
    return words if len(words) <= _LONG else f"{words[:_LONG]} ... ({len(words) - _LONG:,} more characters)"


def _is_numbers(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0 and np.issubdtype(value.dtype, np.number)
    )


def ranged(values: np.ndarray) -> str:
    """A number for all owners, or from which to which with the mean.

    >>> ranged(np.array([2.0, 2.0])), ranged(np.array([1.0, 3.0]))
    ('2', '1 to 3, mean 2')
    """
    low, high = values.min(), values.max()
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}, mean {values.mean():.6g}"


def over_owners(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Private facts of the owners with their ranges."""
    people = Owners.of(scenario.owners)
    if is_dataclass(people.cost):
        for one in fields(people.cost):
            value = getattr(people.cost, one.name)
            yield f"cost: {one.name}", ranged(value) if _is_numbers(value) else _written(value)
    for name in ("capacity", "start", "eagerness", "joins", "budget"):
        yield name, ranged(np.asarray(getattr(people, name)))
    for name in ("strategy", "role"):
        coded = getattr(people, name)
        counts = np.bincount(coded.codes, minlength=len(coded.values))
        yield name, "; ".join(f"{count:,} x {_plain(one)}" for count, one in zip(counts, coded.values, strict=True))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else brief(value)


def datasets(scenario: Scenario) -> list[tuple[str, str, str]]:
    """The data that models train on: what, how much, and the beginning of a SHA-256 of its values."""
    return distinct(list(_data_in(scenario.accuracy, set(), 0)))


def _data_in(thing: Any, seen: set[int], deep: int) -> Iterator[tuple[str, str, str]]:
    if id(thing) in seen or deep > _DEEP:
        return
    seen.add(id(thing))
    pairs = [(getattr(thing, f"x{part}", None), getattr(thing, f"y{part}", None), part) for part in _HALVES]
    held = [(x, y, part) for x, y, part in pairs if isinstance(x, np.ndarray) and isinstance(y, np.ndarray)]
    if held:
        name = str(getattr(thing, "name", "") or type(thing).__name__)
        for x, y, part in held:
            digest = hashlib.sha256(np.ascontiguousarray(x).tobytes() + np.ascontiguousarray(y).tobytes()).hexdigest()
            yield f"{name}{part.replace('_', ', ')}", f"{len(x):,} samples of shape {tuple(x.shape[1:])}", digest[:16]
    elif type(thing).__module__.startswith("fedabm."):
        inside = [getattr(thing, one.name) for one in fields(thing)] if is_dataclass(thing) else list(_values(thing))
        for one in inside:
            yield from _data_in(one, seen, deep + 1)


def _values(thing: Any) -> Iterator[Any]:
    yield from getattr(thing, "__dict__", {}).values()
