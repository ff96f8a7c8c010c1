"""Which parameters are tried: a design lists cells, and every cell is run with every seed.

    Grid(rate=[0.01, 0.02], owners=[5, 10])                      every combination
    Cells({"plain": {"rate": 0.0}, "bold": {"rate": 0.1}})        a list of named settings (or of scenarios)
    OneAtATime({"rate": 0.01, "owners": 5}, rate=[0.02, 0.04])    a baseline, and one change each

Designs drawn at random are in `fedabm.sweep.sampling`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.common.names import spelled
from fedabm.results.frames import shorten
from fedabm.simulation.scenario import Scenario
from fedabm.specs.written import written
from fedabm.sweep.seeds import MOST_RUNS

__all__ = ["Cell", "Cells", "Design", "Grid", "OneAtATime", "plain"]


@dataclass(frozen=True)
class Cell:
    """One setting of the parameters, and its name.

    Parameters
    ----------
    name : str
        What it is called.
    parameters : dict[str, Any]
        Values by parameter.
    seed : int | None, optional
        The only seed that it is run with; None: those of the sweep.
    """

    name: str
    parameters: dict[str, Any]
    seed: int | None = None


class Design(ABC):
    """A list of cells; `describe` is what the manifest says about it."""

    @abstractmethod
    def cells(self) -> list[Cell]:
        """The cells, in order."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The design in words and plain values."""


class Grid(Design):
    """Every combination of the values, the last parameter changing fastest.

    >>> [cell.name for cell in Grid(rate=[0.1, 0.2], owners=[5]).cells()]
    ['rate=0.1, owners=5', 'rate=0.2, owners=5']

    Parameters
    ----------
    axes : Mapping[str, Sequence[Any]] | None, optional
        Values by parameter.
    **more : Sequence[Any]
        The same, as keywords.
    """

    def __init__(self, axes: Mapping[str, Sequence[Any]] | None = None, /, **more: Sequence[Any]) -> None:
        self.axes = listed({**(axes or {}), **more})
        if not self.axes:
            raise InputError("the design is empty: no parameter varies; give lists, such as rate = [0.1, 0.2]")
        check_whole("number of cells", math.prod(map(len, self.axes.values())), high=MOST_RUNS)

    def cells(self) -> list[Cell]:
        settings = (dict(zip(self.axes, values, strict=True)) for values in itertools.product(*self.axes.values()))
        return [Cell(name_of(setting), setting) for setting in settings]

    def describe(self) -> dict[str, Any]:
        return {"kind": "grid", "parameters": written(self.axes)}


class Cells(Design):
    """Settings by name, each a table of parameters or a whole scenario; or an unnamed list of tables.

    Parameters
    ----------
    settings : Mapping[str, Any] | Sequence[Mapping[str, Any]]
        Tables of parameters, or scenarios, by name; or a list of tables.
    """

    def __init__(self, settings: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        named = settings.items() if isinstance(settings, Mapping) else [(None, one) for one in settings]
        self._cells = [_cell(name, given) for name, given in named]

    def cells(self) -> list[Cell]:
        return list(self._cells)

    def describe(self) -> dict[str, Any]:
        return {"kind": "cells", "cells": {cell.name: written(cell.parameters) for cell in self._cells}}


class OneAtATime(Design):
    """The baseline, and cells that differ from it in one parameter each.

    >>> [cell.name for cell in OneAtATime({"rate": 0.1}, rate=[0.1, 0.2]).cells()]
    ['baseline', 'rate=0.2']

    Parameters
    ----------
    baseline : Mapping[str, Any]
        One value per parameter.
    changes : Mapping[str, Sequence[Any]] | None, optional
        Further values by parameter.
    **more : Sequence[Any]
        The same, as keywords.
    """

    def __init__(
        self,
        baseline: Mapping[str, Any],
        changes: Mapping[str, Sequence[Any]] | None = None,
        /,
        **more: Sequence[Any],
    ) -> None:
        self.baseline, self.changes = dict(baseline), listed({**(changes or {}), **more})
        for name in self.changes:
            if name not in self.baseline:
                raise InputError(f"the baseline has no {name!r}, got {', '.join(self.baseline)}; give its usual value")

    def cells(self) -> list[Cell]:
        changed = [
            Cell(name_of({name: value}), {**self.baseline, name: value})
            for name, values in self.changes.items()
            for value in values
            if not _equal(value, self.baseline[name])
        ]
        return [Cell("baseline", self.baseline), *changed]

    def describe(self) -> dict[str, Any]:
        return {"kind": "one_at_a_time", "baseline": written(self.baseline), "parameters": written(self.changes)}


def listed(axes: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Each parameter with its list of values; a text or a single value is no list."""
    for name, values in axes.items():
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence | np.ndarray | range):
            raise InputError(f"the values of {name} must be a list, got {values!r}; write {name} = [{values!r}]")
        if not len(values):
            raise InputError(f"the list of {name} is empty; give at least one value")
    return {name: list(values) for name, values in axes.items()}


def name_of(setting: Mapping[str, Any]) -> str:
    """A readable name: rate=0.1, owners=5; six digits will do, as runs are told apart by their content."""
    return ", ".join(f"{name}={_short(value)}" for name, value in setting.items())


def plain(value: Any) -> Any:
    """Numbers, texts, lists and tables as they are; everything else as its text."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and len(value) <= 50:
        return [plain(item) for item in value]
    return shorten(spelled(value))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shorten(str(plain(value)), 60)


def _cell(name: str | None, given: Any) -> Cell:
    setting = {"scenario": given} if isinstance(given, Scenario) else given
    if not isinstance(setting, Mapping):
        raise InputError(f"a cell must be a table of parameters, got {given!r}; write {{'rate': 0.1}}")
    return Cell(name or name_of(setting), dict(setting))


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(np.all(one == other))
