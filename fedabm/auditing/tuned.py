"""The rules of a league, tuned by one budget on populations that are not judged; also under wrong assumptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from fedabm.views import Reports

__all__ = ["NO_PARAMETER", "asks", "games_of", "rations", "searched", "social_welfare", "tuned"]

#: what is said of a rule that has nothing to tune
NO_PARAMETER = "it has no parameter"


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
    """The rule with its best parameters in these games, and a word on what was done.

    The goal is social welfare; a rule that rations models is there to collect data, and is tuned for that (Karimireddy
    et al. 2022), since welfare alone would have it ration nobody; a rule that asks for data is judged by what it asks.
    """
    if not bounds_of(rule):
        return rule, NO_PARAMETER
    if asks(rule, games[0]):
        return searched(rule, lambda one: float(np.mean([_as_asked(one, game) for game in games])), questions, seed)
    if not rations(rule, games[0]):
        return searched(rule, EquilibriumGoal(social_welfare, games), questions, seed)
    best, words = searched(rule, EquilibriumGoal("data", games), questions, seed)
    return best, f"{words} (for data)"


def searched(start: Any, goal: Callable[[Any], float], questions: int, seed: int = 0) -> tuple[Any, str]:
    """What is best for a goal, and its parameters in words; what is given if nothing that was tried has a value."""
    try:
        found = tune(start, goal, questions, seed)
    except InputError as error:
        return start, f"not tuned: {error}"
    return found.rule, ", ".join(f"{name} = {_short(value)}" for name, value in found.parameters.items())


def asks(rule: Mechanism, game: Game) -> bool:
    """Whether the rule tells owners how much to contribute."""
    return rule.quotas(_reports(rule, game)) is not None


def rations(rule: Mechanism, game: Game) -> bool:
    """Whether the rule may hand out less than the full model."""
    offers = rule.offers(game.accuracy.public, _reports(rule, game))
    return offers.received is not offers.accuracy


def _reports(rule: Mechanism, game: Game) -> Reports:
    """Everybody gives half of its data."""
    return Reports(0.5 * game.capacities, game.capacities, game.costs if rule.asks_cost else None)


def _as_asked(rule: Mechanism, game: Game) -> float:
    """Social welfare where everybody gives what the rule asks for in the first round."""
    asked = np.asarray(rule.quotas(_reports(rule, game)))
    return social_welfare(replace(game, mechanism=rule), asked)


def _short(value: Any) -> str:
    return readable(value) if isinstance(value, float) else str(value)
