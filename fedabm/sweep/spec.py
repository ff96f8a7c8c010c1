"""A sweep in a few lines of TOML.

    scenario = "free_riding"       # or the path of a script, or function = "package.module:build", or model = ...
    device = "auto"                # where models train (may be left out): auto, cpu, cuda (workers share all), cuda:1
    seeds = 20                     # or a list, or { count = 20, paired = false, root = 0 }, or "until 0.01"

    [fixed]
    owners = 12

    [design]                       # kind: grid (unless stated), cells, random, latin_hypercube, sobol, one_at_a_time
    rate = [0.001, 0.01, 0.1]

Random designs take `count` and `seed` beside the kind, and beside lists also spans such as
`rate = { low = 0.001, high = 0.1, log = true }`; `cells` takes one table per named cell; `one_at_a_time` takes a table
`baseline`.  Values are read as the target's annotations want them (see `fedabm.specs.values`): a mechanism, strategy or
accuracy is a name in snake_case, or a table with a `kind`.  Paths, also in places such as "rules.py:Bounty", are looked
for beside the file and in the current folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedabm.common.confidence import ConfidenceIntervals
from fedabm.common.errors import InputError, nearest
from fedabm.common.until import Until
from fedabm.specs.games import is_study
from fedabm.specs.toml import read_toml
from fedabm.specs.values import Reader
from fedabm.sweep.designs import Cells, Design, Grid, OneAtATime
from fedabm.sweep.plan import Sweep
from fedabm.sweep.sampling import LatinHypercube, RandomDesign, Sobol
from fedabm.sweep.seeds import Seeds
from fedabm.sweep.targets import Target, target_of
from fedabm.sweep.values import Parameters

__all__ = ["read_sweep", "sweep_of"]

_TARGETS = ("scenario", "function", "model")
_KEYS = (*_TARGETS, "seeds", "noise", "steps", "device", "fixed", "design")
_SAMPLED: dict[str, Callable[..., Design]] = {"random": RandomDesign, "latin_hypercube": LatinHypercube, "sobol": Sobol}
_DESIGNS = ("grid", "cells", "one_at_a_time", *_SAMPLED)


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep from a TOML file; modules are looked for beside it and in the current folder too.

    Parameters
    ----------
    path : str | Path
        The file.

    Returns
    -------
    Sweep
        The sweep.
    """
    table, folder = read_toml(path), Path(path).resolve().parent
    for entry in (str(folder), str(Path.cwd())):
        if entry not in sys.path:
            sys.path.append(entry)
    return sweep_of(table, (folder,))


def sweep_of(table: Mapping[str, Any], folders: tuple[Path, ...] = ()) -> Sweep:
    """The sweep that a parsed specification describes.

    >>> len(sweep_of({"scenario": "free_riding", "seeds": 3, "design": {"rate": [0.1, 0.2]}}).jobs)
    6
    """
    if is_study(table) or "accuracy" in table:
        raise InputError("this is a study or a game, not a sweep: it says who plays; fedabm run or solve takes it")
    _check_keys(table, _KEYS, "the sweep")
    target = _target(table, folders)
    read = Parameters(target, folders)
    fixed = read.setting(_table("fixed", table.get("fixed", {})))
    design = _design(_table("design", table.get("design", {})), read)
    device = table.get("device", "auto")
    noise = ConfidenceIntervals(table.get("noise", "unknown")).noise
    return Sweep(target, design, _seeds(table.get("seeds", 1)), fixed, table.get("steps"), device, noise)


def _target(table: Mapping[str, Any], folders: tuple[Path, ...]) -> Target:
    given = [key for key in _TARGETS if key in table]
    if len(given) != 1:
        raise InputError(f"the sweep needs one of {', '.join(_TARGETS)}, got {', '.join(given) or 'none'}; give one")
    name = table[given[0]]
    if not isinstance(name, str) or (":" in name) == (given[0] == "scenario"):
        wanted = "the name or path of a scenario" if given[0] == "scenario" else "package.module:name"
        raise InputError(f"{given[0]} must be {wanted}, got {name!r}; see `fedabm list` or write where it is defined")
    target = target_of(name, folders)
    kind = {"script": "scenario"}.get(target.kind, target.kind)
    if kind != given[0]:
        raise InputError(f"{name!r} is a {kind}, not a {given[0]}; write {kind} = {name!r}")
    return target


def _design(table: Mapping[str, Any], read: Parameters) -> Design:
    rest = dict(table)
    kind = rest.pop("kind", "grid")
    if not isinstance(kind, str):
        raise InputError(f"the kind of a design must be a name, got {kind!r}; set a parameter called kind in cells")
    if kind not in _DESIGNS:
        raise InputError(f"unknown kind of design {kind!r}; {nearest(kind, _DESIGNS)}")
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


def _seeds(given: Any) -> Seeds | Until:
    if isinstance(given, str):
        return Until.read(given)
    if isinstance(given, Mapping):
        return Reader().make(Seeds, given, "seeds")
    return Seeds.of(given)


def _table(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a table, got {given!r}; write [{name}] and its entries below")
    return given


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {key!r} of {what}; {nearest(key, known)}")
