"""A game in a few lines of TOML.

    mechanism = "shapley_share"
    accuracy = { kind = "power_law", scale = 1.0, exponent = 1.0, offset = 1.0 }
    owners = { costs = [0.1, 0.25], capacity = 100 }

Mechanisms and accuracies go by their class names in snake_case; a table gives parameters beside the `kind`, a bare name
takes the defaults.  `costs` are numbers (linear costs) or tables such as { kind = "affine", rate = 0.1, fixed = 1.0 };
one cost is everyone's, with `count` owners.  `capacity` is one number for all, or a list.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedabm import mechanisms
from fedabm.common.errors import InputError, nearest
from fedabm.common.names import build, find, kinds, snake
from fedabm.games import accuracy
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.phased import Wrapping
from fedabm.games.costs import Affine, Cost, Linear, Power, Quadratic
from fedabm.solving.game import Game

__all__ = ["game_of", "read_game"]

_COSTS: dict[str, Callable[..., Cost]] = {snake(make.__name__): make for make in (Affine, Linear, Power, Quadratic)}
_PARTS = ("mechanism", "accuracy", "owners")
_OWNERS = ("costs", "capacity", "count")


def read_game(path: str | Path, mechanism: str | None = None) -> Game:
    """Read a game from a TOML file; `mechanism` (a name, or a table as in the file) replaces the one there."""
    return game_of(_load(Path(path)), mechanism)


def game_of(table: dict[str, Any], mechanism: str | None = None) -> Game:
    """The game that a parsed specification describes.

    >>> owners = {"costs": [0.1, 0.25], "capacity": 100}
    >>> game_of({"mechanism": "no_payments", "accuracy": "power_law", "owners": owners}).owners
    2
    """
    _check_keys(table, _PARTS, "the game")
    chosen = _chosen(table.get("mechanism"), mechanism)
    _require(table if chosen is None else {**table, "mechanism": chosen}, _PARTS, "the game")
    rule = _part(chosen, kinds(mechanisms), "mechanism")
    oracle = _part(table["accuracy"], _accuracies(), "accuracy")
    costs, capacity = _owners(table["owners"])
    return Game(oracle, costs, capacity, rule)


def _accuracies() -> dict[str, type]:
    """What a text file can name: all accuracies but those that wrap another one."""
    known = kinds(accuracy).items()
    return {name: one for name, one in known if issubclass(one, Accuracy) and not issubclass(one, Wrapping)}


def _load(path: Path) -> dict[str, Any]:
    try:
        return _parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the path of a TOML file") from None
    except UnicodeDecodeError:
        raise InputError(f"cannot read {path}: it is not UTF-8 text; give the path of a TOML file") from None


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not valid TOML: {str(error).splitlines()[0]}; correct it there") from None


def _chosen(given: Any, mechanism: str | None) -> Any:
    """The mechanism in the file, or the one that replaces it; parameters stay if the kind stays."""
    if mechanism is None:
        return given
    if mechanism.lstrip().startswith("{"):
        return _parse(f"mechanism = {mechanism}", "--mechanism")["mechanism"]
    same = isinstance(given, dict) and given.get("kind") == mechanism
    return given if same else mechanism


def _part(given: Any, choices: dict[str, Any], what: str) -> Any:
    """One object from its name, or from a table with its kind and parameters."""
    values = dict(given) if isinstance(given, dict) else {"kind": given}
    if "kind" not in values:
        raise InputError(f"{what} has no kind, got {', '.join(values) or 'nothing'}; {nearest('', choices)}")
    kind = values.pop("kind")
    return build(find(kind, choices, what), values, f"{what} {kind!r}")


def _owners(table: Any) -> tuple[list[Any], Any]:
    """Costs and capacity."""
    if not isinstance(table, dict):
        raise InputError(f"owners must be a table, got {table!r}; write owners = {{ costs = [0.1], capacity = 100 }}")
    _check_keys(table, _OWNERS, "owners")
    _require(table, ("costs", "capacity"), "owners")
    costs, count = table["costs"], table.get("count")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise InputError(f"count of owners must be a positive whole number, got {count!r}; give one")
    listed = costs if isinstance(costs, list) else [costs] * _count(count, table["capacity"])
    if count is not None and len(listed) != count:
        raise InputError(f"{len(listed)} costs but {count} owners; give one cost per owner, or one for all")
    capacity = table["capacity"]
    for number in capacity if isinstance(capacity, list) else [capacity]:
        _number("capacity", number)
    return [_cost(one) for one in listed], capacity


def _count(count: int | None, capacity: Any) -> int:
    """How many owners share one cost."""
    return count or (len(capacity) if isinstance(capacity, list) else 1)


def _cost(given: Any) -> Cost:
    """A number is the rate of a linear cost; a table names another kind."""
    return _part(given, _COSTS, "cost") if isinstance(given, dict) else Linear(_number("cost", given))


def _number(what: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise InputError(f"{what} must be a number, got {given!r}; give a number")
    try:
        return float(given)
    except OverflowError:
        raise InputError(f"{what} is too large a number; give one below 1e308") from None


def _check_keys(table: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {key!r} of {what}; {nearest(key, known)}")


def _require(table: dict[str, Any], needed: tuple[str, ...], what: str) -> None:
    for key in needed:
        if table.get(key) is None:
            raise InputError(f"{what} has no {key}, got {', '.join(table) or 'nothing'}; add {key} = ...")
