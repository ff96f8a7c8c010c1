"""Federations of all mixtures of strategies, on the same owners and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, check_kind, check_whole
from fedabm.common.random import generator
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import Strategy
from fedabm.tournament.empirical import EmpiricalGame, mixtures

__all__ = ["Tournament", "play"]

#: draws the owners of a federation; what they play is decided by the tournament
Draw = Callable[[np.random.Generator], Sequence[OwnerProfile]]


@dataclass(frozen=True, eq=False)
class Tournament:
    """What strategies earned (seeds, m, K) in all mixtures; not a number where nobody plays one.

    Parameters
    ----------
    strategies : tuple[str, ...]
        Names of the strategies.
    owners : int
        How many owners there are.
    earned : Array
        Shape (seeds, mixtures, strategies): mean utilities; nan where nobody plays one.
    """

    strategies: tuple[str, ...]
    owners: int
    earned: Array

    @property
    def game(self) -> EmpiricalGame:
        """The game of mean payoffs over all seeds."""
        return EmpiricalGame(self.strategies, self.owners, self.earned.mean(axis=0))

    @property
    def games(self) -> list[EmpiricalGame]:
        """One game per seed: how much chance there is in it."""
        return [EmpiricalGame(self.strategies, self.owners, one) for one in self.earned]


def play(
    scenario: Scenario,
    strategies: Sequence[Strategy],
    seeds: int = 5,
    *,
    draw: Draw | None = None,
    first: int = 0,
    track: Callable[[Sequence[tuple[int, int]]], Iterable[tuple[int, int]]] | None = None,
) -> Tournament:
    """Run the scenario with every mixture of the strategies in place of its owners' own, with every seed.

    `draw` makes other owners for each seed.  Which owner plays what is drawn, too, once per seed, so that mixtures are
    compared on the same owners.  What a strategy earns is the mean utility of its owners in the second half of the run.

    Parameters
    ----------
    scenario : Scenario
        What is run; its owners' strategies are replaced.
    strategies : Sequence[Strategy]
        What meets what.
    seeds : int, optional
        How many seeds.
    draw : Draw | None, optional
        Makes the owners of a seed; by default the scenario's own.
    first : int, optional
        The first seed.
    track : Callable[[Sequence[tuple[int, int]]], Iterable[tuple[int, int]]] | None, optional
        Goes through pairs of seed and mixture, such as a progress bar.

    Returns
    -------
    Tournament
        What strategies earned.
    """
    check_kind("scenario", scenario, Scenario)
    check_whole("seeds", seeds)
    if len(strategies) < 2 or len({one.label for one in strategies}) < len(strategies):
        got = ", ".join(one.label for one in strategies) or "none"
        raise InputError(f"a tournament needs two or more strategies with different labels, got {got}; give others")
    n = len(scenario.owners)
    counts = mixtures(n, len(strategies))
    earned = np.full((seeds, *counts.shape), np.nan)
    rounds = [(seed, row) for seed in range(seeds) for row in range(len(counts))]
    for seed, row in rounds if track is None else track(rounds):
        rng = generator(first + seed, "population")
        people = list(scenario.owners if draw is None else draw(rng))
        order = rng.permutation(n)
        played = np.repeat(np.arange(len(strategies)), counts[row])
        for owner, kind in zip(order.tolist(), played.tolist(), strict=True):
            people[owner] = replace(people[owner], strategy=strategies[kind])
        utility = _lasting_utility(Federation(replace(scenario, owners=tuple(people)), first + seed))
        for kind in np.unique(played):
            earned[seed, row, kind] = utility[order[played == kind]].mean()
    return Tournament(tuple(one.label for one in strategies), n, earned)


def _lasting_utility(model: Federation) -> Array:
    """Everybody's mean utility in the second half of the run; what has come to rest stays as it is."""
    seen = []
    while model.running:
        model.step()
        seen.append(model.population.utility.copy())
    if model.at_rest:
        return seen[-1]
    return np.mean(seen[len(seen) // 2 :], axis=0)
