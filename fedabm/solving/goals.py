"""What a rule is tuned for: a measure of its equilibria, on one or more games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive, nearest
from fedabm.games.curves import Array
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game

__all__ = ["GOALS", "EquilibriumGoal"]


def _welfare_without_costs(game: Game, profile: Array) -> float:
    return float(np.sum(game.utilities(profile) + game.costs.value(profile)))


#: what can be asked of an equilibrium by name, the larger the better
GOALS: dict[str, Callable[[Game, Array], float]] = {
    "data": lambda game, profile: float(np.sum(profile)),
    "accuracy": lambda game, profile: float(np.mean(game.accuracies(profile))),
    "welfare": lambda game, profile: game.welfare(profile),
    "welfare without costs": _welfare_without_costs,
    "worst off": lambda game, profile: float(np.min(game.utilities(profile))),
}


@dataclass(frozen=True)
class EquilibriumGoal:
    """The mean over games of a measure in the equilibrium under a rule; nan where one of them is not solved.

    Parameters
    ----------
    measure : str or callable
        A name in `GOALS`, or a function of a game and a profile.
    games : iterable of Game
        Owners and their accuracies; whatever rule they have is replaced by the one that is asked about.
    tolerance : float
        What an owner may still gain by a change, as far as a search found, relative to the mean utility or 1e-6 units.

    Examples
    --------
    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import ContributionSubsidy, NoPayments
    >>> from fedabm.solving import tune
    >>> game = Game(PowerLaw(), [0.1, 0.1], 10, NoPayments())
    >>> found = tune(ContributionSubsidy, EquilibriumGoal("welfare", [game]), budget=30)
    >>> round(found.rule.rate, 2)  # the half of what the data cost, since the other owner gains as much
    0.05
    """

    measure: str | Callable[[Game, Array], float]
    games: Iterable[Game]
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if isinstance(self.measure, str) and self.measure not in GOALS:
            raise InputError(f"unknown goal {self.measure!r}; {nearest(self.measure, GOALS)}")
        check_positive("tolerance", self.tolerance)
        object.__setattr__(self, "games", tuple(self.games))
        for game in self.games:
            check_kind("game", game, Game)
        if not self.games:
            raise InputError("a goal needs games, got none; give at least one")

    def __call__(self, rule: Any) -> float:
        """The mean over the games."""
        return float(np.mean([self.of(replace(game, mechanism=rule)) for game in self.games]))

    def of(self, game: Game) -> float:
        """The measure in one game's equilibrium."""
        found = solve(game, tolerance=1e-8)
        scale = max(1.0, float(np.mean(np.abs(game.utilities(found.profile)))))
        if not found.gain <= self.tolerance * scale:
            return np.nan
        measure = GOALS[self.measure] if isinstance(self.measure, str) else self.measure
        return measure(game, found.profile)
