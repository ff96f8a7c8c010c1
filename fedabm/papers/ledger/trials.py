"""Random instances, scenario tables and number formats that the rows of all papers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.costs import Power
from fedabm.mechanisms import Mechanism
from fedabm.papers.ledger.records import ROUNDS
from fedabm.papers.ledger.replays import rounds_of
from fedabm.papers.ledger.rows import Budget
from fedabm.solving.game import Game
from fedabm.study.drawn import closing_pictures
from fedabm.study.library import find
from fedabm.study.study import Study

__all__ = ["Tally", "agree", "close", "convex", "numbers", "play", "random_game", "trials"]


@dataclass(frozen=True)
class Tally:
    """By how much each random instance violates a statement; up to `tolerance` counts as rounding."""

    violations: tuple[float, ...]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether no instance violates it."""
        return self.good == len(self.violations) > 0

    @property
    def good(self) -> int:
        """How many instances satisfy it."""
        return int(np.sum(np.asarray(self.violations) <= self.tolerance))

    def __str__(self) -> str:
        worst = max(self.violations)
        size = "0" if worst <= 0 else f"{worst:.1e}"
        return f"{self.good} of {len(self.violations)} instances, largest violation {size}"


def trials(
    budget: Budget, violation: Callable[[np.random.Generator], float], tolerance: float = 1e-9, share: float = 1.0
) -> Tally:
    """Draw the budget's number of instances (or a share of it), each from its own seed, and measure the violations."""
    count = max(2, round(share * budget.instances))
    found = (float(violation(np.random.default_rng([8, turn]))) for turn in range(count))
    # What is not a number satisfies nothing.
    return Tally(tuple(np.inf if np.isnan(one) else one for one in found), tolerance)


def random_game(rng: np.random.Generator, mechanism: Mechanism, capacity: float = 1e4) -> Game:
    """Two to six owners with linear costs, one accuracy for all or three groups of owners."""
    owners, exponent = int(rng.integers(2, 7)), rng.uniform(0.3, 1.0)
    accuracy = PowerLaw(exponent=exponent)
    if rng.random() < 0.5:
        accuracy = GroupWeighted(rng.uniform(0.1, 1.0, (3, 3)), rng.integers(0, 3, owners), exponent=exponent)
    return Game(accuracy, rng.uniform(0.01, 0.3, owners), capacity, mechanism)


def convex(rng: np.random.Generator, mechanism: Mechanism) -> Game:
    """The same with strictly convex costs of random exponents."""
    game = random_game(rng, mechanism, 50.0)
    costs = [Power(rate, rng.uniform(1.0, 2.5)) for rate in game.costs.rate]
    return Game(game.accuracy, costs, 50.0, mechanism)


@cache
def play(name: str, seed: int = 0, **parameters: Any) -> dict[str, pd.DataFrame]:
    """The tables of a scenario run with its defaults but for these parameters, as `fedabm run` prints them.

    With those of single rounds, as a record has them.
    """
    script, study = find(name), Study(name, seed, quiet=True)
    with closing_pictures():
        script.run(study, **{**script.defaults, **parameters})
    return {**study.tables, ROUNDS: rounds_of(study)}


def numbers(values: Any, digits: int = 6) -> str:
    """A profile as text, without trailing zeros.

    >>> numbers([0.5, 2.0])
    '(0.5, 2)'
    >>> numbers(100.0, 0)
    '(100)'
    """
    shown = (_shortest(f"{value:.{digits}f}") for value in np.atleast_1d(values))
    return f"({', '.join('0' if text in ('-0', '') else text for text in shown)})"


def _shortest(text: str) -> str:
    """A number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def agree(values: Any, expected: Any, digits: int) -> bool:
    """Whether numbers agree with printed ones to the printed number of decimals."""
    return close(values, expected, 0.5000001 * 10.0**-digits)


def close(values: Any, expected: Any, width: float) -> bool:
    """Whether numbers agree within a width."""
    return bool(np.all(np.abs(np.asarray(values, dtype=float) - np.asarray(expected, dtype=float)) <= width))
