"""The p-mean of utilities, and the contributions that make it largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from fedabm.accuracy.base import Accuracy
from fedabm.costs import Cost, stack
from fedabm.curves import Array
from fedabm.errors import InputError, check_positive, finite_vector

__all__ = ["Optimum", "p_mean_welfare", "welfare_optimum"]


class Optimum(NamedTuple):
    """The contributions that maximise welfare, and the welfare there (normalised p-mean)."""

    profile: Array
    welfare: float


def p_mean_welfare(utilities: Array, p: float = 1.0, normalised: bool = True) -> float:
    """The p-mean of the utilities, for any p <= 1.

        W_p(u) = (1/n sum_i u_i^p)^(1/p)

    Murhekar et al. 2023, Section 1: p = 1 is the mean, p = 0 the geometric mean (Nash welfare), p = -inf the minimum.
    With `normalised=False` the form printed in Section 4, (sum_i u_i^p)^(1/p), whose case p = 0 is the Nash product.
    Utilities must not be negative unless p = 1; one utility of zero makes every mean with p <= 0 zero.

    >>> p_mean_welfare([1.0, 4.0], p=0), p_mean_welfare([1.0, 4.0], p=0, normalised=False)
    (2.0, 4.0)
    """
    u = _checked(utilities, p)
    if p == 1:
        return float(u.mean() if normalised else u.sum())
    if p == -np.inf:
        return float(u.min())
    if np.all(u == 0) or (p <= 0 and np.any(u == 0)):
        return 0.0
    log_mean, missing = _log_mean(np.log(u[u > 0]), p), np.log(np.mean(u > 0))
    with np.errstate(over="ignore", divide="ignore"):
        if p == 0:
            return float(np.exp(log_mean if normalised else len(u) * log_mean))
        share = missing if normalised else missing + np.log(len(u))
        return float(np.exp(log_mean + np.divide(share, p) if share else log_mean))


def _checked(utilities: Array, p: float) -> Array:
    u = finite_vector("utilities", utilities)
    if not p <= 1:
        raise InputError(f"p must be at most 1, got {p:g}; use 1 (mean), 0 (Nash welfare) or -inf (minimum)")
    if u.size == 0:
        raise InputError("no utilities: got an empty list; give at least one owner")
    if p != 1 and np.any(u < 0):
        raise InputError(f"the {p:g}-mean needs utilities of at least 0, got {u.min():g}; use p=1 for losses")
    return u


def _log_mean(logs: Array, p: float) -> float:
    """log of the p-mean of numbers given by their logs, without cancellation near p = 0 and overflow for large |p|."""
    middle = logs.mean()
    if abs(p) < 1e-290:
        return float(middle)
    if abs(p) * np.ptp(logs) < 1:
        return float(middle + np.log1p(np.mean(np.expm1(p * (logs - middle)))) / p)
    leading = logs.max() if p > 0 else logs.min()
    with np.errstate(over="ignore"):
        return float(leading + np.log(np.mean(np.exp(p * (logs - leading)))) / p)


def welfare_optimum(
    accuracy: Accuracy, costs: Cost | Sequence[Cost], capacities: Array, p: float = 1.0, starts: int = 4
) -> Optimum:
    """The profile of contributions that maximises the p-mean of u_i(s) = a_i(s) - c_i(s_i) over [0, capacity].

    Payments that balance the budget cannot raise the mean (p = 1), so this is the benchmark of the price of anarchy.
    Many profiles are screened and the best `starts` of them climbed with exact gradients: by L-BFGS-B for p = 1, by
    sequential quadratic programming with u >= 0 for p < 1 (meant for up to some hundred owners).  For accuracies that
    are jointly concave the result is the maximum; for others it is the best of the local ones found.
    """
    cost = costs if isinstance(costs, Cost) else stack(costs)
    top = finite_vector("capacities", capacities, np.size(cost.rate))
    check_positive("capacities", top)
    _checked(np.zeros(1), p)
    problem = _Problem(accuracy, cost, top, p)
    candidates = np.concatenate([screened := _screen(problem, starts), [problem.climb(x) for x in screened]])
    found = [problem.welfare(np.clip(x, 0.0, 1.0)) for x in candidates]
    best = int(np.argmax(found))
    if found[best] == -np.inf:
        raise InputError(f"no profile with utilities of at least 0 was found for the {p:g}-mean; use p=1 for losses")
    return Optimum(np.clip(candidates[best], 0.0, 1.0) * top, found[best])


def _screen(problem: _Problem, starts: int) -> Array:
    """The best of many profiles (as shares of capacity) spread over the box on all scales."""
    owners = len(problem.top)
    # Sobol points exist in at most 21201 dimensions; more owners share coordinates.
    spread = qmc.Sobol(min(owners, 21201), scramble=False).random(64)[:, np.arange(owners) % 21201]
    scales = np.repeat(2.0 ** -np.arange(0, 32, 2), 4)
    shares = np.concatenate([np.outer(2.0 ** -np.arange(32.0), np.ones(owners)), scales[:, None] * spread])
    shares = np.concatenate([np.zeros((1, owners)), shares])
    rank = np.argsort([-problem.objective(x)[0] for x in shares], kind="stable")
    return shares[rank[:starts]]


class _Problem:
    """Welfare as a function of the shares x of capacity."""

    def __init__(self, accuracy: Accuracy, cost: Cost, top: Array, p: float) -> None:
        self.accuracy, self.cost, self.top, self.p = accuracy, cost, top, p
        self.scale = max(float(np.max(np.abs(self.utilities(np.ones(len(top)))))), 1e-300)

    def utilities(self, x: Array) -> Array:
        s = x * self.top
        return self.accuracy.values(s[None])[0] - self.cost.value(s)

    def jacobian(self, x: Array) -> Array:
        """d u_i / d x_j."""
        s = x * self.top
        return (self.accuracy.marginals(s) - np.diag(self.cost.slope(s))) * self.top

    def welfare(self, x: Array) -> float:
        u = self.utilities(x)
        u = np.where((u < 0) & (u > -1e-10 * self.scale), 0.0, u) if self.p < 1 else u
        return -np.inf if self.p < 1 and np.any(u < 0) else p_mean_welfare(u, self.p)
