"""Games in which everybody's payoff depends on all contributions together, with constants that are known exactly.

    a_i(s) = b_i . s - s' Q_i s / 2,     Q_i positive definite and not diagonal,     c_i(s_i) = r_i s_i^2

The theorems on stochastic best responses (Murhekar et al. 2025, Theorem 4.4 and Lemma 4.5) ask for bounds on second
derivatives over all profiles; here second derivatives are constant.  b_i is so large that payoffs never fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from fedabm.games.accuracy import Custom
from fedabm.games.costs import Power
from fedabm.games.curves import Array
from fedabm.mechanisms import Mechanism
from fedabm.solving.dynamics import direction, iteration_bound, step_size, stochastic_gradient
from fedabm.solving.game import Game

__all__ = ["CoupledCosts", "draw", "late", "slopes_of_slopes"]

_CAPACITY = 1.0


@dataclass(frozen=True, eq=False)
class Quadratics:
    """a_i at many profiles, (k, n) -> (k, n)."""

    linear: Array
    bend: Array

    def __call__(self, profiles: Array) -> Array:
        return profiles @ self.linear.T - 0.5 * np.einsum("kj,ijl,kl->ki", profiles, self.bend, profiles)


@dataclass(frozen=True, eq=False)
class CoupledCosts:
    """Q_i (n, n, n), b_i (n, n) and r_i (n,)."""

    bend: Array
    linear: Array
    rates: Array

    def game(self, mechanism: Mechanism) -> Game:
        """The game under a mechanism."""
        owners = len(self.rates)
        accuracy = Custom(Quadratics(self.linear, self.bend), owners, concave=True, monotone=True)
        return Game(accuracy, [Power(rate, 2.0) for rate in self.rates], _CAPACITY, mechanism)

    def without_payments(self) -> tuple[float, float]:
        """(lambda, L) of Theorem 4.4 for M^0, where G_ij = -Q_i[i, j] - 2 r_i [i = j]."""
        owners = np.arange(len(self.rates))
        matrix = -self.bend[owners, owners] - np.diag(2 * self.rates)
        return float(-np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[-1]), float(np.max(np.abs(matrix)))

    def shapley_shares(self) -> tuple[float, float]:
        """(n lambda_1 + lambda_2, 2 n L_1 + L_2) of Lemma 4.5, from the payoffs' and the costs' own constants."""
        owners = len(self.rates)
        concave = min(float(np.linalg.eigvalsh(one)[0]) for one in self.bend)
        strength = owners * concave + 2 * float(self.rates.min())
        return strength, 2 * owners * float(np.max(np.abs(self.bend))) + 2 * float(self.rates.max())


def draw(rng: np.random.Generator) -> CoupledCosts:
    """Two or three owners; drawn again until M^0 is strongly concave, too."""
    while True:
        owners = int(rng.integers(2, 4))
        roots = rng.normal(size=(owners, owners, owners)) / np.sqrt(owners)
        bend = 0.3 * np.einsum("ijk,ilk->ijl", roots, roots) + 0.5 * np.eye(owners)
        linear = _CAPACITY * np.maximum(bend, 0).sum(axis=2) + rng.uniform(0, 0.5, (owners, owners))
        found = CoupledCosts(bend, linear, rng.uniform(0.2, 0.6, owners))
        if found.without_payments()[0] > 0.3:
            return found


def slopes_of_slopes(game: Game, width: float = 0.2) -> Array:
    """The Jacobian, by differences as wide as you like: utilities are quadratic."""
    middle = np.full(game.owners, 0.5 * _CAPACITY)
    moves = width * np.eye(game.owners)
    return np.column_stack([(game.slopes(middle + move) - game.slopes(middle - move)) / (2 * width) for move in moves])


def late(
    rng: np.random.Generator, game: Game, strength: float, bound: float, active: int, precision: float = 1e-2
) -> float:
    """|g| / precision - 1 after as many steps as the theorem asks for: at most 0 if it holds."""
    start = rng.uniform(0, _CAPACITY, game.owners)
    step = step_size(strength, bound, game.owners, active)
    norm = float(np.linalg.norm(direction(game, start, step)))
    enough = iteration_bound(strength, bound, game.owners, norm, precision)
    end = next(islice(stochastic_gradient(game, start, step, active, rng), enough, None))
    return float(np.linalg.norm(direction(game, end, step))) / precision - 1.0
