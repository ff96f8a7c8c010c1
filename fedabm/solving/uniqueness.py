"""Whether a game has one equilibrium or several: what can be proven, and why.

Proofs of uniqueness, for convex costs of known families:

- M^Shap climbs one potential Phi (see `potential`).  If the sum A of accuracies is concave in all contributions
  together, so is every A(s_X), hence P; and P holds A(s_i alone)/n for every owner, so it is strictly concave if each
  owner's data alone have strictly falling returns.  A strictly concave function has one maximum, and where it is smooth
  but for the sum of costs, what is best owner by owner is best of all.
- Where payments add nothing but a multiple of the own contribution or cost (M^0, subsidy, cost sharing) and
  a_i = v((W s)_{g_i}) with v' falling strictly: if W is a P-matrix (all principal minors positive), the groups' totals
  are unique.  For two equilibria with group totals S != S' some g has (S_g - S'_g) (W S - W S')_g > 0, as P-matrices
  reverse no vector; say both are positive.  Then another unit brings g's owners strictly less at S, so each gives at
  most as much as at S', contradiction.  Who gives is unique too, unless two owners of a group are indifferent there.

Proof of several, in smooth concave games: the indices sign det(-J) over the owners that are free to move add up to 1
over all equilibria (Simsek, Ozdaglar, Acemoglu 2007), so that one with index -1 is never alone.

D. Gale, H. Nikaido (1965), The Jacobian matrix and global univalence of mappings, Mathematische Annalen 159.
A. Simsek, A. Ozdaglar, D. Acemoglu (2007), Generalized Poincare-Hopf theorem for compact nonsmooth regions, MOR 32(1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.games.accuracy.mixture import Groups
from fedabm.games.curves import Array
from fedabm.solving.game import Game
from fedabm.solving.linear_model import DENSE
from fedabm.solving.opening import is_smooth
from fedabm.solving.potential import has_potential
from fedabm.solving.table import OneGame

__all__ = ["Uniqueness", "index", "is_p_matrix", "uniqueness"]

#: all principal minors of this many groups are quickly looked at
_MOST_GROUPS = 12
#: for more owners than this no Jacobian is taken by differences: two profiles each
_DIFFERENCES = 240
#: a slope or a minor below this share of its scale counts as zero: nothing is proven from it
_NOTHING = 1e-7


@dataclass(frozen=True)
class Uniqueness:
    """`unique` is True or False if that is proven, None if it is open; `reason` says why, in one line.

    Parameters
    ----------
    unique : bool | None
        True or False where that is proven, else None.
    reason : str
        Why, in one line.
    """

    unique: bool | None
    reason: str


def uniqueness(game: Game, profile: Array) -> Uniqueness:
    """What is proven about the number of equilibria of a game, given the profile of one of them."""
    if game.reported is not None:
        return Uniqueness(None, "no proof: costs are reported that are not the true ones")
    if not _convex_costs(game):
        return Uniqueness(None, "no proof: costs are not all convex and of a known family")
    if has_potential(game):
        return _by_potential(game)
    groups = game.accuracy.exposure_groups(game.owners)
    plain = game.mechanism.traits.separable and game.accuracy.traits.of_exponentials
    known = Uniqueness(None, "no proof for this mechanism and accuracy")
    if plain and groups is not None:
        known = _by_margins(game, groups, profile)
    if known.unique is None and game.owners > DENSE:
        return Uniqueness(None, f"{known.reason}; no index is computed for more than {DENSE:,} owners")
    if known.unique is None and index(game, profile) == -1:
        return Uniqueness(
            unique=False, reason="this equilibrium has index -1 and the indices of all add up to 1: there are others"
        )
    return known


def _convex_costs(game: Game) -> bool:
    """Whether every cost is convex over the whole range and of a family whose shape is beyond doubt."""
    breaks = game.costs.kinks(game.owners)
    whole = np.all(breaks >= game.capacities[:, None]) if breaks.shape[1] else True
    return bool(whole and np.all(game.costs.convex) and np.all(game.costs.closed))


def _strict_costs(game: Game) -> NDArray[np.bool_]:
    """Whose cost is strictly convex."""
    return np.broadcast_to(~np.asarray(game.costs.straight, dtype=bool), game.owners)


def _by_potential(game: Game) -> Uniqueness:
    """M^Shap: one equilibrium where the potential is strictly concave."""
    accuracy = game.accuracy
    jumps = bool(np.any(np.isfinite(accuracy.own_jumps(game.owners))))
    if not accuracy.traits.of_exponentials or jumps:
        return Uniqueness(
            None, "an exact potential game, but the sum of accuracies is not known to be strictly concave"
        )
    useful = np.any(accuracy.exponentials(np.zeros(game.owners)).patterns > 0, axis=0)
    # Data that are worth nothing to anybody are given by those only whom they cost nothing.
    dear = game.costs.slope(np.zeros(game.owners)) > 0
    if np.all(useful | dear | _strict_costs(game)):
        return Uniqueness(
            unique=True, reason="an exact potential game (Hart and Mas-Colell) with a strictly concave potential"
        )
    return Uniqueness(None, "an exact potential game, but some owner's data bring and cost nothing")


def _by_margins(game: Game, groups: Groups, profile: Array) -> Uniqueness:
    """M^0 and its like on one curve of weighted totals: by the weights, then by who is indifferent at the margin."""
    if not is_p_matrix(groups.weights):
        return Uniqueness(None, "no proof: the weights between groups of owners are not a P-matrix")
    slope, scale = game.slopes(profile), np.abs(game.costs.slope(profile)) + 1e-300
    indifferent = (np.abs(slope) <= _NOTHING * scale) & ~_strict_costs(game)
    for group in range(len(groups.counts)):
        rows = np.flatnonzero(indifferent & (groups.members == group))
        if len(rows) > 1:
            return _shared_margin(game, profile, rows)
    return Uniqueness(
        unique=True, reason="payoffs fall back on group totals whose weights are a P-matrix, and nobody is indifferent"
    )


def _shared_margin(game: Game, profile: Array, rows: NDArray[np.intp]) -> Uniqueness:
    """Owners of one group that are all indifferent: whatever they give together can be given by any of them."""
    gives, takes = profile[rows] > 0, profile[rows] < game.capacities[rows]
    if not np.any(gives[:, None] & takes[None, :] & ~np.eye(len(rows), dtype=bool)):
        return Uniqueness(None, "no proof: some owners are indifferent, but none can give in another's place")
    some = ", ".join(map(str, rows[:4])) + (", ..." if len(rows) > 4 else "")
    total = float(profile[rows].sum())
    return Uniqueness(
        unique=False,
        reason=f"owners {some} are indifferent: they can share their {total:.6g} in any way; all totals are unique",
    )


def is_p_matrix(weights: Array) -> bool:
    """Whether every principal minor is positive, by more than rounding; of many groups only where that is easily seen.

    >>> is_p_matrix(np.array([[1.0, 3.0], [3.0, 1.0]])), is_p_matrix(np.array([[1.0, 3.0], [0.1, 1.0]]))
    (False, True)
    """
    size = len(weights)
    if np.any(np.diagonal(weights) <= 0):
        return False
    scaled = weights / np.diagonal(weights)[:, None]
    others = np.sum(np.abs(scaled), axis=1) - 1.0
    if np.all(others < 1.0 - _NOTHING) or np.linalg.eigvalsh(scaled + scaled.T)[0] > _NOTHING * size:
        return True
    if size > _MOST_GROUPS:
        return False
    chosen = (np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1 == 1
    return all(_minor(scaled, np.flatnonzero(rows)) > _NOTHING for rows in chosen)


def _minor(matrix: Array, rows: NDArray[np.intp]) -> float:
    """The principal minor over some rows, as a share of the largest it could be by the lengths of the rows."""
    part = matrix[np.ix_(rows, rows)]
    return float(np.linalg.det(part) / np.prod(np.linalg.norm(part, axis=1)))


def index(game: Game, profile: Array) -> int | None:
    """sign det(-J) over the owners that are free to move; None where offers are not smooth or somebody is indifferent.

    Nor is it computed for owners that are too many for a matrix (`linear_model`).

    >>> from fedabm.games.accuracy import GroupWeighted
    >>> from fedabm.mechanisms import NoPayments
    >>> game = Game(GroupWeighted(((1, 3), (3, 1)), (0, 1)), [0.05, 0.05], 100, NoPayments())
    >>> edge = 20**0.5 - 1
    >>> index(game, np.array([edge, 0.0])), index(game, np.array([edge, edge]) / 4)
    (1, -1)
    """
    if not is_smooth(OneGame(game))[0]:
        return None
    slope, scale = game.slopes(profile), np.abs(game.costs.slope(profile)) + 1e-300
    bound = (profile <= 0) | (profile >= game.capacities)
    if np.any(bound & (np.abs(slope) <= 1e-6 * scale)) or np.any(~bound & (np.abs(slope) > 1e-4 * scale)):
        return None
    free = np.flatnonzero(~bound)
    if not len(free):
        return 1
    matrix = _matrix(game, profile)
    if matrix is None:
        return None
    bend = -matrix[np.ix_(free, free)]
    bend = bend / np.maximum(np.abs(np.diagonal(bend)), 1e-300)[:, None]
    if not np.all(np.any(bend, axis=1)):
        return None  # somebody's slope does not change at all
    sign, size = np.linalg.slogdet(bend)
    regular = np.all(np.isfinite(bend)) and size > np.log(1e-6) + np.sum(np.log(np.linalg.norm(bend, axis=1)))
    return int(sign) if regular else None


def _matrix(game: Game, profile: Array) -> Array | None:
    """The Jacobian of few owners, or of some more where the mechanism knows it."""
    if game.owners > DENSE:
        return None
    return game.jacobian(profile) if game.owners <= _DIFFERENCES else game.known_jacobian(profile)
