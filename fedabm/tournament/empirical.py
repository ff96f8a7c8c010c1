"""Payoffs of strategies in all mixtures, as a symmetric game.

Owners in a federation of N, in which c_k of them play strategy k, earn u_k(c) on average.  Among N - 1 others drawn
from the mixture x, strategy k earns

    f_k(x) = sum_o  (N-1)! / prod_j o_j!  prod_j x_j^o_j  u_k(o + e_k)

Walsh et al. 2002 and Wellman 2006 (empirical game-theoretic analysis).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError

__all__ = ["EmpiricalGame", "mixtures"]


def mixtures(owners: int, strategies: int) -> np.ndarray:
    """All ways (m, K) in which this many owners can be divided among this many strategies.

    >>> mixtures(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]

    Parameters
    ----------
    owners : int
        How many owners there are.
    strategies : int
        How many strategies.

    Returns
    -------
    np.ndarray
        Shape (mixtures, strategies): owners per strategy.
    """
    drawn = combinations_with_replacement(range(strategies), owners)
    return np.array([np.bincount(one, minlength=strategies) for one in drawn], dtype=np.intp).reshape(-1, strategies)


@dataclass(frozen=True, eq=False)
class EmpiricalGame:
    """What each strategy earns (m, K) in each of `mixtures(owners, K)`; not a number where nobody plays it.

    >>> game = EmpiricalGame(("hawk", "dove"), 2, [[-1.0, np.nan], [2.0, 0.0], [np.nan, 1.0]])
    >>> game.fitness([0.5, 0.5])
    array([0.5, 0.5])

    Parameters
    ----------
    strategies : Sequence[str]
        Names of the strategies.
    owners : int
        How many owners there are.
    payoffs : Any
        Shape (mixtures, strategies): what each strategy earns; nan where nobody plays it.
    """

    strategies: Sequence[str]
    owners: int
    payoffs: Any

    def __post_init__(self) -> None:
        table = np.asarray(self.payoffs, dtype=float)
        counts = mixtures(self.owners, len(self.strategies))
        if table.shape != counts.shape:
            wanted = f"{len(counts)} mixtures of {len(self.strategies)} strategies"
            raise InputError(f"payoffs of shape {table.shape} but {wanted}; give one row per mixture")
        if not np.all(np.isfinite(table[counts > 0])):
            raise InputError("a payoff of a strategy that is played is not a number; play every mixture")
        object.__setattr__(self, "strategies", tuple(self.strategies))
        object.__setattr__(self, "payoffs", table)

    @property
    def counts(self) -> np.ndarray:
        """How many owners play what (m, K)."""
        return mixtures(self.owners, len(self.strategies))

    @property
    def scale(self) -> float:
        """The difference between the largest and the smallest payoff."""
        return float(np.nanmax(self.payoffs) - np.nanmin(self.payoffs)) or 1.0

    def payoff(self, counts: Sequence[int], strategy: int) -> float:
        """What a strategy earns where this many owners play each."""
        return float(self.payoffs[self._places[tuple(int(one) for one in counts)], strategy])

    def fitness(self, mixture: Any) -> Array:
        """f_k(x) of one mixture (K,), or of many (b, K)."""
        return self.ahead(mixture) + self._least

    def ahead(self, mixture: Any) -> Array:
        """f_k(x) less the smallest payoff, so that a constant added to all payoffs takes no digits from differences."""
        x = np.asarray(mixture, dtype=float)
        others, ways, earned = self._among_others
        chance = ways * np.prod(x[..., None, :] ** others, axis=-1)
        return chance @ earned

    def mean(self, mixture: Any) -> Array:
        """What owners earn on average."""
        return np.sum(np.asarray(mixture) * self.fitness(mixture), axis=-1)

    def regret(self, mixture: Any) -> Array:
        """How much more the best strategy would earn than the mixture does; 0 in a symmetric Nash equilibrium."""
        ahead = self.ahead(mixture)
        return np.max(ahead, axis=-1) - np.sum(np.asarray(mixture) * ahead, axis=-1)

    @property
    def _least(self) -> float:
        """The smallest payoff."""
        return float(np.nanmin(self.payoffs))

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {tuple(row): place for place, row in enumerate(self.counts.tolist())}

    @cached_property
    def _among_others(self) -> tuple[np.ndarray, Array, Array]:
        """Mixtures of the others, in how many ways each comes, and what each strategy earns there, less the least."""
        others = mixtures(self.owners - 1, len(self.strategies))
        ways = [factorial(self.owners - 1) / prod(map(factorial, row)) for row in others.tolist()]
        more = np.eye(len(self.strategies), dtype=np.intp)
        earned = [[self.payoff(row + more[k], k) for k in range(len(more))] for row in others]
        return others, np.array(ways), np.array(earned) - self._least
