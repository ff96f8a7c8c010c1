"""Five rules of a user's own, each with one flaw that its author did not see."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.games.accuracy import Accuracy
from fedabm.games.curves import Array, Curve, Line, Rows, align_rows
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.mechanisms import Mechanism
from fedabm.views import Reports


@dataclass(frozen=True)
class Generous(Mechanism):
    """A thank-you for every owner, by its share of the data; who pays for it was forgotten.  Leaks money."""

    pot: float = 0.3

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        claimed = reports.contribution
        others = np.maximum(claimed.sum() - claimed, 1e-9)
        return full_access(accuracy, claimed, self.pot * Portion(others))


@dataclass(frozen=True)
class Portion(Curve):
    """x / (x + others)."""

    others: Array

    def value(self, x: Array) -> Array:
        return x / (x + align_rows(self.others, x))

    def slope(self, x: Array) -> Array:
        return align_rows(self.others, x) / (x + align_rows(self.others, x)) ** 2

    def take(self, rows: Rows) -> Portion:
        return Portion(self.others[rows])


@dataclass(frozen=True)
class Welcome(Mechanism):
    """The same bonus for every name on the list, from the server's pocket.  Rewards splitting."""

    bonus: float = 0.1
    budget_balanced = False

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        n = len(reports.contribution)
        return full_access(accuracy, reports.contribution, Line(np.full(n, self.bonus), np.zeros(n)))


@dataclass(frozen=True)
class Trusting(Mechanism):
    """Pays for what is claimed above the mean of the others, who pay for it.  Rewards lying."""

    rate: float = 0.05

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        claimed = reports.contribution
        n = len(claimed)
        if n == 1:
            return full_access(accuracy, claimed, nothing(n))
        mean = (claimed.sum() - claimed) / (n - 1)
        return full_access(accuracy, claimed, Line(-self.rate * mean, np.full(n, self.rate)))


@dataclass(frozen=True)
class Stingy(Mechanism):
    """Hands everyone a third of what the model is worth.  Punishes joining."""

    share: float = 1 / 3

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        full = full_access(accuracy, reports.contribution, nothing(len(reports.contribution)))
        return replace(full, received=self.share * full.accuracy)


@dataclass(frozen=True)
class Chase(Mechanism):
    """The first owner wins a bet if both of the first two give much or both little, else the second does.  Has no
    equilibrium: each runs after the other, or away from it.
    """

    bet: float = 1.0
    much: float = 3.0

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        claimed = reports.contribution
        n = len(claimed)
        high, low = np.zeros(n), np.zeros(n)
        if n > 1:
            first = self.bet * (1.0 if claimed[1] >= self.much else -1.0)
            second = self.bet * (1.0 if claimed[0] >= self.much else -1.0)
            high[:2], low[:2] = (first, -second), (-first, second)
        offers = full_access(accuracy, claimed, Step(self.much, low, high))
        return replace(offers, kinks=np.column_stack([offers.kinks, np.full(n, self.much)]))


@dataclass(frozen=True)
class Step(Curve):
    """One number below a level, another one from it on."""

    level: float
    low: Array
    high: Array

    def value(self, x: Array) -> Array:
        return np.where(x >= self.level, align_rows(self.high, x), align_rows(self.low, x))

    def slope(self, x: Array) -> Array:
        return np.zeros(x.shape)

    def take(self, rows: Rows) -> Step:
        return Step(self.level, self.low[rows], self.high[rows])
