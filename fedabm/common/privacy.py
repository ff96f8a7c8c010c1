"""What updates with Gaussian noise reveal, by the accountant of Opacus (extra `privacy`).

An update is clipped to a length C and gets normal noise of width z C in every coordinate.  All updates of an owner
together are mu-Gaussian differentially private (Dong, Roth & Su 2022, Corollary 3.3), and so (epsilon, delta)-private:

    mu^2 = sum_t 1 / z_t^2,      delta = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

What is hidden is whether an update was sent or zero in its place, from everybody who sees it, the server included.
There is no amplification by sampling, as the server sees who takes part.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import MissingExtraError, check_range, check_whole

__all__ = ["DELTA", "check_accountant", "epsilon_of", "noise_for"]

#: the chance with which epsilon may be exceeded
DELTA = 1e-5
#: the largest mu whose epsilon, about 440, is told from infinity
_LOUDEST = 25.0
_MOST_EPSILON = 400.0


def check_accountant() -> None:
    """Raise unless the accountant is installed."""
    if find_spec("opacus") is None:
        raise MissingExtraError("private updates need Opacus for their accountant; pip install 'fedabm[privacy]'")


def epsilon_of(loss: Array) -> Array:
    """Epsilon at delta = 1e-5 of everybody's mu^2 (..., n): 0 where nothing was sent, infinity without noise."""
    if not np.any(loss):
        return np.zeros(np.shape(loss))
    kinds, places = np.unique(loss, return_inverse=True)
    return np.array([_epsilon(float(one)) for one in kinds])[places].reshape(np.shape(loss))


@lru_cache(maxsize=4096)
def _epsilon(loss: float) -> float:
    if loss == 0.0 or math.isinf(loss):
        return loss
    check_accountant()
    from opacus.accountants.analysis.gdp import delta_eps_mu, eps_from_mu

    mu = math.sqrt(loss)
    if delta_eps_mu(eps=0.0, mu=mu) <= DELTA:
        return 0.0
    return math.inf if mu > _LOUDEST else float(eps_from_mu(mu=mu, delta=DELTA))


def noise_for(epsilon: float, updates: int) -> float:
    """The noise with which this many updates of an owner reveal no more than epsilon, at delta = 1e-5.

    Parameters
    ----------
    epsilon
        The privacy loss in the end, for instance 8.
    updates
        How many updates are sent until then: one per round.

    Returns
    -------
    float
        The width of the noise as a multiple of the clipping length: `PrivateUpdates(noise=...)`.
    """
    from scipy.optimize import brentq

    check_range("epsilon", epsilon, 0.001, _MOST_EPSILON)
    check_whole("updates", updates)
    mu = brentq(lambda mu: _epsilon(mu * mu) - epsilon, 1e-4, _LOUDEST, xtol=1e-12)
    return math.sqrt(updates) / mu
