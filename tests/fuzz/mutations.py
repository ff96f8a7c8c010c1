"""Values that nobody expects, in places that something else is expected in."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

ODD_NUMBERS = (
    *(0, -1, 1, 2, -0.0, 0.5, 1e-300, -1e-300, 5e-324, 1e38, 1e100, 1e154, 1e300, 1.7e308, -1e300),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 12345678901234567890, 10**400),
    *(float("inf"), float("-inf"), float("nan")),
)
ODD_TEXTS = (
    *("", " ", "none", "None", "nan", "inf", "0", "1e5", "true", "kind", "a" * 3000, "\\", "'", '"'),
    *("\u202eevil", "Zürich 🙂", "a\nb", "\x00", "../../etc/passwd", "/", ":", "<b>", "=1+1", "--out", "%s{}$HOME"),
    *("os:system", "builtins:eval", "no_such.py:Thing", "fedabm:main", "fedabm.mechanisms:NoPayments"),
    *("power_law", "no_payments", "shapley_share", "best_response", "liar"),
)
ODD_OTHERS: tuple[Any, ...] = (
    *(True, False, [], {}, [[]], [{}], {"": 0}, [0.1] * 200),
    *({"kind": "power_law"}, {"kind": 3}, {"kind": {"kind": "x"}}),
    *([[0.1, 0.2], [0.3]], [float("nan")], [1, "a", [2]], {"low": 1, "high": 0}, {"a": {"b": {"c": {"d": 1}}}}),
)

Path = tuple[Any, ...]


def odd(rng: random.Random) -> Any:
    """Any odd value."""
    return copy.deepcopy(rng.choice(rng.choice((ODD_NUMBERS, ODD_TEXTS, ODD_OTHERS))))


def mutated(tree: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A copy with one to three changes."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(tree))
        if places:
            holder, key = rng.choice(places)
            rng.choice(_CHANGES)(holder, key, rng)
    return tree


def other_numbers(tree: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A copy in which one to three numbers are odd ones: what is most likely to be taken, and to lead somewhere odd."""
    tree = copy.deepcopy(tree)
    numbers = [(holder, key) for holder, key in _places(tree) if type(holder[key]) in (int, float)]
    for holder, key in rng.sample(numbers, min(len(numbers), rng.choice((1, 1, 2, 3)))):
        scaled = holder[key] * 10 ** rng.choice((rng.uniform(-1, 1), rng.uniform(-9, 9), rng.uniform(-99, 99)))
        holder[key] = rng.choice((rng.choice(ODD_NUMBERS), scaled, scaled, type(holder[key])(scaled)))
    return tree


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree, as its holder and its key or number there."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key, _ in items] + [place for _, inner in items for place in _places(inner)]


def _replace(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = odd(rng)


def _remove(holder: Any, key: Any, rng: random.Random) -> None:
    del holder[key]


def _add(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        holder[str(rng.choice(ODD_TEXTS)) or "x"] = odd(rng)
    else:
        holder.append(odd(rng))


def _wrap(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = rng.choice(([holder[key]], {"kind": holder[key]}, {"value": holder[key]}, str(holder[key])))


def _unwrap(holder: Any, key: Any, rng: random.Random) -> None:
    inner = holder[key]
    holder[key] = inner[0] if isinstance(inner, list) and inner else inner


def _rename(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        holder[str(key) + rng.choice(("s", "_", "é", " "))] = holder.pop(key)


def _scale(holder: Any, key: Any, rng: random.Random) -> None:
    number = isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
    holder[key] = holder[key] * rng.choice((-1, 0, 1e-9, 1e9, 1e30, 1e200)) if number else odd(rng)


_CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    *(_replace, _replace, _replace, _scale, _scale, _remove, _add, _wrap, _unwrap, _rename),
)


def broken(text: str, rng: random.Random) -> bytes:
    """The text with some bytes lost, doubled, or put in."""
    content = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content) + 1)
        what = rng.choice(
            (b"", b"\xff", b"\x00", b"[", b"]]", b"{", b"=", b'"', b"'''", b"\n", b"[" * 2000, b"1" * 5000)
        )
        content[place : place + rng.choice((0, 0, 1, 5, 50))] = what
    return bytes(content)


def toml(tree: Mapping[str, Any]) -> str:
    """A table as TOML, one key per line; also keys and numbers that nobody would write."""
    return "".join(f"{json.dumps(str(key))} = {_value(one)}\n" for key, one in tree.items())


def _value(one: Any) -> str:
    if isinstance(one, bool):
        return "true" if one else "false"
    if isinstance(one, str):
        return json.dumps(one).replace("\\u0000", "").replace("\x7f", "")
    if isinstance(one, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_value(inner)}" for key, inner in one.items()) + "}"
    if isinstance(one, list):
        return "[" + ", ".join(map(_value, one)) + "]"
    return repr(one)
