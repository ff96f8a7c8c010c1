"""Exact Shapley values of exponential mixtures, for thousands of owners.

For A(s) = constant - sum_k weight_k exp(-sum_j rate_kj s_j), let q_kj = exp(-rate_kj s_j) be what remains of atom k
after owner j's data.  A mean over all coalitions without i, weighted as in Murhekar et al. 2025, eq. (3), is an
integral over the chance t that each of the others is in (Owen 1972), and the mean of a product of independent factors
factorises:

    phi_i          = sum_k weight_k (1 - q_ki) M_ki
    d phi_i/d s_i  = sum_k weight_k rate_ki q_ki M_ki
    M_ki           = int_0^1 prod_{j != i} (1 - t + t q_kj) dt

M does not depend on owner i's own contribution.  The integrand is a polynomial of degree n - 1, so ceil(n/2)
Gauss-Legendre nodes are exact.  It also falls at least as fast as exp(-t (R - 1)), R = sum_j (1 - q_kj), and its
derivatives are bounded by powers of R, so for many owners about 20 nodes on [0, min(1, 37/(R - 1))] reach rounding
error, and fewer where R is small.

Reference: G. Owen (1972), Multilinear extensions of games, Management Science 18(5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.games.accuracy.mixture import Mixture, lost
from fedabm.games.curves import Array

__all__ = ["chances", "jacobian", "leave_one_out", "leave_two_out", "legendre", "marginals", "potential", "shares"]

#: numbers in one block of (atoms, nodes, owners); small enough to stay in the cache
_BLOCK = 2**16
_CROWD = 16


@dataclass(frozen=True)
class Block:
    """Some atoms at a profile: rates and 1 - q (k, n), nodes t with weights (k, m) or (1, m), factors 1 - t + t q
    (k, m, n) and their products over owners (k, m).
    """

    atoms: slice
    rates: Array
    taken: Array
    t: Array
    t_weight: Array
    factors: Array
    products: Array

    @property
    def means(self) -> Array:
        """M_ki (k, n)."""
        return np.matmul((self.t_weight * self.products)[:, None, :], 1.0 / self.factors)[:, 0, :]


def shares(mixture: Mixture, profile: Array, precision: float = 1e-15) -> Array:
    """phi_i."""
    total = np.zeros(len(profile))
    for block in _blocks(mixture, profile, precision):
        total += mixture.weight[block.atoms] @ (block.taken * block.means)
    return total


def marginals(mixture: Mixture, profile: Array, precision: float = 1e-15) -> Array:
    """d phi_i / d s_i."""
    total = np.zeros(len(profile))
    for block in _blocks(mixture, profile, precision):
        total += mixture.weight[block.atoms] @ (lost(block.rates, profile) * block.means)
    return total


def potential(mixture: Mixture, profile: Array, precision: float = 1e-15) -> float:
    """The Hart-Mas-Colell potential, P = sum_k weight_k int_0^1 (1 - prod_j (1 - t + t q_kj)) / t dt.

    Beyond the last node the product has vanished, and the rest of the integral is that of 1/t.
    """
    total = 0.0
    for block in _blocks(mixture, profile, precision):
        reached = np.log1p(-block.t[:, :, None] * block.taken[:, None, :]).sum(axis=2)
        near = np.sum(block.t_weight * -np.expm1(reached) / block.t, axis=1)
        beyond = -np.log(np.minimum(block.t_weight.sum(axis=1), 1.0))
        total += float(mixture.weight[block.atoms] @ (near + beyond))
    return total


def leave_one_out(mixture: Mixture, profile: Array, precision: float = 1e-15) -> Array:
    """weight_k M_ki as (n, K): what makes phi_i a function of the own contribution alone."""
    means = np.empty((len(profile), len(mixture.weight)))
    # Each atom's means stand by themselves, so that few owners, whose nodes are the same for all, need not go apart.
    together = _BLOCK if (len(profile) + 1) // 2 <= _nodes(0.0, precision) else _CROWD
    for block in _blocks(mixture, profile, precision, most=together):
        means[:, block.atoms] = (mixture.weight[block.atoms, None] * block.means).T
    return means


def leave_two_out(
    mixture: Mixture, profile: Array, others: NDArray[np.intp], precision: float = 1e-15
) -> tuple[Array, Array]:
    """What makes phi_j a function of owner i's contribution x, for the owners j in row i of `others` (n, r).

        phi_j(x) = rest_ij - sum_k taken_kij (1 - exp(-rate_ki x))
        rest_ij  = sum_k weight_k (1 - q_kj) int   prod_{l != i, j} (1 - t + t q_kl) dt
        taken_kij      = weight_k (1 - q_kj) int t prod_{l != i, j} (1 - t + t q_kl) dt

    Gives `rest` (n, r) and `taken` (n, r, K).
    """
    rest, taken = np.zeros(others.shape), np.empty((*others.shape, len(mixture.weight)))
    for block in _blocks(mixture, profile, precision, size=_BLOCK // others.shape[1]):
        weight, inverse = block.t_weight * block.products, 1.0 / block.factors
        without = inverse[..., None] * inverse[:, :, others]
        gained = mixture.weight[block.atoms, None, None] * block.taken[:, others]
        rest += np.sum(gained * np.einsum("km,kmnr->knr", weight, without), axis=0)
        taken[..., block.atoms] = np.moveaxis(gained * np.einsum("km,kmnr->knr", weight * block.t, without), 0, -1)
    return rest, taken


def jacobian(mixture: Mixture, profile: Array, precision: float = 1e-15) -> Array:
    """d(d phi_i / d s_i) / d s_j, (n, n).

    With P_k = prod_j (1-t+t q_kj), for i != j it is
    -sum_k weight_k rate_ki q_ki rate_kj q_kj int t P_k / ((1-t+t q_ki) (1-t+t q_kj)) dt,
    a matrix times its own transpose over all nodes; for i = j it is -sum_k weight_k rate_ki^2 q_ki M_ki.
    """
    owners = len(profile)
    result, diagonal = np.zeros((owners, owners)), np.zeros(owners)
    for block in _blocks(mixture, profile, precision, size=2**20):
        falling = lost(block.rates, profile)
        weight = mixture.weight[block.atoms]
        diagonal += weight @ (block.rates * falling * block.means)
        root = np.sqrt(weight[:, None] * block.t_weight * block.t * block.products)
        side = (root[:, :, None] * falling[:, None, :] / block.factors).reshape(-1, owners)
        result -= side.T @ side
    np.fill_diagonal(result, -diagonal)
    return result


def _blocks(
    mixture: Mixture, profile: Array, precision: float, size: int = _BLOCK, most: int = _CROWD
) -> Iterator[Block]:
    """All atoms, a few at a time."""
    atoms, owners = len(mixture.weight), len(profile)
    together = int(np.clip(size // (20 * owners), 1, most))
    for start in range(0, atoms, together):
        check_time()
        chosen = slice(start, min(start + together, atoms))
        rates = mixture.rates(chosen)
        taken = -np.expm1(-rates * profile)
        t, t_weight = chances(taken.sum(axis=1), owners, precision)
        factors = 1.0 - t[:, :, None] * taken[:, None, :]
        yield Block(chosen, rates, taken, t, t_weight, factors, factors.prod(axis=2))


def chances(crowd: Array, owners: int, precision: float) -> tuple[Array, Array]:
    """Nodes t and weights (k, m) for the integral over the chance of being in, given R = `crowd` of each atom.

    One row where they are the same for all atoms.
    """
    cut = 2.0 - np.log(precision)
    enough = _nodes(min(float(np.max(crowd)), cut), precision)
    exact = (owners + 1) // 2
    x, weight = legendre(min(exact, enough))
    if exact <= enough:
        return x[None, :], weight[None, :]
    limit = np.minimum(1.0, cut / np.maximum(crowd - 1.0, 1e-300))
    return limit[:, None] * x, limit[:, None] * weight


def _nodes(span: float, precision: float) -> int:
    """How many nodes are enough for an integrand that falls by exp(-span)."""
    return int(np.ceil((5.0 + 2.6 * np.sqrt(span)) * np.sqrt(-np.log(precision) / 34.5)))


@lru_cache(maxsize=128)
def legendre(nodes: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1], by Newton's method in the angle.

    The tables of NumPy and SciPy are 10 to 100 times less precise at the ends, where the integrand is largest.
    """
    angle = np.pi * (np.arange(1, nodes + 1) - 0.25) / (nodes + 0.5)
    for _ in range(6):
        x = np.cos(angle)
        before, polynomial = np.ones(nodes), x
        for degree in range(2, nodes + 1):
            before, polynomial = polynomial, ((2 * degree - 1) * x * polynomial - (degree - 1) * before) / degree
        slope = nodes * (x * polynomial - before) / np.sin(angle)
        angle = angle - polynomial / slope
    return np.sin(angle / 2) ** 2, 1.0 / slope**2
