"""Small populations, in which chance decides who is copied: the Moran process and alpha-rank.

In a population of M owners, l mutants s among residents r meet in federations of N drawn from it and earn f_s(l) and
f_r(l).  One owner copies another with Fermi's probability; the mutant takes over with probability

    rho = 1 / (1 + sum_{k=1}^{M-1} prod_{l=1}^{k} exp(-intensity (f_s(l) - f_r(l))))

Fudenberg and Imhof 2006; Traulsen, Nowak and Pacheco 2006.  Where mutants are rare the population is nearly always of
one kind, and goes from r to s with probability rho / (K - 1).  How long it stays with each strategy is alpha-rank:
Omidshafiei et al. 2019, "alpha-Rank: Multi-Agent Evaluation by Evolution".
"""

from __future__ import annotations

import numpy as np
from scipy.stats import hypergeom

from fedabm.common.arrays import Array
from fedabm.common.errors import check_positive, check_whole
from fedabm.tournament.empirical import EmpiricalGame

__all__ = ["alpha_rank", "fixation"]


def fixation(game: EmpiricalGame, population: int = 50, intensity: float = 10.0) -> Array:
    """rho (K, K): the chance that one mutant of the column takes over a population of the row; 1/M without selection.

    `intensity` is per range of payoffs.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    population : int, optional
        How many members the population has.
    intensity : float, optional
        Strength of selection, per range of payoffs.

    Returns
    -------
    Array
        Shape (strategies, strategies): row the residents, column the mutant.
    """
    chances = np.exp(_log_fixation(game, population, intensity))
    np.fill_diagonal(chances, np.nan)
    return chances


def _log_fixation(game: EmpiricalGame, population: int, intensity: float) -> Array:
    """log rho (K, K), -inf on the diagonal: with strong selection rho itself may be too small for a number."""
    check_whole("population", population, game.owners)
    check_positive("intensity", intensity, zero=True)
    kinds = range(len(game.strategies))
    return np.array(
        [[_takes_over(game, r, s, population, intensity) if r != s else -np.inf for s in kinds] for r in kinds]
    )


def alpha_rank(game: EmpiricalGame, population: int = 50, intensity: float = 10.0) -> Array:
    """The share of time (K,) that a population with rare mutants spends with each strategy.

    The stationary distribution by elimination without subtractions (Grassmann, Taksar and Heyman 1985), in logarithms:
    chances of 1e-20 and 1e-120 decide by their ratio, however small they are.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    population : int, optional
        How many members the population has.
    intensity : float, optional
        Strength of selection, per range of payoffs.

    Returns
    -------
    Array
        Share of time with each strategy.
    """
    rates = _log_fixation(game, population, intensity)
    kinds = len(rates)
    for last in range(kinds - 1, 0, -1):
        rates[:last, last] -= np.logaddexp.reduce(rates[last, :last])
        rates[:last, :last] = np.logaddexp(rates[:last, :last], rates[:last, last, None] + rates[last, :last])
    time = np.zeros(kinds)
    for one in range(1, kinds):
        time[one] = np.logaddexp.reduce(time[:one] + rates[:one, one])
    share = np.exp(time - time.max())
    return share / share.sum()


def _takes_over(game: EmpiricalGame, resident: int, mutant: int, population: int, intensity: float) -> float:
    """log rho."""
    mutants = range(1, population)
    gain = np.array([_advantage(game, resident, mutant, population, count) for count in mutants])
    lost = -np.cumsum(intensity * gain / game.scale)
    return -float(np.logaddexp.reduce(np.append(lost, 0.0)))


def _advantage(game: EmpiricalGame, resident: int, mutant: int, population: int, mutants: int) -> float:
    """f_s(l) - f_r(l): what a mutant earns more than a resident, in federations drawn from the population."""
    others = game.owners - 1
    met = np.arange(others + 1)
    by_mutant = hypergeom.pmf(met, population - 1, mutants - 1, others)
    by_resident = hypergeom.pmf(met, population - 1, mutants, others)
    earned = [_earned(game, resident, mutant, int(many)) for many in met]
    as_mutant, as_resident = np.array(earned).T
    return float(by_mutant @ as_mutant - by_resident @ as_resident)


def _earned(game: EmpiricalGame, resident: int, mutant: int, mutants: int) -> tuple[float, float]:
    """What a mutant and a resident earn beside this many mutants among their N - 1 partners."""
    counts = np.zeros(len(game.strategies), dtype=int)
    counts[mutant] += mutants
    counts[resident] += game.owners - 1 - mutants
    one = np.eye(len(counts), dtype=int)
    return game.payoff(counts + one[mutant], mutant), game.payoff(counts + one[resident], resident)
