"""A feasible mechanism without pure equilibrium: the counter-example to Theorem II as printed."""

from __future__ import annotations

import numpy as np

from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.games.curves import Array

__all__ = ["restless"]


def restless(gain: float = 0.45, taken: float = 0.3) -> tuple[Custom, PowerLaw]:
    """A feasible mechanism of the form max(0, nu_i) without pure equilibrium, and the full model's value v.

    Two owners get max(0, gain * min(m_i, 1) - t_i) with t_1 = taken * m_2 and t_2 = taken * (1 - m_1), m up to 1: nu_i
    is continuous, and concave in m_i.  Owner 1 is served worse the more owner 2 gives.  At cost 0.2 owner 1 gives 1
    if the other gives nothing and nothing if it gives 1; owner 2 does the opposite.
    """

    def taken_from(profiles: Array) -> Array:
        first, second = np.clip(profiles, 0.0, 1.0).T
        return taken * np.column_stack([second, 1.0 - first])

    def received(profiles: Array) -> Array:
        return np.maximum(gain * np.minimum(profiles, 1.0) - taken_from(profiles), 0.0)

    def kinks(profile: Array) -> Array:
        return np.column_stack([taken_from(profile[None])[0] / gain, np.ones(2)])

    return Custom(received, owners=2, concave=True, kinks=kinks), PowerLaw()
