"""PRIM, the patient rule induction method: the box of parameters in which most runs are hits.

Friedman and Fisher 1999, Bump hunting in high-dimensional data, Statistics and Computing 9, 123-143.  From a box of
all runs a twentieth is peeled off again and again, at the end of the parameter, or the category, whose loss raises the
share of hits most for each run that is lost.  Of all boxes on that way the one with the best F score is taken; its
limits are then moved in and out (their "pasting", by exact line searches) as long as that raises the score, and dropped
where they add next to nothing.

Written here since what there is would weigh more than it does: ema_workbench brings 29 MB and eleven packages, and PRIM
is under the GPL.

The F score 2 hits / (runs in the box + all hits) weighs precision (share of hits in the box) and recall (share of hits
that the box has) alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.arrays import Flags

__all__ = ["Box", "Limit", "f_score", "find_box"]

#: what is peeled off at once, as a share of the runs that are left, and the least share that a box keeps
_PEELED, _LEAST = 0.05, 0.02
#: a limit that adds less to the score than this is dropped
_IDLE = 0.01
#: numbers of a parameter with more different values lie between those that were run
_FEW = 40
_ROUNDS = 20


@dataclass(frozen=True)
class Limit:
    """What a box asks of one parameter: a number from `low` to `high`, or one of some `values`."""

    name: str
    low: float = -np.inf
    high: float = np.inf
    values: frozenset[str] | None = None

    def holds(self, column: pd.Series) -> Flags:
        """For which runs."""
        if self.values is not None:
            return column.isin(self.values).to_numpy()
        numbers = column.to_numpy(dtype=float)
        return (numbers >= self.low) & (numbers <= self.high)

    def ending(self, end: str, number: float) -> Limit:
        """The limit with another `low` or `high`."""
        return replace(self, low=number) if end == "low" else replace(self, high=number)

    def __str__(self) -> str:
        if self.values is not None:
            return f"{self.name} is {' or '.join(sorted(self.values))}"
        if np.isfinite(self.low) and np.isfinite(self.high):
            return f"{self.name} from {self.low:.4g} to {self.high:.4g}"
        return f"{self.name} >= {self.low:.4g}" if np.isfinite(self.low) else f"{self.name} <= {self.high:.4g}"


@dataclass(frozen=True)
class Box:
    """Limits on some parameters; without any it is the whole space."""

    limits: dict[str, Limit] = field(default_factory=dict)

    def holds(self, table: pd.DataFrame) -> Flags:
        """Which runs lie in it.

        Parameters
        ----------
        table : pd.DataFrame
            One row per run, one column per parameter.

        Returns
        -------
        array of bool
            One per run.
        """
        inside = np.ones(len(table), dtype=bool)
        for name, limit in self.limits.items():
            inside &= limit.holds(table[name])
        return inside

    def having(self, limit: Limit) -> Box:
        """The box with another limit."""
        return Box({**self.limits, limit.name: limit})

    def without(self, name: str) -> Box:
        """The box without the limit on a parameter."""
        return Box({key: one for key, one in self.limits.items() if key != name})

    def __str__(self) -> str:
        return " and ".join(map(str, self.limits.values())) or "everywhere"


def f_score(inside: Flags, hits: Flags) -> float:
    """2 hits in the box / (runs in the box + all hits); 0 where there is neither."""
    return 2.0 * float(np.sum(inside & hits)) / max(float(inside.sum() + hits.sum()), 1.0)


def find_box(table: pd.DataFrame, hits: Flags) -> Box:
    """The box with the best score that peeling and moving limits find.

    Parameters
    ----------
    table : pd.DataFrame
        One row per run and one column per parameter: numbers, or text for categories.
    hits : array of bool
        Which runs are looked for.

    Returns
    -------
    Box
        Without limits where no box is better than all runs.
    """
    box = _peeled(table, hits)
    for _ in range(_ROUNDS):
        moved = _moved(box, table, hits)
        if moved == box:
            break
        box = moved
    return _pruned(box, table, hits)


def _peeled(table: pd.DataFrame, hits: Flags) -> Box:
    """The best box on the way from all runs to few."""
    box, least = Box(), max(_LEAST * len(table), 5.0)
    best, score = box, f_score(np.ones(len(table), dtype=bool), hits)
    while True:
        inside = box.holds(table)
        steps = [(one, one.holds(table)) for one in _smaller(box, table[inside])]
        steps = [(one, kept) for one, kept in steps if kept.sum() >= least]
        if not steps or hits[inside].all() or not hits[inside].any():
            return best
        share, left = hits[inside].mean(), inside.sum()
        box, kept = max(steps, key=lambda step: (hits[step[1]].mean() - share) / (left - step[1].sum()))
        if f_score(kept, hits) > score:
            best, score = box, f_score(kept, hits)


def _smaller(box: Box, inside: pd.DataFrame) -> Iterator[Box]:
    """The box less a little, in every way."""
    for name, column in inside.items():
        limit = box.limits.get(str(name), Limit(str(name)))
        if _is_text(column):
            known = frozenset(column.unique())
            if len(known) > 1:
                yield from (box.having(replace(limit, values=known - {one})) for one in sorted(known))
            continue
        values = np.sort(column.to_numpy(dtype=float))
        cut = max(int(_PEELED * len(values)), 1)
        above, below = values[values > values[cut - 1]], values[values < values[-cut]]
        if len(above):
            yield box.having(replace(limit, low=float(above[0])))
        if len(below):
            yield box.having(replace(limit, high=float(below[-1])))


def _moved(box: Box, table: pd.DataFrame, hits: Flags) -> Box:
    """Every limit at the best place that it can have while the others stand."""
    for name, limit in list(box.limits.items()):
        rest = box.without(name).holds(table)
        if limit.values is not None:
            box = box.having(_best_values(limit, table[name], rest, hits))
        else:
            numbers = table[name].to_numpy(dtype=float)
            for end in ("low", "high"):
                box = box.having(_best_end(box.limits[name], end, numbers, rest, hits))
    return box


def _best_end(limit: Limit, end: str, numbers: np.ndarray, rest: Flags, hits: Flags) -> Limit:
    """The limit with one end where the score is best."""
    sign = 1.0 if end == "low" else -1.0
    other = rest & (numbers <= limit.high if end == "low" else numbers >= limit.low)
    if not other.any():
        return limit
    order = np.argsort(sign * numbers[other], kind="stable")
    values, first = np.unique(sign * numbers[other][order], return_index=True)
    caught = np.cumsum(hits[other][order][::-1])[::-1][first]  # hits from each value on
    count = other.sum() - first
    scores = 2.0 * caught / np.maximum(count + hits.sum(), 1)
    now = f_score(limit.holds(pd.Series(numbers)) & rest, hits)
    place = int(np.argmax(scores))
    if scores[place] <= now + 1e-12:
        return limit
    if place == 0:
        return limit.ending(end, -sign * np.inf)
    stepped = len(np.unique(numbers)) <= _FEW or bool(np.all(numbers == np.rint(numbers)))
    here = values[place] if stepped else 0.5 * (values[place] + values[place - 1])
    return limit.ending(end, float(sign * here))


def _best_values(limit: Limit, column: pd.Series, rest: Flags, hits: Flags) -> Limit:
    """The limit with a category more or less where that raises the score."""
    best, score = limit, f_score(limit.holds(column) & rest, hits)
    for one in sorted(column.unique()):
        trial = replace(limit, values=(limit.values or frozenset()) ^ {one})
        if trial.values and f_score(trial.holds(column) & rest, hits) > score + 1e-12:
            best, score = trial, f_score(trial.holds(column) & rest, hits)
    return best


def _pruned(box: Box, table: pd.DataFrame, hits: Flags) -> Box:
    """The box without limits that hardly matter, one after the other, and without ends that cut nothing off."""
    while box.limits:
        score = f_score(box.holds(table), hits)
        losses = {name: score - f_score(box.without(name).holds(table), hits) for name in box.limits}
        name = min(losses, key=lambda one: losses[one])
        if losses[name] > _IDLE:
            break
        box = box.without(name)
    for name, limit in list(box.limits.items()):
        for end, nothing in (("low", -np.inf), ("high", np.inf)):
            wider = box.having(box.limits[name].ending(end, nothing))
            if (
                limit.values is None
                and f_score(box.holds(table), hits) - f_score(wider.holds(table), hits) <= _IDLE / 2
            ):
                box = wider
    return box


def _is_text(column: Any) -> bool:
    return not pd.api.types.is_numeric_dtype(column)
