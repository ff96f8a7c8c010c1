"""A sweep in a few lines of TOML.

    scenario = "free_riding"       # or function = "package.module:build", or model = "package.module:Model"
    seeds = 20                     # or a list, or { count = 20, paired = false, root = 0 }

    [fixed]
    owners = 12

    [design]                       # kind: grid (unless stated), cells, random, latin_hypercube, sobol, one_at_a_time
    rate = [0.001, 0.01, 0.1]

Random designs take `count` and `seed` beside the kind, and beside lists also spans such as
`rate = { low = 0.001, high = 0.1, log = true }`; `cells` takes one table per named cell; `one_at_a_time` takes a table
`baseline`.  Where a parameter is annotated as mechanism, strategy or accuracy, its values are names in snake_case, or
tables with a `kind`.
"""

from __future__ import annotations

import sys
import tomllib
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedabm import accuracy, mechanisms, strategies
from fedabm.accuracy.base import Accuracy
from fedabm.errors import InputError, nearest
from fedabm.mechanisms import Mechanism
from fedabm.names import build, find, kinds
from fedabm.strategies import Strategy
from fedabm.sweep.designs import Cells, Design, Grid, OneAtATime
from fedabm.sweep.plan import Sweep
from fedabm.sweep.sampling import LatinHypercube, RandomDesign, Sobol, Span
from fedabm.sweep.seeds import Seeds
from fedabm.sweep.targets import Target, target_of

__all__ = ["read_sweep", "sweep_of"]

_TARGETS = ("scenario", "function", "model")
_KEYS = (*_TARGETS, "seeds", "steps", "fixed", "design")
_SAMPLED: dict[str, Callable[..., Design]] = {"random": RandomDesign, "latin_hypercube": LatinHypercube, "sobol": Sobol}
_DESIGNS = ("grid", "cells", "one_at_a_time", *_SAMPLED)
_PARTS: dict[Any, Any] = {Mechanism: mechanisms, Strategy: strategies, Accuracy: accuracy}


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep from a TOML file; modules are looked for beside it and in the current folder too."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the path of a TOML file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {str(error).splitlines()[0]}; correct it there") from None
    for entry in (str(path.resolve().parent), str(Path.cwd())):
        if entry not in sys.path:
            sys.path.append(entry)
    return sweep_of(table)


def sweep_of(table: Mapping[str, Any]) -> Sweep:
    """The sweep that a parsed specification describes.

    >>> len(sweep_of({"scenario": "free_riding", "seeds": 3, "design": {"rate": [0.1, 0.2]}}).jobs)
    6
    """
    _check_keys(table, _KEYS, "the sweep")
    target = _target(table)
    read = _Reader(target)
    fixed = read.setting(_table("fixed", table.get("fixed", {})))
    design = _design(_table("design", table.get("design", {})), read)
    return Sweep(target, design, _seeds(table.get("seeds", 1)), fixed, table.get("steps"))


def _target(table: Mapping[str, Any]) -> Target:
    given = [key for key in _TARGETS if key in table]
    if len(given) != 1:
        raise InputError(f"the sweep needs one of {', '.join(_TARGETS)}, got {', '.join(given) or 'none'}; give one")
    name = table[given[0]]
    if not isinstance(name, str) or (":" in name) == (given[0] == "scenario"):
        wanted = "the name of a scenario" if given[0] == "scenario" else "package.module:name"
        raise InputError(f"{given[0]} must be {wanted}, got {name!r}; see `fedabm list` or write where it is defined")
    target = target_of(name)
    kind = {"script": "scenario"}.get(target.kind, target.kind)
    if kind != given[0]:
        raise InputError(f"{name!r} is a {kind}, not a {given[0]}; write {kind} = {name!r}")
    return target


class _Reader:
    """Reads the values of parameters as the target's annotations want them."""

    def __init__(self, target: Target) -> None:
        self.target, self.hints = target, target.hints()

    def setting(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """One value per parameter."""
        return {name: self.value(name, given) for name, given in table.items()}

    def axes(self, table: Mapping[str, Any], *, spans: bool = False) -> dict[str, Any]:
        """A list of values (or a span) per parameter."""
        return {name: self._axis(name, given, spans) for name, given in table.items()}

    def _axis(self, name: str, given: Any, spans: bool) -> Any:
        self._check(name)
        if spans and isinstance(given, Mapping) and {"low", "high"} <= set(given):
            whole = {"whole": True} if self.hints.get(name) is int else {}
            return build(Span, {**whole, **given}, f"the span of {name}")
        if not isinstance(given, list):
            wanted = "a list or a span { low = ..., high = ... }" if spans else "a list"
            raise InputError(f"the values of {name} must be {wanted}, got {given!r}; write {name} = [...]")
        return [self.value(name, one) for one in given]

    def value(self, name: str, given: Any) -> Any:
        """One value, checked against the annotation if there is a simple one."""
        self._check(name)
        hint = self.hints.get(name)
        for kind, package in _PARTS.items():
            if isinstance(hint, type) and issubclass(hint, kind):
                return _part(name, given, kinds(package))
        if isinstance(given, list) and typing.get_origin(hint) is tuple:
            return tuple(given)
        if hint in (int, float, bool, str):
            _check_type(self.target.name, name, given, hint)
        return float(given) if hint is float else given

    def _check(self, name: str) -> None:
        if not self.target.takes(name):
            raise InputError(f"{self.target.name} has no parameter {name!r}; {nearest(name, self.target.parameters())}")


def _part(name: str, given: Any, choices: Mapping[str, Any]) -> Any:
    values = dict(given) if isinstance(given, Mapping) else {"kind": given}
    kind = values.pop("kind", None)
    nested = {key: _part(key, value, kinds(strategies)) if key == "truth" else value for key, value in values.items()}
    return build(find(kind, choices, name), nested, f"{name} {kind!r}")


def _check_type(what: str, name: str, given: Any, hint: type) -> None:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    good = {int: number and int(given) == given, float: number}.get(hint, isinstance(given, hint))
    if not good:
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[hint]
        raise InputError(f"{name} of {what} must be {wanted}, got {given!r}; give {wanted}")


def _design(table: Mapping[str, Any], read: _Reader) -> Design:
    rest = dict(table)
    kind = rest.pop("kind", "grid")
    if kind not in _DESIGNS:
        raise InputError(f"unknown kind of design {kind!r}; {nearest(str(kind), _DESIGNS)}")
    if kind == "cells":
        return Cells({name: read.setting(_table(f"cell {name}", given)) for name, given in rest.items()})
    if kind == "one_at_a_time":
        baseline = read.setting(_table("baseline", rest.pop("baseline", {})))
        return OneAtATime(baseline, read.axes(rest))
    if kind == "grid":
        return Grid(read.axes(rest))
    count, seed = rest.pop("count", None), rest.pop("seed", 0)
    if count is None:
        raise InputError(f"a {kind} design has no count; add for instance count = 64")
    return _SAMPLED[kind](read.axes(rest, spans=True), count, seed)


def _seeds(given: Any) -> Seeds:
    if isinstance(given, Mapping):
        _check_keys(given, ("count", "paired", "root"), "seeds")
        return build(Seeds, given, "seeds")
    return Seeds.of(given)


def _table(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a table, got {given!r}; write [{name}] and its entries below")
    return given


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {key!r} of {what}; {nearest(key, known)}")
