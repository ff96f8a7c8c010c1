"""The server measures how worth grows with data, by training on parts of the data at hand."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import generator
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.accuracy.training import State, Training, training_of
from fedabm.games.accuracy.valued import AccuracyPayoff, Valued
from fedabm.games.curves import Array
from fedabm.knowledge.base import Context, Knowledge
from fedabm.learning.oracles.curve import MeasuredCurve
from fedabm.learning.oracles.trained import Trained
from fedabm.views.known import Kind, Known

__all__ = ["Measured", "band"]


@dataclass(frozen=True)
class Measured(Knowledge):
    """A curve of the total, v(sum_j s_j), measured by training on parts of the data at hand (`MeasuredCurve.measure`).

    Murhekar et al. 2023, Section 5.1, has the server measure and announce such a curve.  Data of all owners count alike
    in it: where they do not, as with skewed labels, the error (`band`) says how much is lost.  Trainings see the data
    that owners have, not what they claim.

    Parameters
    ----------
    rounds : int, optional
        Rounds of each training.
    points : int, optional
        How many totals are trained on: all data, one half, one quarter, ..., and three quarters.
    repeats : int, optional
        Trainings of each total with seeds of their own; their mean counts.
    every : int | None, optional
        None: measured once, before the first step, with models that start afresh; k: again every k steps, from the
        model of that moment, so that the curve tells what the next `rounds` rounds can add to it.
    checks : int, optional
        How many owners the error is estimated with, two trainings for each; 0: no error is stated.
    """

    rounds: int = 10
    points: int = 7
    repeats: int = 1
    every: int | None = None
    checks: int = 8
    makes: ClassVar[tuple[type, ...]] = (MeasuredCurve, Valued, AccuracyPayoff)

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds)
        check_whole("points", self.points)
        check_whole("repeats", self.repeats)
        check_whole("checks", self.checks, 0)
        if self.every is not None:
            check_whole("every", self.every)

    def kind(self, accuracy: Oracle) -> Kind:
        """A curve."""
        return "curve"

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise unless there are data to train on."""
        if not accuracy.inner.retrains:
            what = f"{type(accuracy.inner).__name__} has no data to measure a curve on"
            raise InputError(f"{what}; leave knowledge out (a closed form is known), or give Announced(curve)")

    def before(self, context: Context) -> Known:
        """The last curve, until it is time for the next."""
        last = context.last
        if last is not None and (self.every is None or context.step < last.since + self.every):
            return last
        state = None if self.every is None else context.state
        found = self.measure(context.training, context.seed, max(context.step, 1), state)
        worth = context.accuracy.worth_of(found.worth)  # what is measured is accuracy, and so is the band
        return found if worth is found.worth else replace(found, worth=worth, error=None)

    def measure(self, accuracy: Oracle, seed: int = 0, step: int = 1, state: State | None = None) -> Known:
        """The curve of models that start afresh, or from that of a state; its error and its cost."""
        begun = time.perf_counter()
        training: Training[Any] = training_of(accuracy.inner)
        trained: Trained = training.retrained(self.rounds, seed, state)
        totals = self._totals(trained.engine.data.capacities.sum())
        curve = MeasuredCurve.measure(trained, totals, self.repeats, concave=True, track=_quietly)
        error, checked = band(trained, curve, self.checks)
        trainings = len(totals) * self.repeats + checked
        seconds = time.perf_counter() - begun
        return Known("curve", curve, error, trainings=trainings, seconds=seconds, since=step)

    def _totals(self, most: int) -> Array:
        """0, most / 2^k, ..., most / 2, 3/4 most, most: close where curves bend."""
        parts = [0.0, *(0.5**place for place in range(self.points - 1)), *([0.75] if self.points > 1 else [])]
        return np.unique(np.rint(most * np.array(parts)))


def band(trained: Trained, curve: Accuracy, checks: int) -> tuple[float | None, int]:
    """Half the width of a band around what one owner's data add to the mean worth, its Shapley share divided by n.

    Let e(X) be how much the curve errs about coalition X at all its data, and d(X) how far that is from the mean error
    of coalitions of the same size.  In shares what coalitions of one size have in common cancels:

        |error of a share| <= |e(N) - e(0)| / n + 1 / n sum_{k < n} (D_k + D_{k + 1}),      D_k = max_{|X| = k} |d(X)|

    D_1 and D_{n - 1} are measured with `checks` owners, sizes in between are taken to have the larger of the two; so
    this is an estimate, not a proof.  Also says how many trainings it took; no band without checks.
    """
    capacities = trained.engine.data.capacities.astype(float)
    owners = len(capacities)
    if not checks:
        return None, 0
    drawn = generator(trained.seed, "data").permutation(owners)[: min(checks, owners)]
    alone = np.where(np.eye(owners, dtype=bool)[drawn], capacities, 0.0)
    profiles = np.vstack([np.zeros(owners), capacities, alone, capacities - alone])
    errors = (curve.values(profiles) - trained.values(profiles)).mean(axis=1)
    first, last = (_spread(part) for part in np.split(errors[2:], 2))
    between = np.full(owners + 1, max(first, last))
    between[[0, owners]] = 0.0
    if owners > 1:
        between[1], between[owners - 1] = (first, last) if owners > 2 else (max(first, last),) * 2
    common = abs(errors[1] - errors[0])
    return float((common + np.sum(between[:-1] + between[1:])) / owners), 2 * len(drawn)


def _spread(errors: Array) -> float:
    return float(np.max(np.abs(errors - errors.mean())))


def _quietly(work: list, label: str) -> Iterable:
    return work
