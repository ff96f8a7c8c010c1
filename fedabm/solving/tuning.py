"""The parameters of any rule for a goal, within the bounds that the rule states beside them.

One parameter: a grid over its bounds, then the range around every peak of the grid, best first, is divided further by
golden sections, so that of two peaks the higher one is found if the grid has a point on its slopes.  Several:
differential evolution (Storn and Price 1997, SciPy) for most of the budget and a simplex search (Nelder and Mead 1965)
from the best point for the rest, or the tree-structured Parzen estimator (Bergstra et al. 2011) of Optuna, an extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import differential_evolution, minimize

from fedabm.common.bounds import Bounds, bounds_of, start_of, written
from fedabm.common.errors import FedabmError, InputError, MissingExtraError, check_kind, check_whole, nearest

__all__ = ["Tuned", "tune"]

#: share of the budget that the grid of one parameter, and the global search of several, may take
_GRID, _GLOBAL = 0.5, 0.75
#: how far from the best of a grid a peak may be, as a share of the range of all values, and still be refined
_NEAR = 0.25
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True)
class Tuned:
    """The best rule that was tried.

    Attributes
    ----------
    rule : Any
        The rule with its best parameters.
    value : float
        What the goal says of it.
    parameters : dict
        The tuned parameters by name.
    trials : pandas.DataFrame
        One row per evaluation, in order: the parameters, the value and, where there is none, why.
    method : str
        How it was searched.
    """

    rule: Any
    value: float
    parameters: dict[str, float]
    trials: pd.DataFrame = field(repr=False, compare=False)
    method: str


def tune(
    rule: Any,
    goal: Callable[[Any], float],
    budget: int = 40,
    seed: int = 0,
    *,
    bounds: Mapping[str, Bounds | tuple[float, float]] | None = None,
    method: Literal["scipy", "optuna"] = "scipy",
) -> Tuned:
    """Find the parameters of a rule for which the goal is largest.

    Parameters
    ----------
    rule : object
        A mechanism, or any frozen dataclass whose fields state bounds (`fedabm.checks.within`), or its class.  What is
        given is tried first, so that the result is never worse.
    goal : callable
        From a rule to a number, the larger the better; nan or an `InputError` stands for a rule that is out of the
        question.
    budget : int
        How often the goal may be asked, at most.
    seed : int
        Of the search over several parameters; equal seeds give equal results.
    bounds : mapping, optional
        Other bounds, by name; with these only the parameters that are named are tuned.
    method : {"scipy", "optuna"}
        For several parameters.

    Returns
    -------
    Tuned
        The best rule, its value and all trials.  A rule without parameters is evaluated once.

    Raises
    ------
    InputError
        Where a name or method is unknown, or no trial has a value.

    Examples
    --------
    >>> from fedabm.mechanisms import ContributionSubsidy
    >>> found = tune(ContributionSubsidy, lambda rule: -((rule.rate - 0.02) ** 2), budget=60)
    >>> round(found.rule.rate, 3)
    0.02
    """
    check_whole("budget", budget)
    start = start_of(rule)
    ranges = _ranges(start, bounds)
    if method not in ("scipy", "optuna"):
        raise InputError(f"unknown method {method!r}; {nearest(method, ('scipy', 'optuna'))}")
    search = _Search(start, goal, ranges, budget)
    try:
        search.try_rule(start, {name: _value(start, name) for name in ranges})
        if len(ranges) == 1:
            _one(search)
        elif ranges:
            (_optuna if method == "optuna" else _several)(search, seed)
    except _SpentError:
        pass
    return search.result("grid" if len(ranges) == 1 else method if ranges else "no parameters")


class _SpentError(Exception):
    """The budget is used up."""


@dataclass
class _Search:
    """The trials so far."""

    start: Any
    goal: Callable[[Any], float]
    ranges: dict[str, Bounds]
    budget: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    rules: list[Any] = field(default_factory=list)
    known: dict[tuple[float, ...], float] = field(default_factory=dict)

    def at(self, parts: Sequence[float]) -> float:
        """The goal at parts in [0, 1] of all ranges; what has been tried costs nothing."""
        values = {name: one.at(float(part)) for (name, one), part in zip(self.ranges.items(), parts, strict=True)}
        key = tuple(values.values())
        if key not in self.known:
            try:
                rule = written(self.start, values)
            except FedabmError as error:
                self.known[key] = self._note(None, values, np.nan, str(error))
            else:
                self.known[key] = self.try_rule(rule, values)
        return self.known[key]

    def try_rule(self, rule: Any, values: Mapping[str, Any]) -> float:
        """The goal for a rule; minus infinity where it has none."""
        if len(self.rows) >= self.budget:
            raise _SpentError  # before the goal is asked
        try:
            return self._note(rule, values, float(self.goal(rule)), "")
        except FedabmError as error:
            return self._note(rule, values, np.nan, str(error))

    def _note(self, rule: Any, values: Mapping[str, Any], value: float, why: str) -> float:
        if len(self.rows) >= self.budget:
            raise _SpentError
        why = why or ("the goal has no value" if np.isnan(value) else "")
        self.rows.append({**values, "value": value, "why": why})
        self.rules.append(rule)
        return -np.inf if np.isnan(value) else value

    def result(self, method: str) -> Tuned:
        """The best trial, of equals the first."""
        trials = pd.DataFrame(self.rows)
        if trials["value"].isna().all():
            raise InputError(f"no trial of {len(trials)} has a value: {trials['why'].iloc[-1]}; look at the goal")
        best = int(trials["value"].fillna(-np.inf).to_numpy().argmax())
        rule = self.rules[best]
        found = {name: _value(rule, name) for name in self.ranges}
        return Tuned(rule, float(trials["value"].iloc[best]), found, trials, method)


def _ranges(start: Any, bounds: Mapping[str, Any] | None) -> dict[str, Bounds]:
    stated = bounds_of(start)
    if bounds is None:
        return stated
    for name in bounds:
        if name not in stated:
            known = nearest(name, stated) if stated else "it has none"
            raise InputError(f"{type(start).__name__} has no parameter {name!r} to tune; {known}")
    return {name: _bounds(one, stated[name]) for name, one in bounds.items()}


def _bounds(one: Any, stated: Bounds) -> Bounds:
    if isinstance(one, Bounds):
        return one
    check_kind("bounds", one, tuple)
    low, high = one
    return Bounds(low, high, stated.log and low > 0, stated.whole)


def _value(rule: Any, name: str) -> Any:
    for part in name.split("."):
        rule = getattr(rule, part)
    return rule


def _one(search: _Search) -> None:
    """A grid, then golden sections around its peaks, round by round."""
    points = max(3, round(_GRID * search.budget))
    grid = np.linspace(0.0, 1.0, points)
    values = np.array([search.at([part]) for part in grid])
    brackets = [_Bracket.around(search, grid, peak) for peak in _peaks(values)]
    while any(bracket.narrow() for bracket in brackets):
        pass


def _peaks(values: Any) -> list[int]:
    """The points of a grid that are no lower than their neighbours and near the best of all, best first."""
    edged = np.concatenate([[-np.inf], values, [-np.inf]])
    finite = values[np.isfinite(values)]
    enough = finite.max() - _NEAR * (finite.max() - finite.min()) if len(finite) else np.inf
    tops = np.flatnonzero((values >= edged[:-2]) & (values >= edged[2:]) & (values >= enough)).tolist()
    first = [top for top in tops if top == 0 or values[top - 1] != values[top]]  # of a plateau its first point
    return sorted(first, key=lambda top: -values[top])[:4]


@dataclass
class _Bracket:
    """A range with a peak in it, divided by golden sections."""

    search: _Search
    low: float
    high: float

    @classmethod
    def around(cls, search: _Search, grid: Any, peak: int) -> _Bracket:
        return cls(search, float(grid[max(peak - 1, 0)]), float(grid[min(peak + 1, len(grid) - 1)]))

    def narrow(self) -> bool:
        """One division; False once the range is too narrow to matter."""
        width = self.high - self.low
        if width < 1e-6:
            return False
        left, right = self.high - _GOLDEN * width, self.low + _GOLDEN * width
        if self.search.at([left]) >= self.search.at([right]):
            self.high = right
        else:
            self.low = left
        return True


def _several(search: _Search, seed: int) -> None:
    """Differential evolution, then a simplex search from its best point."""
    count, size = len(search.ranges), 4
    rounds = max(1, int(_GLOBAL * search.budget) // (size * count) - 1)
    lowest = 1e150  # what has no value is worse than any number, still comparable, and has a square

    def loss(parts: Any) -> float:
        return float(min(-search.at(np.clip(parts, 0.0, 1.0)), lowest))

    box = [(0.0, 1.0)] * count
    found = differential_evolution(loss, box, popsize=size, maxiter=rounds, tol=0.0, polish=False, seed=seed)
    minimize(loss, found.x, method="Nelder-Mead", bounds=box, options={"maxfev": search.budget, "xatol": 1e-6})


def _optuna(search: _Search, seed: int) -> None:
    """The tree-structured Parzen estimator."""
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("this needs Optuna; install it with: pip install 'fedabm[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def ask(trial: Any) -> float:
        return search.at([trial.suggest_float(name, 0.0, 1.0) for name in search.ranges])

    study.optimize(ask, n_trials=4 * search.budget, catch=())
