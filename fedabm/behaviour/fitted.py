"""Parameters of behaviour, estimated by simulated moments, with intervals and a check on held-out rounds.

A model is run many times with parameters drawn between bounds.  Half of the runs teach a regression how parameters
follow from moments (the summaries of Fearnhead and Prangle 2012, JRSS B 74); of the other half those whose estimates
lie nearest to that of the data say how far the truth was from it there (Beaumont, Zhang and Balding 2002, Genetics
162; as conformal prediction, Lei et al. 2018, JASA 113).  So intervals hold, for all parameters at once, in 95% of
cases whose truth is drawn between the bounds; they are for the model that is fitted, and say nothing of another one.

    estimate = E[parameters | moments]
    interval = estimate +- c * spread,   c: the quantile of max_j |truth_j - estimate_j| / spread_j of the nearest runs

A parameter that moments cannot tell gets an interval as wide as its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from fedabm.behaviour.moments import moments
from fedabm.behaviour.observed import contributions_of
from fedabm.behaviour.simulated import Build, SimulatedBehaviour, simulate_behaviour
from fedabm.common.errors import InputError, check_range
from fedabm.games.curves import Array

__all__ = ["BehaviourFit", "fit_behaviour"]

#: in how many of 100 cases intervals hold for all parameters at once
LEVEL = 0.95
#: of how many runs the errors make an interval: enough for their 95% quantile
_NEAREST = 150
#: how much large coefficients cost, in variances of a standardised moment
_RIDGE = 1e-3


@dataclass(frozen=True, repr=False)
class BehaviourFit:
    """Estimated parameters with intervals, and what the model says of rounds that it was not fitted to.

    Parameters
    ----------
    table : pd.DataFrame
        One row per parameter: estimate, low, high, and the share of its bounds that the interval covers.
    strange : float
        The share of simulated runs whose moments lie farther from what the model explains than the data's: a small one
        says that no parameters make the model look like these data.
    held_out : pd.DataFrame
        One row per held-out round: the observed mean contribution, the predicted one, and between what 95% of the
        runs with such parameters lie.
    """

    table: pd.DataFrame
    strange: float
    held_out: pd.DataFrame

    def __repr__(self) -> str:
        parts = [
            f"{one.parameter} {one.estimate:.3g} ({one.low:.3g} to {one.high:.3g})" for one in self.table.itertuples()
        ]
        return f"BehaviourFit({', '.join(parts)}; {self.judgement})"

    @property
    def held(self) -> float:
        """The share of held-out rounds whose mean contribution lies where the model says."""
        rows = self.held_out
        return float(rows["observed"].between(rows["low"], rows["high"]).mean())

    @property
    def judgement(self) -> str:
        """Whether the model fits, in words."""
        if self.strange < 0.01:
            return f"the model does not look like these data: {self.strange:.1%} of its runs are as far from it"
        rounds = f"{self.held:.0%} of {len(self.held_out)} held-out rounds lie where it says"
        return f"the model can look like these data, and {rounds}"


def fit_behaviour(
    observed: Any,
    build: Build | SimulatedBehaviour,
    parameters: Mapping[str, tuple[float, float]] | None = None,
    *,
    runs: int = 2000,
    seed: int = 0,
    held_out: float = 0.25,
) -> BehaviourFit:
    """Which parameters of strategies, or shares of types, make a model give what was observed.

    Parameters
    ----------
    observed : Any
        The frames of one run; a table with columns step, owner and contribution; or the path of such a CSV.
    build : Build | SimulatedBehaviour
        Makes the scenario of some parameters, by name, and a seed, with as many owners and rounds as were observed; or
        runs that are there already.
    parameters : Mapping[str, tuple[float, float]] | None, optional
        Lowest and highest value of each parameter; None only with runs that are there already.
    runs : int, optional
        How many runs are simulated: more make estimates sharper.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    held_out : float, optional
        Which share of the rounds, the last ones, is not fitted but predicted.

    Returns
    -------
    BehaviourFit
        Estimates with intervals that hold together in 95% of cases, and a check on the held-out rounds.
    """
    given = contributions_of(observed)
    check_range("held_out", held_out, 0.0, 0.5)
    if not isinstance(build, SimulatedBehaviour):
        if parameters is None:
            raise InputError("no parameters to fit; give for instance {'share': (0.0, 1.0)}")
        build = simulate_behaviour(build, parameters, runs, seed)
    if build.given.shape[1:] != given.shape:
        ours, theirs = "{} rounds and {} owners".format(*given.shape), "{} and {}".format(*build.given.shape[1:])
        raise InputError(f"observed are {ours}, but the model has {theirs}; build as many, or cut the data")
    rounds = max(len(given) - round(held_out * len(given)), 3)
    return _fit(given, rounds, build)


def _fit(given: Array, rounds: int, known: SimulatedBehaviour) -> BehaviourFit:
    """Learn on one half of the runs, and see on the other how far from the truth that is near the data."""
    every = known.moments(rounds)
    features, mine = _features(every, moments(given[:rounds]))
    half = np.arange(len(every)) % 2 == 0
    span = known.high - known.low
    scaled = (known.drawn - known.low) / span
    weights = _ridge(features[half], scaled[half])
    said, here = features @ weights, mine @ weights
    spread = np.std(scaled[~half] - said[~half], axis=0)
    far = np.max(np.abs(said[~half] - here) / spread, axis=1)
    near = np.flatnonzero(~half)[np.argsort(far, kind="stable")[: min(_NEAREST, len(far) // 2)]]
    slope = _ridge(np.column_stack([np.ones(len(near)), said[near] - here]), scaled[near])
    error = scaled[near] - scaled[near].mean(axis=0) - (said[near] - said[near].mean(axis=0)) @ slope[1:]
    centre = np.clip(slope[0], 0.0, 1.0)
    width = np.maximum(error.std(axis=0), 1e-9)
    worst = np.sort(np.max(np.abs(error) / width, axis=1))
    factor = worst[min(int(np.ceil(LEVEL * (len(worst) + 1))), len(worst)) - 1]
    low, high = (np.clip(centre + sign * factor * width, 0.0, 1.0) for sign in (-1.0, 1.0))
    table = pd.DataFrame(
        {
            "parameter": known.names,
            "estimate": known.low + centre * span,
            "low": known.low + low * span,
            "high": known.low + high * span,
            "share of bounds": high - low,
        }
    )
    return BehaviourFit(table, _strange(every, moments(given[:rounds])), _predicted(given, rounds, known, near))


def _features(every: Array, mine: Array) -> tuple[Array, Array]:
    """Standardised moments, their squares and a constant; what lies outside of all runs is moved to their edge."""
    low, high = every.min(axis=0), every.max(axis=0)
    moving = high - low > 1e-12
    middle, spread = every[:, moving].mean(axis=0), every[:, moving].std(axis=0)
    standard = (every[:, moving] - middle) / spread
    own = (np.clip(mine, low, high)[moving] - middle) / spread
    return np.column_stack([np.ones(len(every)), standard, standard**2]), np.concatenate([[1.0], own, own**2])


def _ridge(features: Array, targets: Array) -> Array:
    """Least squares with a small penalty on everything but the constant in front."""
    penalty = _RIDGE * len(features) * np.eye(features.shape[1])
    penalty[0, 0] = 0.0
    return np.asarray(np.linalg.solve(features.T @ features + penalty, features.T @ targets), dtype=float)


def _strange(every: Array, mine: Array) -> float:
    """The share of runs whose moments lie at least as far from their fifth nearest as those of the data."""
    spread = every.std(axis=0)
    moving = spread > 1e-12
    if np.any(np.abs(mine - every.mean(axis=0))[~moving] > 1e-9):
        return 0.0  # what is the same in every run is another number in the data
    tree = cKDTree(every[:, moving] / spread[moving])
    apart, _ = tree.query(tree.data, k=6)
    own, _ = tree.query(mine[moving] / spread[moving], k=5)
    return float(np.mean(apart[:, -1] >= own[-1]))


def _predicted(given: Array, rounds: int, known: SimulatedBehaviour, near: np.ndarray) -> pd.DataFrame:
    """Mean contributions of held-out rounds in the runs with such moments, beside the observed ones."""
    later = known.given[near, rounds:].mean(axis=2)
    low, high = np.quantile(later, [0.025, 0.975], axis=0)
    return pd.DataFrame(
        {
            "round": np.arange(rounds + 1, len(given) + 1),
            "observed": given[rounds:].mean(axis=1),
            "predicted": later.mean(axis=0),
            "low": low,
            "high": high,
        }
    )
