"""The rules of a league, tuned by one budget on populations that are not judged; also under wrong assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedabm.common.bounds import bounds_of
from fedabm.common.errors import InputError
from fedabm.common.texts import readable
from fedabm.games.accuracy import Accuracy
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.simulation.owners import OwnerProfile
from fedabm.solving.game import Game
from fedabm.solving.goals import EquilibriumGoal
from fedabm.solving.metrics import budget
from fedabm.solving.tuning import tune

__all__ = ["games_of", "social_welfare", "tuned"]


def social_welfare(game: Game, profile: Any) -> float:
    """The sum of utilities less what the server pays: money that is handed round makes nobody better off."""
    return game.welfare(profile) - budget(game.payments(profile))


def games_of(people: Sequence[Sequence[OwnerProfile]], accuracy: Accuracy, costlier: float = 1.0) -> list[Game]:
    """The games that a server believes in, whose costs are a factor of the true ones."""
    games = []
    for owners in people:
        rates = np.array([one.cost.unit(np.zeros(1))[0] for one in owners])
        costs = PowerCost(costlier * rates, np.ones(len(rates)), np.zeros(len(rates)))
        games.append(Game(accuracy, costs, np.array([one.capacity for one in owners]), NoPayments()))
    return games


def tuned(rule: Mechanism, games: Sequence[Game], questions: int, seed: int = 0) -> tuple[Mechanism, str]:
    """The rule with the parameters that are best for social welfare in these games, and a word on what was done."""
    if not rule.promises or not bounds_of(rule):
        return rule, "no parameter is tuned"
    try:
        found = tune(rule, EquilibriumGoal(social_welfare, games), questions, seed)
    except InputError as error:
        return rule, f"not tuned: {error}"
    return found.rule, ", ".join(f"{name} = {_short(value)}" for name, value in found.parameters.items())


def _short(value: Any) -> str:
    return readable(value) if isinstance(value, float) else str(value)
