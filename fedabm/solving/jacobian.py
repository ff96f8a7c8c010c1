"""How owners' slopes change with everybody's contributions: J_ij = d^2 u_i / d s_i d s_j.

Profiles are (owners,) or (games, owners), Jacobians have one axis of owners more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism, on_diagonal
from fedabm.views import Reports

__all__ = ["by_differences", "by_differences_at_once", "known", "less_costs"]


def known(rule: Mechanism, accuracy: Accuracy, reports: Reports, costs: Cost, capacities: Array) -> Array | None:
    """The Jacobian if the mechanism knows it."""
    return less_costs(rule.jacobian(accuracy, reports), reports.contribution, costs, capacities)


def less_costs(benefit: Array | None, profile: Array, costs: Cost, capacities: Array) -> Array | None:
    """The Jacobian of benefits less the curvature of costs; None where there is none."""
    # c'' may be infinite at zero (exponents below two); just above zero it is only large.
    curvature = costs.curvature(np.maximum(profile, 1e-9 * capacities))
    return None if benefit is None else benefit - on_diagonal(curvature)


def by_differences(slopes: Callable[[Array], Array], profile: Array, typical: Array | float) -> Array:
    """Column by column; a column is another profile, so this loops over owners.

    `typical` says how large contributions are.  Where slopes are infinite on both sides there is no derivative: nan.
    """
    low, high = _near(profile, typical)
    columns = []
    for owner in range(profile.shape[-1]):
        above, below = profile.copy(), profile.copy()
        above[..., owner], below[..., owner] = high[..., owner], low[..., owner]
        with np.errstate(invalid="ignore"):
            columns.append((slopes(above) - slopes(below)) / (high - low)[..., owner, None])
    return np.stack(columns, axis=-1)


def by_differences_at_once(slopes: Callable[[Array], Array], profiles: Array, typical: Array) -> Array:
    """The same of games (games, owners), whose shifted profiles are one table: first all above, then all below.

    `slopes` takes 2 * owners * games rows: every game once for each column and side, games fastest.
    """
    games, owners = profiles.shape
    low, high = _near(profiles, typical)
    shifted = np.repeat(profiles[None], 2 * owners, axis=0)
    own = np.arange(owners)
    shifted[own, :, own], shifted[owners + own, :, own] = high.T, low.T
    with np.errstate(invalid="ignore"):
        above, below = slopes(shifted.reshape(-1, owners)).reshape(2, owners, games, owners)
        return np.moveaxis((above - below) / (high - low).T[:, :, None], 0, -1)


def _near(profile: Array, typical: Array | float) -> tuple[Array, Array]:
    """Contributions a little below and above."""
    step = 1e-6 * np.maximum(1e-3 * np.asarray(typical)[..., None], np.abs(profile))
    return np.maximum(profile - step, 0.0), profile + step
