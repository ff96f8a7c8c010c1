"""Shapley values of an expensive worth by random orders: truncated, in antithetic pairs, until they are exact enough.

phi_i is the mean gain of owner i over random orders (Murhekar et al. 2025, eq. (3)).  Truncation (Ghorbani & Zou 2019)
stops an order once the worth is within `truncation` of everybody's, and counts no gain for those who would follow: the
shares then add up to the total up to `truncation`.  An antithetic pair is an order and its reverse, whose mean is one
independent sample; standard errors come from these samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedabm.errors import check_positive, check_whole

__all__ = ["Estimate", "sampled_shapley"]

#: values (k, m) of coalitions (k, n)
Worth = Callable[[np.ndarray], np.ndarray]

_FEWEST = 8


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shares (n, m) with standard errors, the number of orders, and whether the tolerance was reached."""

    values: np.ndarray
    errors: np.ndarray
    orders: int
    converged: bool


def sampled_shapley(
    worth: Worth,
    owners: int,
    rng: np.random.Generator,
    *,
    orders: int = 1000,
    antithetic: bool = True,
    truncation: float = 0.0,
    tolerance: float = 0.0,
    together: int = 16,
) -> Estimate:
    """Draw `together` orders at a time until every standard error is at most `tolerance`, or `orders` are drawn.

    >>> additive = lambda who: who @ np.array([[1.0], [2.0], [3.0]])
    >>> sampled_shapley(additive, 3, np.random.default_rng(0), orders=4).values.ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    check_whole("orders", orders, 2)
    check_whole("together", together, 2)
    check_positive("truncation", truncation, zero=True)
    check_positive("tolerance", tolerance, zero=True)
    ends = worth(np.array([[False] * owners, [True] * owners]))
    samples: list[np.ndarray] = []
    drawn, errors, converged = 0, np.full((owners, ends.shape[1]), np.inf), False
    while drawn < orders and not converged:
        order = _draw(owners, min(together, orders - drawn), rng, antithetic)
        gains = _gains(worth, order, ends, truncation)
        samples.append(0.5 * (gains[0::2] + gains[1::2]) if antithetic else gains)
        drawn += len(order)
        found = np.concatenate(samples)
        if len(found) > 1:
            errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        converged = len(found) >= _FEWEST and bool(errors.max() <= tolerance)
    return Estimate(found.mean(axis=0), errors, drawn, converged)


def _draw(owners: int, count: int, rng: np.random.Generator, antithetic: bool) -> np.ndarray:
    """Orders (k, n); with pairs, an even number, each order followed by its reverse."""
    some = -(-count // 2) if antithetic else count
    order = rng.permuted(np.tile(np.arange(owners), (some, 1)), axis=1)
    return np.stack([order, order[:, ::-1]], axis=1).reshape(-1, owners) if antithetic else order


def _gains(worth: Worth, order: np.ndarray, ends: np.ndarray, truncation: float) -> np.ndarray:
    """Each owner's gain in each order, (k, n, m)."""
    count, owners = order.shape
    prefixes = np.argsort(order, axis=1)[:, None, :] <= np.arange(owners)[None, :, None]
    gains = np.zeros((count, owners, ends.shape[1]))
    if not truncation:
        values = worth(prefixes.reshape(-1, owners)).reshape(count, owners, -1)
        steps = np.diff(np.concatenate([np.broadcast_to(ends[0], (count, 1, ends.shape[1])), values], axis=1), axis=1)
        np.put_along_axis(gains, order[:, :, None], steps, axis=1)
        return gains
    before, live = np.repeat(ends[:1], count, axis=0), np.arange(count)
    for place in range(owners):
        live = live[np.abs(before[live] - ends[1]).max(axis=1) > truncation]
        if not len(live):
            break
        after = worth(prefixes[live, place])
        gains[live, order[live, place]] = after - before[live]
        before[live] = after
    return gains
