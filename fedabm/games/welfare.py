"""The p-mean of utilities, and the contributions that make it largest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost, check_costs, costs_of
from fedabm.games.curves import Array

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

    Parameters
    ----------
    utilities : Array
        Utility of each owner, shape (owners,).
    p : float, optional
        At most 1; 1 is the mean, 0 the geometric mean, -inf the least.
    normalised : bool, optional
        Whether the sum is divided by the number of owners.

    Returns
    -------
    float
        The p-mean.
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
    if not isinstance(p, int | float | np.number) or not p <= 1:
        raise InputError(f"p must be at most 1, got {p!r}; use 1 (mean), 0 (Nash welfare) or -inf (minimum)")
    if u.size == 0:
        raise InputError("no utilities: got an empty list; give at least one owner")
    if p != 1 and np.any(u < 0):
        raise InputError(f"the {p:g}-mean needs utilities of at least 0, got {u.min():g}; use p=1 for losses")
    return u


def _log_mean(logs: Array, p: float) -> float:
    """log of the p-mean of numbers given by their logs, without cancellation near p = 0 and overflow for large |p|."""
    middle = np.clip(logs.mean(), logs.min(), logs.max())  # a rounded mean of equal numbers may differ from them
    if abs(p) < 1e-290:
        return float(middle)
    if abs(p) * np.ptp(logs) < 1:
        return float(middle + np.log1p(np.mean(np.expm1(p * (logs - middle)))) / p)
    leading = logs.max() if p > 0 else logs.min()
    with np.errstate(over="ignore"):
        return float(leading + np.log(np.mean(np.exp(p * (logs - leading)))) / p)


def welfare_optimum(
    accuracy: Accuracy, costs: Any, capacities: Array | float, p: float = 1.0, starts: int = 4
) -> Optimum:
    """The profile of contributions that maximises the p-mean of u_i(s) = a_i(s) - c_i(s_i) over [0, capacity].

    Payments that balance the budget cannot raise the mean (p = 1), so it is the benchmark of the price of anarchy.
    Many profiles are screened and the best `starts` of them (four times as many unless the accuracy is concave in the
    own contribution) are climbed with its marginals: by L-BFGS-B for p = 1 and p <= 0, by sequential quadratic
    programming for 0 < p < 1 (with u >= 0) and for p = -inf (as max t with u >= t), which are meant for up to a hundred
    owners.  If the accuracies are jointly concave in all contributions, the local maximum found is the global one;
    otherwise, and where costs have kinks, which are tried one owner at a time, it is the best of those found.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    costs : Any
        What contributions cost: one `Cost` per owner, one stacked `Cost`, or numbers (rates of linear costs).
    capacities : Array | float
        How much data each owner has: one number per owner, or one for all.
    p : float, optional
        At most 1; see `p_mean_welfare`.
    starts : int, optional
        From how many of the screened profiles to climb.

    Returns
    -------
    Optimum
        The best profile that was found, and whether it is proven to be the best.
    """
    check_kind("accuracy", accuracy, Accuracy)
    check_whole("starts", starts)
    cost = costs_of(costs, np.size(capacities))
    top = finite_vector("capacities", capacities, cost.owners)
    check_positive("capacities", top)
    check_costs(cost, top)
    _checked(np.zeros(1), p)
    problem = _Problem(accuracy, cost, top, p)
    start = problem.screen(starts if accuracy.concave else 4 * starts)
    profiles = np.concatenate([start, [problem.climb(profile) for profile in start]])
    welfare = problem.welfare(profiles)
    if cost.kinks(len(top)).shape[1]:
        profiles = np.array([problem.try_kinks(profile) for profile in profiles[np.argsort(-welfare)[:starts]]])
        welfare = problem.welfare(profiles)
    best = int(np.argmax(welfare))
    if welfare[best] == -np.inf:
        raise InputError(f"no profile with utilities of at least 0 was found for the {p:g}-mean; use p=1 for losses")
    return Optimum(profiles[best], float(welfare[best]))


class _Problem:
    """Maximise the p-mean of a_i(s) - c_i(s_i) over the box [0, top]."""

    def __init__(self, accuracy: Accuracy, cost: Cost, top: Array, p: float) -> None:
        self.accuracy = accuracy
        self.cost = cost
        self.top = top
        self.p = p
        self.scale = float(np.max(np.abs(accuracy.values(top[None])))) or 1.0

    def utilities(self, profiles: Array) -> Array:
        return self.accuracy.values(profiles) - self.cost.value(profiles.T).T

    def welfare(self, profiles: Array) -> Array:
        """The p-mean at k profiles; minus infinity where a utility is negative, unless p = 1."""
        utilities = self.utilities(profiles)
        if self.p == 1:
            return utilities.mean(axis=1)
        rounded = np.where(np.abs(utilities) < 1e-12 * self.scale, 0.0, utilities)
        return np.array([-np.inf if np.any(u < 0) else p_mean_welfare(u, self.p) for u in rounded])

    def screen(self, count: int) -> Array:
        """The best of many profiles spread over the box on all scales."""
        profiles = _spread(len(self.top)) * self.top
        order = np.lexsort((-self.utilities(profiles).min(axis=1), -self.welfare(profiles)))
        return profiles[order[:count]]

    def climb(self, profile: Array) -> Array:
        """A local maximum above a start; the second climb has variables scaled by what the first one found."""
        method = self._climb_mean if self.p == 1 else self._climb_minimum if self.p == -np.inf else self._climb_p_mean
        for _ in range(2):
            unit = self.top * (np.max(profile / self.top) or 1.0)
            profile = np.clip(method(np.minimum(profile / unit, self.top / unit), unit), 0.0, self.top)
        return profile

    def try_kinks(self, profile: Array, rounds: int = 12) -> Array:
        """Owner by owner the best of its kinks and of a grid over its range, as long as that helps."""
        around = np.array([1.0 - 1e-12, 1.0, 1.0 + 1e-12])
        kinks = (self.cost.kinks(len(self.top))[:, :, None] * around).reshape(len(self.top), -1)
        kinks = np.minimum(np.column_stack([kinks, 1e-12 * self.top]), self.top[:, None])
        best = float(self.welfare(profile[None])[0])
        for _ in range(rounds):
            before = best
            for owner, own in enumerate(kinks):
                profile, best = self._along(profile, best, owner, own)
            if not best > before:
                break
        return profile

    def _along(self, profile: Array, best: float, owner: int, kinks: Array) -> tuple[Array, float]:
        """The best profile if only one owner changes its contribution: a grid that closes in three times."""
        low, high = 0.0, self.top[owner]
        for _ in range(4):
            own = np.concatenate([np.linspace(low, high, 33), kinks])
            trials = np.repeat(profile[None], len(own), axis=0)
            trials[:, owner] = own
            welfare = self.welfare(trials)
            pick = int(np.argmax(welfare))
            width = (high - low) / 16
            low, high = max(own[pick] - width, 0.0), min(own[pick] + width, self.top[owner])
            if welfare[pick] > best:
                profile, best = trials[pick], float(welfare[pick])
        return profile, best

    def _climb_mean(self, start: Array, unit: Array) -> Array:
        def objective(y: Array) -> tuple[float, Array]:
            u, jacobian = self._local(y, unit)
            return -float(u.mean()), -jacobian.mean(axis=0)

        return self._ascend(objective, start, self._box(unit)) * unit

    def _climb_p_mean(self, start: Array, unit: Array) -> Array:
        def objective(y: Array) -> tuple[float, Array]:
            u, jacobian = self._local(y, unit)
            logs, steep = _extended_log(u)
            weight = np.exp(self.p * (logs - (logs.min() if self.p < 0 else logs.max())))
            return -_log_mean(logs, self.p), -(weight / weight.sum() * steep) @ jacobian

        if self.p <= 0:  # the objective itself keeps utilities positive
            return self._ascend(objective, start, self._box(unit)) * unit
        rational = {
            "type": "ineq",
            "fun": lambda y: self._local(y, unit)[0],
            "jac": lambda y: self._local(y, unit)[1],
        }
        return self._programme(objective, start, rational, self._box(unit)) * unit

    def _climb_minimum(self, start: Array, unit: Array) -> Array:
        """Maximise t with u_i >= t."""
        floor = self.utilities((start * unit)[None]).min() / self.scale
        above = {
            "type": "ineq",
            "fun": lambda z: self._local(z[:-1], unit)[0] - z[-1],
            "jac": lambda z: np.hstack([self._local(z[:-1], unit)[1], -np.ones((len(unit), 1))]),
        }
        down = np.append(np.zeros(len(unit)), -1.0)
        bounds = [*self._box(unit), (None, None)]
        return self._programme(lambda z: (-z[-1], down), np.append(start, floor), above, bounds)[:-1] * unit

    def _local(self, y: Array, unit: Array) -> tuple[Array, Array]:
        """Utilities and d u_i / d y_j at the profile y * unit, over the scale of accuracies."""
        s = y * unit
        jacobian = self.accuracy.marginals(s) - np.diag(self.cost.slope(s))
        return self.utilities(s[None])[0] / self.scale, jacobian * unit / self.scale

    def _box(self, unit: Array) -> list[tuple[Any, Any]]:
        return [(0.0, high) for high in self.top / unit]

    def _ascend(self, objective: Any, start: Array, bounds: Any) -> Array:
        options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 2000}
        return minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x

    def _programme(self, objective: Any, start: Array, constraint: Any, bounds: Any) -> Array:
        options = {"ftol": 1e-15, "maxiter": 500}
        solution = minimize(
            objective, start, jac=True, bounds=bounds, constraints=constraint, method="SLSQP", options=options
        )
        return solution.x


def _spread(owners: int) -> Array:
    """Shares of capacity: none, all equal, each owner alone (up to 64 owners), and scattered evenly over the box."""
    levels = np.concatenate([2.0 ** -np.arange(32.0), np.arange(1.0, 8.0) / 8])
    equal = np.outer(levels, np.ones(owners))
    alone = np.kron(levels[::2, None], np.eye(owners)) if owners <= 64 else equal[:0]
    turns = np.arange(1.0, 65.0)
    scattered = np.outer(turns, (np.arange(1.0, owners + 1) * 0.6180339887498949) % 1.0) % 1.0
    return np.concatenate([0 * equal[:1], equal, alone, scattered, scattered * 2.0 ** -(turns[:, None] % 16)])


def _extended_log(u: Array, edge: float = 1e-6) -> tuple[Array, Array]:
    """log u and its slope, continued below `edge` by a parabola, so that a step may leave the feasible region."""
    short = np.minimum(u / edge - 1.0, 0.0)
    safe = np.maximum(u, edge)
    return np.log(safe) + short - 0.5 * short**2, (1.0 - short) / safe
