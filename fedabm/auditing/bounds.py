"""The most that any claim could gain, proven.

With access and payment given, an owner that lies contributes what is best for itself:

    V(access) = max_x access * a_i(x) - c_i(x),        u(claim) = V(access(claim)) + payment(claim).

V is convex in the access, as a maximum of straight lines, so it lies below the chords between points where it is known.
Between two kinks the benefit received + payment is concave or grows (`Offers.shape`), and so does the accuracy that is
announced.  Hence on an interval [a, b] of claims

- full access:  u <= V(1) + benefit - accuracy, by tangents of the one and the chord of the other where both are
  concave, and by benefit(b) - accuracy(a) where they only grow;
- no money:     u <= V(most received on [a, b] / accuracy(a)), since V grows with the access.

Intervals are split until none can beat the best claim by more than the tolerance.  Where a rule rations *and* pays, or
promises no shape, nothing is proven and the bound is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.auditing.evaluate import at_claims
from fedabm.auditing.stage import Stage
from fedabm.common.errors import FedabmError
from fedabm.games.best import best_response
from fedabm.games.chords import concave_bound
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Curve, Line, Rows, align_rows
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import ModelShare, Offers, Shape, nothing
from fedabm.games.promises import check_promises
from fedabm.games.roots import just_inside

__all__ = ["BestClaim", "Worth", "best_claim", "worth_of_access"]

_PARTS = 8
_GRID = np.linspace(0.0, 1.0, 65)
#: points on the whole range, and peaks among them, that are looked at where no shape is promised
_DENSE = 513
_PEAKS = 4


@dataclass(frozen=True)
class ScaledCurve(Curve):
    """A curve times a share of its own per row."""

    full: Curve
    share: Array

    @property
    def closed(self) -> Any:
        """If the curve is."""
        return self.full.closed

    def value(self, x: Array) -> Array:
        return align_rows(self.share, x) * self.full.value(x)

    def slope(self, x: Array) -> Array:
        return align_rows(self.share, x) * self.full.slope(x)

    def take(self, rows: Rows) -> ScaledCurve:
        return ScaledCurve(self.full.take(rows), self.share[rows])


@dataclass(frozen=True)
class Worth:
    """V of one owner: what was found at some shares of the full model, and a bound that holds at every share."""

    stage: Stage
    owner: int
    share: Array
    found: Array
    bound: Array

    def likely(self, access: Array) -> Array:
        """V as far as it was found, between known points by the chord: to choose what to look at."""
        return np.interp(access, self.share, self.found)

    def most(self, access: Array) -> Array:
        """An upper bound on V: by the chord between two known points."""
        return np.interp(access, self.share, self.bound)

    def best(self, access: Array) -> tuple[Array, Array]:
        """The best true contribution at each access, and V there, as far as it was found."""
        found = best_response(*_problem(self.stage, self.owner, access))
        return found.contribution, found.utility


def worth_of_access(stage: Stage, owner: int, shares: Array | None = None) -> Worth:
    """V of an owner, certified at each of some shares from 0 to 1."""
    concave = stage.accuracy.concave and bool(np.all(stage.costs.take([owner]).convex))
    share = np.linspace(0.0, 1.0, 257 if concave else 17) if shares is None else shares
    problem = _problem(stage, owner, share)
    try:
        check_promises(problem[0].take([-1]), problem[2][-1:])
    except FedabmError:  # the accuracy is not what it promises to be
        return Worth(stage, owner, share, best_response(*problem).utility, np.full(len(share), np.inf))
    best = best_response(*problem, certify=ProofLimits(1e-9, 2**18))
    return Worth(stage, owner, share, best.utility, best.bound)


def _problem(stage: Stage, owner: int, access: Array) -> tuple[Offers, Cost, Array]:
    """Owner i as often as there are shares: each copy faces its accuracy times the share."""
    rows = np.full(len(access), owner)
    full = stage.accuracy.curves(stage.profile).take(rows)
    shape: Shape = "concave" if stage.accuracy.concave else "monotone" if stage.accuracy.monotone else "unknown"
    kinks = stage.accuracy.kinks(stage.profile)[rows]
    offers = Offers(full, ScaledCurve(full, access), nothing(len(rows)), kinks, shape)
    return offers, stage.costs.take(rows), stage.capacities[rows]


@dataclass(frozen=True)
class BestClaim:
    """The best claim found, what it is worth, and a proven bound on what any claim is worth (infinite: none)."""

    claim: float
    utility: float
    bound: float


def best_claim(
    stage: Stage, offers: Offers, worth: Worth, top: float, *, tolerance: float = 1e-8, budget: int = 2**17
) -> BestClaim:
    """The best claim in [0, top] under the offers of one owner (one row), and how good any could be."""
    low, high = _pieces(offers, top)
    points = np.unique(np.concatenate([(low[:, None] + (high - low)[:, None] * _GRID).ravel(), low, high]))
    kind = _provable(stage, offers, worth, top)
    if not kind:
        # Nothing is known between two points, so there are more of them, and all peaks are looked at.
        points = np.union1d(points, np.linspace(0.0, top, _DENSE))
        return BestClaim(*_best_peak(offers, worth, points), np.inf)
    claim, utility = _best_of(offers, worth, points)
    claim, utility = _closing_in(offers, worth, points, claim, utility)
    ends = np.unique(np.concatenate([low, high]))
    at_ends = float(np.max(_upper_at(offers, worth, ends)))
    a, b = just_inside(low, high)
    a, b = a[high > low], b[high > low]
    bound = max(utility, at_ends)
    while len(a):
        upper = _upper(stage, offers, worth, a, b, kind)
        keep = upper > utility + tolerance
        bound = max(bound, float(np.max(upper[~keep], initial=-np.inf)))
        a = a[keep]
        b = b[keep]
        upper = upper[keep]
        budget -= _PARTS * len(a)
        if budget <= 0:
            bound = max(bound, float(np.max(upper, initial=-np.inf)))
            break
        cuts = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, _PARTS + 1)
        cuts[:, -1] = b
        a, b = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        if len(a):
            better, value = _best_of(offers, worth, a)
            claim, utility = (better, value) if value > utility else (claim, utility)
    return BestClaim(claim, utility, max(bound, utility))


def _provable(stage: Stage, offers: Offers, worth: Worth, top: float) -> str:
    """Which of the two proofs holds, if any; a shape that is promised and does not hold proves nothing."""
    known = stage.accuracy.public.monotone and np.all(np.isfinite(worth.bound))
    if offers.shape == "unknown" or not known or offers.benefit.sampled:
        return ""
    try:
        check_promises(offers, np.array([top]))
    except FedabmError:
        return ""
    if offers.received is offers.accuracy:
        return "full access"
    payment = offers.payment
    free = isinstance(payment, Line) and payment.zero
    # V grows with the access only if no model is worth less than nothing.
    rises = stage.accuracy.monotone and np.all(stage.accuracy.at_zero(stage.owners) >= 0)
    return "no money" if free and rises else ""


def _upper(stage: Stage, offers: Offers, worth: Worth, a: Array, b: Array, kind: str) -> Array:
    """A bound on what any claim in [a, b] is worth."""
    full = offers.accuracy
    before, after = full.value(a[None])[0], full.value(b[None])[0]
    smooth = offers.shape == "concave" and bool(np.all(offers.benefit.closed))
    if kind == "full access" and smooth and stage.accuracy.public.concave:
        low, high, rise, fall = _tangents(offers.benefit, a, b)
        from_left = np.maximum(low - before, low + rise - after)
        from_right = np.maximum(high - after, high + fall - before)
        return worth.bound[-1] + np.minimum(from_left, from_right)
    most = _most_benefit(offers, a, b, smooth=smooth)
    if kind == "full access":
        return worth.bound[-1] + most - before
    # Of a model that is worth nothing at a, the share that the rule states is largest at b, if it grows.
    handed = offers.received
    largest = handed.share(b[None])[0] if isinstance(handed, ModelShare) and handed.grows else np.ones_like(most)
    share = np.divide(most, before, out=largest, where=before > 0)
    return worth.most(np.clip(share, 0.0, 1.0))


def _most_benefit(offers: Offers, a: Array, b: Array, *, smooth: bool) -> Array:
    """The most that the benefit can be on [a, b]: below its tangents, or by values alone, or as at b if it grows."""
    benefit = offers.benefit
    if offers.shape != "concave":
        return benefit.value(b[None])[0]
    if not smooth:
        tops = np.where(benefit.value(b[None]) >= benefit.value(a[None]), b[None], a[None])
        inside = concave_bound(benefit.value, np.zeros_like, a[None], b[None], tops)[0]
        return np.maximum(inside, np.maximum(benefit.value(a[None])[0], benefit.value(b[None])[0]))
    low, high, rise, fall = _tangents(benefit, a, b)
    return np.minimum(low + np.maximum(rise, 0.0), high + np.maximum(fall, 0.0))


def _tangents(benefit: Curve, a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """The benefit at both ends, and how far the tangent there rises until the other end."""
    low = benefit.value(a[None])[0]
    high = benefit.value(b[None])[0]
    width = b - a
    rise, fall = benefit.slope(a[None])[0] * width, -benefit.slope(b[None])[0] * width
    rise, fall = (np.where(np.isfinite(part), part, np.inf) for part in (rise, fall))
    return low, high, rise, fall


def _upper_at(offers: Offers, worth: Worth, claims: Array) -> Array:
    """A bound on what these claims themselves are worth: a curve may jump at a kink."""
    deal = at_claims(offers, claims)
    return worth.most(deal.access) + deal.payment


def _best_peak(offers: Offers, worth: Worth, points: Array) -> tuple[float, float]:
    """The best claim around the highest of all peaks on a grid, looked at more closely."""
    deal = at_claims(offers, points)
    height = worth.likely(deal.access) + deal.payment
    around = np.concatenate([[-np.inf], height, [-np.inf]])
    peaks = np.flatnonzero((height >= around[:-2]) & (height >= around[2:]))
    highest = peaks[np.argsort(-height[peaks], kind="stable")][:_PEAKS]
    found = [_closing_in(offers, worth, points, *_best_of(offers, worth, points[[peak]])) for peak in highest]
    return max(found, key=lambda one: one[1])


def _best_of(offers: Offers, worth: Worth, claims: Array) -> tuple[float, float]:
    """The best of some claims; whichever look best are looked at exactly."""
    deal = at_claims(offers, claims)
    hopeful = np.argsort(-(worth.likely(deal.access) + deal.payment), kind="stable")[:3]
    value = worth.best(deal.access[hopeful])[1] + deal.payment[hopeful]
    pick = int(np.argmax(value))
    return float(claims[hopeful[pick]]), float(value[pick])


def _closing_in(offers: Offers, worth: Worth, points: Array, claim: float, utility: float) -> tuple[float, float]:
    """Finer grids around the best claim so far."""
    width = float(np.max(np.diff(points), initial=0.0))
    for _ in range(4):
        near = np.clip(claim + width * np.linspace(-1.0, 1.0, 33), points[0], points[-1])
        better, value = _best_of(offers, worth, near)
        claim, utility = (better, value) if value > utility else (claim, utility)
        width /= 12.0
    return claim, utility


def _pieces(offers: Offers, top: float) -> tuple[Array, Array]:
    """Lower and upper ends of the intervals between 0, the kinks and the largest claim."""
    kinks = offers.kinks.ravel()
    edges = np.unique(np.concatenate([[0.0, top], kinks[(kinks > 0) & (kinks < top)]]))
    return edges[:-1], edges[1:]
