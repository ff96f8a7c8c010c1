"""Models of one's own without training: rows of an array, and every question about them answered by its formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.training import RoundResult, State
from fedabm.games.curves import Array, Line, Rows
from fedabm.games.messages import OwnerMessages
from fedabm.views import Exchanging, Reports, Sent, Since


@dataclass(frozen=True, eq=False)
class PlainModels(Sent):
    """Models (n, P), what their owners started from (n, P), the initial model (P,), what would be best for each (n, P).

    Losses are squared distances from the best.
    """

    models: Array
    start: Array
    initial: Array
    best: Array

    @property
    def usable_models(self) -> Array:
        return np.where(self.usable[:, None], self.models, self.start)

    def products(self) -> Array:
        moves = self.usable_models - self.initial
        return moves @ moves.T

    def cosines(self, since: Since) -> Array:
        moves = self.usable_models - (self.initial if since == "initial" else self.start)
        lengths = np.linalg.norm(moves, axis=1, keepdims=True)
        units = np.divide(moves, lengths, out=np.zeros_like(moves), where=lengths > 0)
        return np.where(np.eye(len(units), dtype=bool), 1.0, np.clip(units @ units.T, -1.0, 1.0))

    def lengths(self, weights: Array | None = None) -> Array:
        moves = self.usable_models - self.start
        return np.linalg.norm(moves if weights is None else weights @ moves, axis=1)

    def drifts(self) -> Array:
        return np.linalg.norm(self.start - self.initial, axis=1)

    def gaps(self) -> Array:
        return np.linalg.norm(self.usable_models - self.start[:, None], axis=2)

    def losses(self) -> tuple[Array, Array]:
        return ((self.usable_models - self.best[:, None]) ** 2).sum(axis=2), ((self.start - self.best) ** 2).sum(axis=1)

    def mix(self, weights: Array, who: Any = None, instead: Any = None) -> Array:
        owners = np.arange(len(self.models))
        rows, chosen = weights @ self.usable_models, owners if who is None else who
        kept = self.start[owners if instead is None else instead]
        mixed = np.asarray(weights.any(axis=1))[chosen]
        return np.where(mixed[:, None], rows[chosen], kept)

    def moved(self, weights: Array) -> Array:
        return self.usable_models + weights @ (self.usable_models - self.initial)

    def stepped(self, weights: Array) -> Array:
        return self.start + weights @ (self.usable_models - self.start)

    def masked(self, weights: Array, shares: Array, length: float) -> Array:
        moves = self.usable_models - self.start
        sizes = np.maximum(np.linalg.norm(moves, axis=1), 1e-7)
        shared = (weights * length / sizes) @ moves
        order = np.argsort(np.argsort(-np.abs(shared), kind="stable"))
        return self.start + np.where(order < np.ceil(shares[:, None] * len(shared) - 1e-9), shared, 0.0)


def plain_models(reports: Reports, seed: int = 0, width: int = 7) -> PlainModels:
    """Random models of those who report, everybody usable."""
    rng, shape = np.random.default_rng(seed), (len(reports.size), width)
    initial = rng.normal(size=width)
    start = np.tile(initial, (len(reports.size), 1)) + 0.1 * rng.normal(size=shape)
    models, best = start + rng.normal(size=shape), initial + rng.normal(size=shape)
    return PlainModels(reports, np.ones(len(reports.size), dtype=bool), models, start, initial, best)


@dataclass(frozen=True)
class OneHalf(Accuracy):
    """Every model is worth one half."""

    owners: int
    concave = True
    monotone = True

    def values(self, profiles: Array) -> Array:
        return np.full(np.shape(profiles), 0.5)

    def curves(self, profile: Array) -> Line:
        return Line(np.full(len(profile), 0.5), np.zeros(len(profile)))

    def marginals(self, profile: Array) -> Array:
        return np.zeros((len(profile), len(profile)))


@dataclass(frozen=True)
class RepeatedModels(Exchanging[State]):
    """A training whose owners send the same random models in every round, each worth one half."""

    owners: int

    def begin(self, seed: int) -> State:
        return State()

    def round(self, state: State, messages: OwnerMessages) -> tuple[State, RoundResult]:
        return state, RoundResult.of(messages)

    def worth(self, state: State) -> Accuracy:
        return OneHalf(self.owners)

    def sent(self, state: State, rows: Rows, reports: Reports, *, with_losses: bool = False) -> PlainModels:
        everyone = plain_models(Reports(np.ones(self.owners), np.ones(self.owners)))
        who = np.asarray(rows)
        usable = everyone.usable[who]
        models = everyone.models[who]
        start = everyone.start[who]
        return PlainModels(reports, usable, models, start, everyone.initial, everyone.best[who])
