"""The group-weighted closed form, fitted to accuracies of trained models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from fedabm.calibration.fitting import fit_bounded
from fedabm.common.errors import InputError, check_whole, nearest
from fedabm.games.accuracy.power_law import GroupWeighted
from fedabm.games.curves import Array
from fedabm.learning.oracles.trained import Trained

__all__ = ["Fit", "Points", "corners", "fit_groups", "measure_corners", "measure_groups"]

_COMMON = ("scale", "exponent", "offset", "ceiling")


@dataclass(frozen=True)
class Fit:
    """A fitted accuracy and how well it fits; `residuals` (k, G) are measured minus fitted accuracies.

    Parameters
    ----------
    accuracy : GroupWeighted
        The fitted accuracy.
    r_squared : float
        The share of variance that it explains.
    rmse : float
        Root of the mean squared residual.
    residuals : Array
        Shape (points, groups): measured less fitted.
    """

    accuracy: GroupWeighted
    r_squared: float
    rmse: float
    residuals: Array

    @property
    def chance(self) -> float:
        """The accuracy without any data, a_g(0)."""
        return float(self.accuracy.curve(np.zeros(1))[0])

    def usable(self, least: float = 0.5) -> bool:
        """Whether the fit explains at least this share of the variance; what is solved on a bad fit says nothing."""
        return bool(self.r_squared >= least)


class Points(NamedTuple):
    """Data of every group (k, G) and the mean accuracy of its owners (k, G)."""

    totals: Array
    accuracies: Array


def fit_groups(
    totals: Any,
    accuracies: Any,
    groups: Sequence[int],
    *,
    scale: float = 1.0,
    exponent: float = 1.0,
    offset: float = 1.0,
    ceiling: float = 1.0,
    free: Sequence[str] = (),
    least: float | None = None,
) -> Fit:
    """Fit a_g = ceiling - scale * (offset + sum_h w_gh S_h)^-exponent to points by non-linear least squares.

    Murhekar et al. 2025, Section 5.1, where only the weights w_gh >= 0 are fitted.  `totals` (k, G) are the data of
    each group and `accuracies` (k, G) what its owners got; `groups` is the group of each owner.  Parameters named in
    `free` are fitted too, from the given values on; with "scale" among them the accuracy without data, which the paper
    has at 0, is a free chance level, ceiling - scale * offset^-exponent.  A fit with an R^2 below `least` is refused.

    >>> S = np.array([[5.0, 0.0], [0.0, 5.0], [5.0, 5.0]])
    >>> fit = fit_groups(S, 1 - 1 / (1 + S @ np.array([[1.0, 0.25], [0.5, 2.0]]).T), groups=[0, 1, 1])
    >>> fit.accuracy.table.round(6).tolist(), round(fit.r_squared, 6)
    ([[1.0, 0.25], [0.5, 2.0]], 1.0)

    Parameters
    ----------
    totals : Any
        Shape (points, groups): data of each group.
    accuracies : Any
        Shape (points, groups): what its owners got.
    groups : Sequence[int]
        The group of each owner, from 0 on.
    scale : float, optional
        Where the fit starts, or the fixed value.
    exponent : float, optional
        Where the fit starts, or the fixed value.
    offset : float, optional
        Where the fit starts, or the fixed value.
    ceiling : float, optional
        Where the fit starts, or the fixed value.
    free : Sequence[str], optional
        Which of these are fitted, too.
    least : float | None, optional
        An R^2 below this is refused.

    Returns
    -------
    Fit
        The fit.
    """
    points = _points(totals, accuracies, len(free))
    unknown = [name for name in free if name not in _COMMON]
    if unknown:
        raise InputError(f"cannot fit {unknown[0]!r}; {nearest(unknown[0], _COMMON)}")
    given = dict(zip(_COMMON, (scale, exponent, offset, ceiling), strict=True))
    GroupWeighted([[1.0]], [0], **given)
    weights, found = _solve(points, given, tuple(free))
    accuracy = GroupWeighted(weights, np.asarray(groups), **found)
    residuals = points.accuracies - accuracy.curve(points.totals @ weights.T)
    spread = float(np.sum((points.accuracies - points.accuracies.mean()) ** 2))
    lost = float(np.sum(residuals**2))
    quality = 1.0 - lost / spread if spread > 0 else np.nan
    found_fit = Fit(accuracy, quality, float(np.sqrt(np.mean(residuals**2))), residuals)
    if least is not None and not found_fit.usable(least):
        raise InputError(
            f"the fit has an R^2 of {quality:.3g}, less than {least:g}: it describes nothing; train more points or "
            "leave more parameters free"
        )
    return found_fit


def measure_groups(oracle: Trained, groups: Sequence[int], points: int, rng: np.random.Generator) -> Points:
    """Train on a random share of each group's data, `points` times, without strategic behaviour.

    Parameters
    ----------
    oracle : Trained
        What trains.
    groups : Sequence[int]
        The group of each owner, from 0 on.
    points : int
        How many random profiles.
    rng : np.random.Generator
        The generator that draws them.

    Returns
    -------
    Points
        Totals and accuracies by group.
    """
    check_whole("points", points)
    belongs = _membership(oracle, groups)
    shares = rng.uniform(size=(points, belongs.shape[1]))
    return _measured(oracle, belongs, np.rint(shares @ belongs.T * oracle.engine.data.capacities))


def corners(oracle: Trained, groups: Sequence[int], samples: float) -> Array:
    """The profiles (2^G, n) in which every group gives nothing or `samples`, the same from each of its owners.

    Murhekar et al. 2025, Appendix E: "0 and 200 batches from each group".

    Parameters
    ----------
    oracle : Trained
        What trains.
    groups : Sequence[int]
        The group of each owner, from 0 on.
    samples : float
        What each owner of a group gives, or nothing.

    Returns
    -------
    Array
        Shape (2^groups, owners).
    """
    belongs = _membership(oracle, groups)
    each = belongs @ (samples / belongs.sum(axis=0))
    short = each > oracle.engine.data.capacities * (1 + 1e-9)
    if np.any(short):
        owner = int(np.argmax(short))
        has = f"owner {owner} has {oracle.engine.data.capacities[owner]} samples"
        raise InputError(f"{has} and would give {each[owner]:.0f} of its group's {samples:g}; ask groups for less")
    kinds = belongs.shape[1]
    given = (np.arange(2**kinds)[:, None] >> np.arange(kinds)) & 1
    return np.rint(given @ belongs.T * each)


def measure_corners(oracle: Trained, groups: Sequence[int], profiles: Array) -> Points:
    """Train on each of these profiles; `corners` makes the paper's.

    Parameters
    ----------
    oracle : Trained
        What trains.
    groups : Sequence[int]
        The group of each owner, from 0 on.
    profiles : Array
        Shape (points, owners).

    Returns
    -------
    Points
        Totals and accuracies by group.
    """
    return _measured(oracle, _membership(oracle, groups), profiles)


def _membership(oracle: Trained, groups: Sequence[int]) -> Array:
    """Who belongs to which group, (n, G)."""
    members, capacities = np.asarray(groups), oracle.engine.data.capacities
    if members.shape != capacities.shape:
        raise InputError(f"groups of {len(members)} owners but {len(capacities)} owners; give the group of each owner")
    if members.dtype.kind not in "iu" or members.min() < 0:
        raise InputError(f"groups must be whole numbers from 0 on, got {members.tolist()}; number them")
    belongs = (members[:, None] == np.arange(members.max() + 1)).astype(float)
    if not np.all(belongs.any(axis=0)):
        raise InputError(f"group {int(np.argmin(belongs.any(axis=0)))} has no owner; number the groups from 0 on")
    return belongs


def _measured(oracle: Trained, belongs: Array, profiles: Array) -> Points:
    """The data of every group and the mean accuracy of its owners."""
    return Points(profiles @ belongs, oracle.values(profiles) @ belongs / belongs.sum(axis=0))


def _solve(points: Points, given: dict[str, float], free: tuple[str, ...]) -> tuple[Array, dict[str, float]]:
    """The best weights and common parameters."""
    totals, heights = points
    size = heights.shape[1]

    def spread(numbers: Array) -> tuple[Array, dict[str, float]]:
        common = numbers[size * size :].tolist()
        return numbers[: size * size].reshape(size, size), given | dict(zip(free, common, strict=True))

    def residuals(numbers: Array) -> Array:
        weights, common = spread(numbers)
        exposure = np.maximum(common["offset"] + totals @ weights.T, 1e-12)
        fitted = common["ceiling"] - common["scale"] * exposure ** -common["exponent"]
        return (fitted - heights).ravel()

    guess = np.concatenate([_linear_guess(points, given).ravel(), [given[name] for name in free]])
    lowest = np.concatenate([np.zeros(size * size), np.full(len(free), 1e-9)])
    return spread(fit_bounded(residuals, guess, lowest))


def _linear_guess(points: Points, given: dict[str, float]) -> Array:
    """Without noise the form is linear in the weights: (scale / (ceiling - a))^(1/exponent) - offset = sum w S."""
    gap = np.maximum(given["ceiling"] - points.accuracies, 1e-3 * given["ceiling"])
    exposure = np.maximum((given["scale"] / gap) ** (1 / given["exponent"]) - given["offset"], 0.0)
    return np.array([nnls(points.totals, column)[0] for column in exposure.T])


def _points(totals: Any, accuracies: Any, free: int) -> Points:
    points = Points(np.asarray(totals, dtype=float), np.asarray(accuracies, dtype=float))
    shapes = f"totals {points.totals.shape} and accuracies {points.accuracies.shape}"
    if points.totals.ndim != 2 or points.totals.shape != points.accuracies.shape:
        raise InputError(f"{shapes} do not match; give a row per trained model and a column per group")
    if not (
        np.all(np.isfinite(points.totals)) and np.all(np.isfinite(points.accuracies)) and np.all(points.totals >= 0)
    ):
        raise InputError("totals and accuracies must be finite and totals not negative; remove the others")
    needed = points.totals.shape[1] + (free > 0)
    if len(points.totals) < needed:
        raise InputError(f"{len(points.totals)} points for {points.totals.shape[1]} groups; train at least {needed}")
    return points
