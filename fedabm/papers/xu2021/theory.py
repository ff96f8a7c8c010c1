"""Xu et al. 2021 (CGSV): how near cosines are to Shapley values of the cosine game, row G01."""

from __future__ import annotations

import numpy as np

from fedabm.common.confidence import student
from fedabm.games.curves import Array
from fedabm.papers.ledger.rows import Budget, Finding, holds, row
from fedabm.shapley import coalitions_of, shapley_of_values

#: numbers of a vector, and games that are drawn per number of owners
_LENGTH, _GAMES = 1000, 200
#: mean and standard deviation over ten games, by number of owners, from the authors' public repository
_PRINTED = {5: (0.9760, 0.0206), 10: (0.9839, 0.0133)}
_PRINTED_GAMES = 10


@row(
    "G01",
    "The cosine of an update with the common one approximates its Shapley value: correlation on random vectors",
    published="Pearson 0.976 with 5 owners, 0.984 with 10, over ten games each",
    preset="fedabm list cgsv",
)
def cosine_game(budget: Budget) -> Finding:
    """Gaussian vectors; v(X) = cos(sum of X, sum of all), all coalitions counted."""
    found = {owners: _correlations(owners) for owners in _PRINTED}
    apart = {owners: found[owners].mean() - mean for owners, (mean, _) in _PRINTED.items()}
    width = {owners: _width(found[owners], spread) for owners, (_, spread) in _PRINTED.items()}
    near = all(abs(apart[owners]) <= width[owners] for owners in found)
    shown = (f"{n} owners {found[n].mean():.3f}, {apart[n]:+.3f} +- {width[n]:.3f}" for n in found)
    note = (
        f"over {_GAMES} games, beside the printed mean of {_PRINTED_GAMES}; these are Shapley values of the cosine "
        "game, not of accuracy, of which cosines say less"
    )
    return holds("; ".join(shown), near, note)


def _correlations(owners: int) -> Array:
    """The Pearson correlation in each game with this many owners."""
    rng = np.random.default_rng([2021, owners])
    members = coalitions_of(owners).astype(float)
    return np.array([_one(rng.normal(size=(owners, _LENGTH)), members) for _ in range(_GAMES)])


def _width(found: Array, printed: float) -> float:
    """Half of the 95% interval of the difference of two means, by Student's t with the fewer games' degrees."""
    spread = np.sqrt(found.var(ddof=1) / len(found) + printed**2 / _PRINTED_GAMES)
    return float(spread * student(_PRINTED_GAMES - 1))


def _one(vectors: Array, members: Array) -> float:
    total = vectors.sum(axis=0)
    exact = shapley_of_values(_cosine(members @ vectors, total))
    return float(np.corrcoef(exact, _cosine(vectors, total))[0, 1])


def _cosine(one: Array, other: Array) -> Array:
    """The cosine of each row with a vector; 0 for a row of zeros."""
    sizes = np.linalg.norm(one, axis=-1) * np.linalg.norm(other)
    return (one @ other) / np.maximum(sizes, np.finfo(float).tiny)
