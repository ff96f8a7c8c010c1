"""Convergence bounds of best-response dynamics on random games that satisfy their assumptions."""

from __future__ import annotations

from itertools import islice, product

import numpy as np

from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Power
from fedabm.mechanisms import Mechanism
from fedabm.solving.dynamics import direction, iteration_bound, projected_gradient, step_size, stochastic_gradient
from fedabm.solving.game import Game

__all__ = ["within_bound"]


def within_bound(
    rng: np.random.Generator, mechanism: Mechanism, active: int | None = None, precision: float = 1e-3
) -> float:
    """|g| / precision - 1 after as many steps as the theorem asks for: at most 0 if the theorem holds.

    Quadratic costs and a small accuracy scale make the game strongly concave; lambda and L are taken at the corners of
    the box and widened by a tenth.  Murhekar et al. 2023, Theorem 3.2; 2025, Theorem 4.4 and Lemma 4.5.
    """
    owners, capacity = 3, 2.0
    costs = [Power(rate, 2.0) for rate in rng.uniform(0.4, 0.9, owners)]
    game = Game(PowerLaw(scale=rng.uniform(0.02, 0.06)), costs, capacity, mechanism)
    jacobians = [game.jacobian(np.array(corner)) for corner in product((0.0, capacity), repeat=owners)]
    strength = 0.9 * min(-np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[-1] for matrix in jacobians)
    bound = 1.1 * float(np.max(np.abs(jacobians)))
    start, step = rng.uniform(0, capacity, owners), step_size(strength, bound, owners, active)
    enough = iteration_bound(strength, bound, owners, float(np.linalg.norm(game.slopes(start))), precision)
    path = projected_gradient(game, start, step)
    if active is not None:
        path = stochastic_gradient(game, start, step, active, rng)
    end = next(islice(path, enough, None))
    return float(np.linalg.norm(direction(game, end, step))) / precision - 1.0
