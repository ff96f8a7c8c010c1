"""Columns that say how fair a run is, beside what every owner reaches alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.collaboration import collaborative_fairness, share_as_well_as_alone
from fedabm.results.entries import Column
from fedabm.results.round import Round

__all__ = ["accuracy_alone", "fairness_columns"]


def accuracy_alone(accuracy: Accuracy, capacities: Any) -> Array:
    """What every owner reaches by itself with all its data, (n,): a_i(0, ..., m_i, ..., 0).

    Parameters
    ----------
    accuracy : Accuracy
        A closed form, or what trains anew: `Trained(engine, rounds)`, or `Learning.retrained(rounds, seed)`.
    capacities : array
        How much data each owner has.

    Returns
    -------
    numpy.ndarray
        An accuracy for each owner.

    Examples
    --------
    >>> from fedabm.accuracy import PowerLaw
    >>> accuracy_alone(PowerLaw(), [1.0, 3.0])
    array([0.5 , 0.75])
    """
    return np.diagonal(accuracy.values(np.diag(np.asarray(capacities, dtype=float)))).copy()


def fairness_columns(alone: Any, tolerance: float = 0.0) -> tuple[Column, ...]:
    """Columns for `Scenario(columns=...)`: the accuracy alone, its correlation with that received, who gets as much.

    Parameters
    ----------
    alone : array
        What every owner reaches alone, (n,), such as `accuracy_alone` gives.
    tolerance : float, optional
        By how much less still counts as as well as alone.

    Returns
    -------
    tuple of Column
        `alone` of the owners; `fairness` and `as_well_as_alone` of the steps.
    """
    given = tuple(finite_vector("accuracies alone", alone, len(alone)).tolist())
    return (
        Column("owners", "alone", _Comparison(given), "accuracy that it reaches alone with all its data"),
        Column(
            "steps",
            "fairness",
            _Comparison(given, "fairness"),
            "Pearson correlation of the accuracies that owners reach alone and receive (empty: all are alike)",
        ),
        Column(
            "steps",
            "as_well_as_alone",
            _Comparison(given, "as well", float(tolerance)),
            "share of the owners present that receive at least the accuracy that they reach alone",
            unit="share",
        ),
    )


@dataclass(frozen=True)
class _Comparison:
    """What is received beside what is reached alone: for all owners, or one number per run."""

    alone: tuple[float, ...]
    what: str = "alone"
    tolerance: float = 0.0

    def __call__(self, round: Round) -> Any:
        alone = np.array(self.alone)
        if len(alone) != round.owners:
            raise InputError(f"{len(alone)} accuracies alone but {round.owners} owners; give one per owner")
        if self.what == "alone":
            return np.broadcast_to(alone, round.accuracy.shape)
        rows = zip(np.atleast_2d(round.accuracy), np.atleast_2d(round.stayed), strict=True)
        found = [self._of(alone[there], received[there]) for received, there in rows]
        return np.array(found).reshape(round.shape)

    def _of(self, alone: Array, received: Array) -> float:
        if not len(alone):
            return float("nan")
        if self.what == "fairness":
            return collaborative_fairness(alone, received)
        return share_as_well_as_alone(alone, received, self.tolerance)
