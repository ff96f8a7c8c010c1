"""How large the steps may be, and how many are needed, when contributions and weights are learned together.

Doshi et al. 2025.  Theorem 1 (UPBReD) treats both sides alike: the n contributions take steps gamma with the constants
(n, lambda, L, P~) of Assumption 1, the m weights take steps eta with (m, lambda~, L~, P).  `DerivativeBounds` has
either set.  Theorem 2 and Corollary 1 (2P-UPBReD) count the steps of the two phases.  The bounds of Murhekar et al. are
in `fedabm.solving.dynamics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_positive, finite_vector
from fedabm.games.curves import Array

__all__ = [
    "DerivativeBounds",
    "accuracy_steps",
    "full_contribution_steps",
    "joint_steps",
    "step_bounds",
    "weight_steps",
]


@dataclass(frozen=True)
class DerivativeBounds:
    """One half of Assumption 1: `size` variables (contributions or weights) and the bounds on their derivatives.

    `strength` is lambda: G + lambda I is negative semi-definite; `bound` is L >= |G_ij|; `cross` is the norm P of the
    mixed derivatives by which this side's steps disturb the *other* side: P~ for contributions, P for weights.

    Parameters
    ----------
    size : int
        How many variables: contributions or weights.
    strength : float
        lambda: G + lambda I is negative semi-definite.
    bound : float
        L, no less than any |G_ij|.
    cross : float
        P, the norm of the mixed derivatives.
    """

    size: int
    strength: float
    bound: float
    cross: float

    def __post_init__(self) -> None:
        check_positive("number of variables", self.size)
        check_positive("strength of concavity", self.strength)
        check_positive("bound on second derivatives", self.bound)
        check_positive("bound on mixed derivatives", self.cross, zero=True)
        if self.strength > self.bound:
            raise InputError(
                f"strength {self.strength:g} exceeds the bound {self.bound:g}; |G_ii| >= lambda forbids that"
            )
        if self.strength <= self.cross:
            raise InputError(
                f"strength {self.strength:g} must exceed the mixed derivatives' {self.cross:g}; else no step is safe"
            )

    @property
    def largest_step(self) -> float:
        """The step size must be smaller: min{1, 1/P, 2 lambda / (n L)^2, (lambda - P) / ((n L)^2 - P^2)}.  Theorem 1.

        >>> round(DerivativeBounds(size=2, strength=0.5, bound=1.0, cross=0.25).largest_step, 6)
        0.063492
        """
        return float(np.min(step_bounds(self.size, self.strength, self.bound, self.cross)))

    def contraction(self, step: float) -> float:
        """W_1 or W_2 of eq. (6), sqrt(1 + step^2 (n L)^2 - 2 step lambda) + P step: below 1 for every allowed step.

        It stays below 1 up to twice the last of the four bounds, which the theorem leaves unused.
        """
        check_positive("step", step)
        square = 1.0 + (step * self.size * self.bound) ** 2 - 2.0 * step * self.strength
        return math.sqrt(max(square, 0.0)) + self.cross * step


def step_bounds(size: float, strength: Array | float, bound: float, cross: Array | float) -> Array:
    """The four bounds of Theorem 1 on the step, stacked: 1, 1/P, 2 lambda / (n L)^2, (lambda - P) / ((n L)^2 - P^2).

    Parameters
    ----------
    size : float
        How many variables.
    strength : Array | float
        lambda of Assumption 1.
    bound : float
        L of Assumption 1.
    cross : Array | float
        P of Assumption 1.

    Returns
    -------
    Array
        The four bounds, stacked along the first axis.
    """
    strength, cross = np.broadcast_arrays(np.asarray(strength, dtype=float), np.asarray(cross, dtype=float))
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.divide(1.0, cross)
    spread = (size * bound) ** 2
    return np.stack([np.ones(cross.shape), inverse, 2.0 * strength / spread, (strength - cross) / (spread - cross**2)])


def joint_steps(
    contributions: DerivativeBounds,
    weights: DerivativeBounds,
    gamma: float,
    eta: float,
    gradient: float,
    precision: float,
) -> int:
    """T_0 of eq. (6), ln(E / precision) / ln(1 / max(W_1, W_2)): from then on both gradients are below `precision`.

    `gradient` is E, the sum of the two gradients' norms at the start; gamma and eta must obey the bounds of Theorem 1.

    Parameters
    ----------
    contributions : DerivativeBounds
        Bounds on derivatives by contributions.
    weights : DerivativeBounds
        Bounds on derivatives by weights.
    gamma : float
        Step size of contributions.
    eta : float
        Step size of weights.
    gradient : float
        E, the sum of both gradients' norms at the start.
    precision : float
        What each norm may be in the end.

    Returns
    -------
    int
        The number of steps, T_0.
    """
    for name, side, step in (("gamma", contributions, gamma), ("eta", weights, eta)):
        if not 0 < step < side.largest_step:
            raise InputError(
                f"{name} must lie below {side.largest_step:.6g}, got {step:g}; take a smaller positive step"
            )
    slowest = max(contributions.contraction(gamma), weights.contraction(eta), 1e-300)
    return math.ceil(_logs(gradient, precision) / -math.log(slowest))


def full_contribution_steps(
    capacities: Array, starts: Array, gamma: float, subsidy: float, cost_slope: float, decline: float = 0.0
) -> int:
    """kappa of eq. (9): steps of phase 1 after which everyone contributes everything.

    max_i (capacity_i - start_i) / (gamma (beta - tau - zeta)), with beta = `subsidy`, zeta = `cost_slope` >= c_i' and
    tau = `decline` >= -d a_i / d s_i.  Lemma 1 needs beta > zeta + tau.

    >>> full_contribution_steps([5.0, 5.0], [1.0, 0.0], gamma=0.25, subsidy=1.0, cost_slope=0.04)
    21

    Parameters
    ----------
    capacities : Array
        How much data each owner has: one number per owner, or one for all.
    starts : Array
        What owners contribute at first, shape (owners,).
    gamma : float
        The owners' step size.
    subsidy : float
        beta, what a unit above the others' mean earns.
    cost_slope : float
        zeta, the largest marginal cost.
    decline : float, optional
        tau, by how much accuracy can fall with a further unit.

    Returns
    -------
    int
        The number of steps, kappa.
    """
    capacities, starts = finite_vector("capacities", capacities), finite_vector("starts", starts)
    check_positive("gamma", gamma)
    check_positive("bound on marginal costs", cost_slope, zero=True)
    check_positive("bound on falling accuracy", decline, zero=True)
    if subsidy <= cost_slope + decline:
        raise InputError(
            f"subsidy {subsidy:g} must exceed {cost_slope + decline:g}, the most a unit can cost; raise it"
        )
    missing = np.maximum(capacities - starts, 0.0)
    return math.ceil(float(np.max(missing)) / (gamma * (subsidy - cost_slope - decline)))


def accuracy_steps(smoothness: float, convexity: float, excess: float, precision: float) -> int:
    """T_0 of eq. (9) with eta = 1/M: steps of phase 2 after which the mean accuracy is within `precision` of the best.

    The smallest T_0 > ln(excess / precision) / ln(1 / (1 - nu/M)), M = `smoothness`, nu = `convexity`, `excess` the
    lack of accuracy at the start.  The paper asks for M > nu; Example 1 has M = nu and arrives in one step.

    Parameters
    ----------
    smoothness : float
        M, the largest curvature.
    convexity : float
        nu, the least curvature.
    excess : float
        What the accuracy lacks at the start.
    precision : float
        What it may lack in the end.

    Returns
    -------
    int
        The number of steps, T_0.
    """
    return _steps(_logs(excess, precision), 1.0 - _condition(smoothness, convexity))


def weight_steps(smoothness: float, convexity: float, distance: float, precision: float) -> int:
    """Corollary 1 with eta = 2/(M + nu): steps of phase 2 after which the weights are within `precision` of the best.

    The smallest T_0 > ln(distance / precision) / ln((1 + nu/M) / (1 - nu/M)), `distance` from the best at the start.

    Parameters
    ----------
    smoothness : float
        M, the largest curvature.
    convexity : float
        nu, the least curvature.
    distance : float
        How far the weights are from the best at the start.
    precision : float
        How far they may be in the end.

    Returns
    -------
    int
        The number of steps, T_0.
    """
    ratio = _condition(smoothness, convexity)
    return _steps(_logs(distance, precision), (1.0 - ratio) / (1.0 + ratio))


def _condition(smoothness: float, convexity: float) -> float:
    """nu / M."""
    check_positive("smoothness", smoothness)
    check_positive("convexity", convexity)
    if convexity > smoothness:
        raise InputError(f"convexity {convexity:g} exceeds smoothness {smoothness:g}; nu <= M always holds")
    return convexity / smoothness


def _logs(start: float, precision: float) -> float:
    """ln(start / precision), 0 if the start is precise enough."""
    check_positive("precision", precision)
    check_positive("distance at the start", start, zero=True)
    return math.log(start / precision) if start > precision else 0.0


def _steps(needed: float, factor: float) -> int:
    """The smallest T with T > needed / ln(1 / factor)."""
    if needed == 0 or factor == 0:
        return int(needed > 0)
    return math.floor(needed / -math.log(factor)) + 1
