"""Reciprocity as measured on trained models: what owners got back for the Shapley share that they gave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from fedabm.games.curves import Array
from fedabm.learning.oracles.coalition import Coalition
from fedabm.shapley import shapley
from fedabm.solving.metrics import reciprocities

__all__ = ["Returned", "measured_reciprocity"]


class Returned(NamedTuple):
    """The least any owner got back per share it gave, and how far that can be off by the sampling alone (95%)."""

    reciprocity: float
    error: float


def measured_reciprocity(
    oracle: Coalition,
    accuracies: Array,
    payments: Array,
    permutations: int | None,
    rng: np.random.Generator,
    sampled: bool = False,
) -> Returned:
    """min_i (a_i + p_i - a_i(0)) / phi_i with phi_i from coalition models in `permutations` sampled orders.

    Murhekar et al. 2025, eq. (4).  Without `permutations` all coalitions are looked at and there is no error.
    `sampled` says that the payments come from another sample of the same size, as those of M^Shap do: then both errors
    add up.  The error is that of the owner with the least, at a level that holds for the least of n.  Nan if nobody
    contributes.
    """
    if not np.any(oracle.profile > 0):
        return Returned(float("nan"), float("nan"))
    if permutations is None:
        shares = shapley(oracle, oracle.profile, "enumeration")
        exact = reciprocities(accuracies, payments, np.asarray(shares), oracle.at_zero(oracle.owners))
        return Returned(float(np.min(exact)), 0.0)
    shares = shapley(oracle, oracle.profile, "monte_carlo", permutations=permutations, rng=rng)
    given = np.asarray(shares)
    ratios = reciprocities(accuracies, payments, given, oracle.at_zero(oracle.owners))
    least = int(np.argmin(ratios))
    if not np.isfinite(ratios[least]) or shares.standard_errors is None:
        return Returned(float(ratios[least]), float("nan"))
    spread = shares.standard_errors[least] * (np.sqrt(2.0) if sampled else abs(ratios[least]))
    quantile = norm.ppf(1 - 0.025 / oracle.owners)
    return Returned(float(ratios[least]), float(quantile * spread / abs(given[least])))
