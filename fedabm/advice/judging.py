"""A rule in the certified equilibria of all draws, many games at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedabm.advice.consortium import Consortium
from fedabm.common.arrays import Array, Flags
from fedabm.comparison.wanted import Goal
from fedabm.games.money import net_welfare, outside_money
from fedabm.mechanisms import Mechanism
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.many import solve_many
from fedabm.solving.several import solve_all

__all__ = ["GOALS", "Judge", "Outcomes"]

#: what an owner may still gain, as a share of what the model is worth
_TOLERANCE = 1e-10
#: seconds for a game that is solved by itself
_TIME = 20.0


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a rule brings in some `draws`, (draws, owners) each; nan where no equilibrium is certified."""

    draws: tuple[int, ...]
    contributions: Array
    payments: Array
    utilities: Array
    accuracies: Array

    @property
    def certified(self) -> Flags:
        """In which draws the equilibrium is proven."""
        return ~np.isnan(self.utilities[:, 0])

    @property
    def outside(self) -> Array:
        """Money from outside, (draws,)."""
        return np.asarray(outside_money(self.payments))

    @property
    def net(self) -> Array:
        """Welfare without it."""
        return np.asarray(net_welfare(self.utilities, self.payments))


#: what is to be large, per draw, net of money from outside, which is shared by all where one owner is looked at
GOALS: dict[Goal, Callable[[Outcomes], Array]] = {
    "welfare": lambda one: one.net,
    "data": lambda one: one.contributions.sum(axis=1),
    "accuracy": lambda one: one.accuracies.mean(axis=1),
    "least served": lambda one: one.utilities.min(axis=1) - one.outside / one.utilities.shape[1],
}


@dataclass(eq=False)
class Judge:
    """Solves the games of a consortium under rules, and counts how many."""

    consortium: Consortium
    solved: int = 0
    known: dict[tuple[Mechanism, tuple[int, ...]], Outcomes] = field(default_factory=dict, repr=False)

    def outcomes(self, rule: Mechanism, draws: Sequence[int] | None = None) -> Outcomes:
        """What the rule brings in these draws (none: in all)."""
        places = tuple(range(self.consortium.draws)) if draws is None else tuple(draws)
        if (rule, places) not in self.known:
            stake = float(np.mean(self.consortium.stakes))
            games = self.consortium.under(rule, places)
            found = solve_many(games, tolerance=max(_TOLERANCE * stake, 1e-12), time_limit=_TIME)
            self.solved += len(places)
            self.known[rule, places] = _table(places, found, self.consortium)
        return self.known[rule, places]

    def worst(self, rule: Mechanism, outcomes: Outcomes, goal: Goal) -> tuple[float, str]:
        """The goal at the worst equilibrium of the central game, and how many equilibria there are, in words."""
        game = self.consortium.central.under(rule)
        several = solve_all(game, time_limit=_TIME)
        known = [one for one in several.every if one.converged]
        if not known:
            return np.nan, "no equilibrium is certified where every number is in the middle"
        central = _table((0,) * len(known), known, self.consortium)
        values = GOALS[goal](central)
        number = {True: "it is the only one", False: "the worst of them is shown", None: "others may exist"}
        return float(
            values.min()
        ), f"{len(known)} certified where every number is in the middle; {number[several.unique]}"


def _table(places: Sequence[int], found: Sequence[Equilibrium | Exception], consortium: Consortium) -> Outcomes:
    empty = np.full(consortium.owners, np.nan)
    good = [one if isinstance(one, Equilibrium) and one.converged else None for one in found]
    columns = [
        np.array([empty if one is None else getattr(one, name) for one in good])
        for name in ("profile", "payments", "utilities", "accuracies")
    ]
    factors = consortium.factors[list(places)]
    columns[3] = np.divide(columns[3], factors, out=np.zeros_like(factors), where=factors > 0)
    return Outcomes(tuple(places), *columns)
