"""Shapley values by sampling the order in which owners come, with standard errors.

phi_i is the mean, over all orders, of what owner i adds to those before it (Murhekar et al. 2025, eq. (3)); here over a
random sample of orders.  In every single order the gains add up to A(s) - A(0), so sampled shares do too.  Antithetic
pairs (an order and its reverse) have opposite errors where the gain falls with the data that is already there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.common.errors import InputError, check_range, check_whole
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.mixture import Groups
from fedabm.games.curves import Array, Curve
from fedabm.shapley.curves import ExposureCurve, coalition_curve
from fedabm.shapley.shares import Shares
from fedabm.shapley.worth import difference, worth

__all__ = ["ERROR", "Orders", "sampled_curve", "sampled_shares"]

Order = NDArray[np.intp]

#: numbers in one block of orders x owners
_BLOCK = 2**18
#: the standard error of a share that is aimed at, where all owners are equal, relative to their shares
ERROR = 0.02
#: orders that tell how many are needed, and the most numbers, orders x owners, that these may be
_FIRST = 64
_SCALES = 10.0 ** np.linspace(-6.0, 12.0, 217)
_MOST = 2**18
#: and those of any draw
_ALL = 2**24


@dataclass(frozen=True)
class Orders:
    """How many random orders to draw, in reversed pairs or not, from which generator.

    Without a number and without an `error`, as many are drawn as it takes that equal owners' shares would have a
    standard error of about `ERROR` times the share (see `enough`), at least n log n and 64; always as many, whatever
    owners contribute, so that shares are one function of the contributions.  With an `error` orders are added until no
    standard error at the contributions that are asked about is above this part of the largest share.
    """

    owners: int
    permutations: int | None = None
    rng: np.random.Generator | None = None
    antithetic: bool = False
    error: float | None = None

    def __post_init__(self) -> None:
        if self.permutations is not None:
            check_whole("permutations", self.permutations)
        if self.error is not None:
            check_range("standard error of sampled shares", self.error, 1e-6, 1.0)

    def enough(self, accuracy: Accuracy) -> Orders:
        """These, with as many as `ERROR` takes by what the first 64 tell; n log n where each asks an oracle.

        An oracle's answers may be too dear to be asked for again: there the standard error says what was reached.
        """
        exposure = accuracy.as_exposure()
        if self.permutations is not None or self.error is not None or exposure is None:
            return self
        profile = np.full(self.owners, _halfway(exposure) / self.owners)
        first = replace(self, permutations=_FIRST, rng=None)
        gains = np.concatenate([_by_owner(order, _gains(accuracy, profile, order, False)) for order in first.draw()])
        wanted = ERROR * float(np.max(np.abs(np.mean(gains, axis=0))))
        if not wanted > 0:
            return self
        needed = float(np.max(np.var(gains, axis=0, ddof=1))) / wanted**2
        most = max(_MOST // self.owners, _FIRST)
        return replace(self, permutations=max(self.total, int(np.ceil(min(needed, most)))))

    def until(self, found: Shares) -> Orders:
        """These if shares found with them are as exact as stated, else with as many more as that seems to take."""
        if self.error is None or found.standard_errors is None:
            return self
        wanted, reached = self.error * float(np.max(np.abs(found))), float(np.max(found.standard_errors))
        if reached <= wanted:
            return self
        needed = self.total * max(2.0, 1.1 * (reached / wanted) ** 2) if wanted > 0 else np.inf
        if needed > _ALL // self.owners:
            most = f"the {_ALL // self.owners:,} that can be drawn for {self.owners} owners"
            raise InputError(f"an error of {self.error:g} takes more orders than {most}; allow a larger one")
        return replace(self, permutations=int(np.ceil(needed)))

    @property
    def total(self) -> int:
        """How many orders are drawn; pairs need an even number."""
        n = self.owners
        usual = max(64, min(int(np.ceil(n * np.log(max(n, 2)))), _ALL // n))
        total = self.permutations or usual
        return total + total % 2 if self.antithetic else total

    def draw(self) -> Iterator[Order]:
        """The orders (k, n), in blocks; pairs stand next to each other.  Without generator: the stream of seed 0."""
        rng = np.random.default_rng(0) if self.rng is None else self.rng
        pair = 2 if self.antithetic else 1
        left, together = self.total // pair, max(1, _BLOCK // self.owners)
        while left > 0:
            check_time()
            some = min(left, together)
            order = rng.permuted(np.tile(np.arange(self.owners), (some, 1)), axis=1)
            yield np.stack([order, order[:, ::-1]], axis=1).reshape(-1, self.owners) if self.antithetic else order
            left -= some


def _halfway(accuracy: Exposure) -> float:
    """The exposure at which an accuracy has half of all that data ever bring: there its gains differ most."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        height = accuracy.curve(_SCALES) - accuracy.curve(np.zeros(1))
    most = np.max(height, initial=0.0, where=np.isfinite(height))
    return float(_SCALES[np.argmax(height >= 0.5 * most)])


@dataclass(frozen=True)
class Sampled:
    """For each owner who came before it in each sampled order; `rank` (orders, n) is everyone's place."""

    rank: Order
    drawn = True

    @property
    def weights(self) -> Array:
        """All orders count the same."""
        return np.full(len(self.rank), 1.0 / len(self.rank))

    def before(self, rows: Order) -> NDArray[np.bool_]:
        """Who came before the owners in `rows`, (rows, orders, n)."""
        return self.rank[None] < self.rank[:, rows].T[:, :, None]


def sampled_shares(accuracy: Accuracy, profile: Array, orders: Orders, slopes: bool = False) -> Shares:
    """Mean gains (or their slopes in the own contribution) over the orders, with standard errors."""
    orders = orders.enough(accuracy)
    while True:
        found = _means(accuracy, profile, orders, slopes)
        more = orders.until(found)
        if more is orders:
            return found
        orders = more


def _means(accuracy: Accuracy, profile: Array, orders: Orders, slopes: bool) -> Shares:
    """Over as many orders as there are."""
    centre, total, square = np.zeros((3, len(profile)))
    samples = 0
    for order in orders.draw():
        gains = _by_owner(order, _gains(accuracy, profile, order, slopes))
        if orders.antithetic:
            gains = 0.5 * (gains[0::2] + gains[1::2])
        centre = centre if samples else gains.mean(axis=0)
        total += (gains - centre).sum(axis=0)
        square += ((gains - centre) ** 2).sum(axis=0)
        samples += len(gains)
    spread = np.maximum(square - total**2 / samples, 0.0) / max(samples - 1, 1)
    errors = np.sqrt(spread / samples) if samples > 1 else np.full(len(profile), np.inf)
    return Shares(centre + total / samples, "monte_carlo", errors, orders.total)


def sampled_curve(accuracy: Accuracy, profile: Array, orders: Orders) -> Curve:
    """The same means as functions of the own contribution, all over common orders."""
    orders = orders.enough(accuracy)
    if orders.error is not None:
        orders = replace(orders, permutations=sampled_shares(accuracy, profile, orders).permutations)
    exposure, groups = accuracy.as_exposure(), accuracy.exposure_groups(len(profile))
    if exposure is None or groups is None:
        rank = np.concatenate([np.argsort(order, axis=1) for order in orders.draw()])
        return coalition_curve(accuracy, profile, Sampled(rank))
    blocks = [_before(groups.patterns * profile, order) for order in orders.draw()]
    before = np.ascontiguousarray(np.concatenate(blocks, axis=1).transpose(2, 0, 1))
    chances = np.full(before.shape[2], 1.0 / before.shape[2])
    return ExposureCurve(exposure, groups.counts, chances, before, groups.patterns.T, sampled=True)


def _before(exposed: Array, order: Order) -> Array:
    """What each group is exposed to before each owner comes, (G, k, n)."""
    sums = np.cumsum(exposed[:, order], axis=2)
    sums = np.concatenate([np.zeros((*sums.shape[:2], 1)), sums[..., :-1]], axis=2)
    return np.stack([_by_owner(order, part) for part in sums])


def _by_owner(order: Order, placed: Array) -> Array:
    """From places in the order to owners, both (k, n)."""
    result = np.empty(placed.shape)
    np.put_along_axis(result, order, placed, axis=1)
    return result


def _gains(accuracy: Accuracy, profile: Array, order: Order, slopes: bool) -> Array:
    """What the owner at each place adds (or the slope of it), (k, n)."""
    exposure, groups = accuracy.as_exposure(), accuracy.exposure_groups(len(profile))
    if exposure is not None and groups is not None:
        return _group_gains(exposure, groups, profile, order, slopes)
    return _asked_gains(accuracy, profile, order, slopes)


def _group_gains(accuracy: Exposure, groups: Groups, profile: Array, order: Order, slopes: bool) -> Array:
    """One running sum per group is all that is needed."""
    gains, start = np.zeros(order.shape), np.zeros((len(order), 1))
    for pattern, count in zip(groups.patterns, groups.counts, strict=True):
        exposure = np.cumsum((pattern * profile)[order], axis=1)
        if slopes:
            gains += count * pattern[order] * accuracy.curve_slope(exposure)
        else:
            gains += count * np.diff(accuracy.curve(np.hstack([start, exposure])), axis=1)
    return gains


def _asked_gains(accuracy: Accuracy, profile: Array, order: Order, slopes: bool) -> Array:
    """Ask the oracle about everyone up to each place of each order."""
    places = np.arange(order.shape[1] + 1)[:, None]
    rank = np.argsort(order, axis=1)

    def gains(some: slice) -> Array:
        prefixes = (rank[some, None, :] < places) * profile
        if not slopes:
            return np.diff(worth(accuracy, prefixes), axis=1)
        return difference(lambda x: worth(accuracy, _with(prefixes[:, 1:], order[some], x)), profile[order[some]])

    together = max(1, _BLOCK // order.shape[1] ** 2)
    return np.concatenate([gains(slice(i, i + together)) for i in range(0, len(order), together)])


def _with(prefixes: Array, order: Order, x: Array) -> Array:
    """The prefixes, with the contribution of the last to come replaced by x."""
    changed = prefixes.copy()
    np.put_along_axis(changed, order[:, :, None], x[:, :, None], axis=2)
    return changed
