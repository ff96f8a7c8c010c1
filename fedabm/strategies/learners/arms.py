"""What learners over a few levels share: a grid of contributions, which of them was played, and what it earned.

An arm is a number below `levels`: arm k is to contribute k / (levels - 1) of the data.  The arm that an owner played
last is remembered as "arm", -1 before there is one.  An owner that does not act repeats its last action: what it
earned in the last step is what that arm earned, however long ago it was chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_whole
from fedabm.common.rowwise import sum_last
from fedabm.games.curves import Array
from fedabm.views import Action, OwnerView

__all__ = ["Arms", "averages", "check_levels", "grid", "mostly", "no_arm", "others_mean", "play", "rewarded", "softmax"]

Arms = NDArray[np.intp]


def check_levels(levels: int) -> None:
    """Raise unless there is something to choose from."""
    check_whole("levels", levels, 2)


def grid(view: OwnerView, levels: int) -> Array:
    """What each arm of each owner contributes, (n, levels)."""
    return view.capacity[:, None] * np.linspace(0.0, 1.0, levels)


def no_arm(n: int) -> Arms:
    """The last arm of owners that have not played yet."""
    return np.full(n, -1, dtype=np.intp)


def play(view: OwnerView, arm: Arms, levels: int, used: str, **memory: Any) -> Action:
    """Contribute what the arm says, say so, and remember it."""
    contribution = view.capacity * np.linspace(0.0, 1.0, levels)[arm]
    return view.truthful(contribution, used=used, memory={"arm": arm, **memory})


def rewarded(view: OwnerView) -> Arms:
    """The rows that have played an arm and know what it earned: a newcomer does not."""
    return np.flatnonzero((view.memory["arm"] >= 0) & np.isfinite(view.last.utility))


def averages(view: OwnerView) -> tuple[Array, Array]:
    """How often each arm has earned something and its mean utility, (n, levels) each, with the last step's."""
    count, worth = view.memory["count"].copy(), view.memory["worth"].copy()
    rows = rewarded(view)
    spots = rows, view.memory["arm"][rows]
    count[spots] += 1
    worth[spots] += (view.last.utility[rows] - worth[spots]) / count[spots]
    return count, worth


def mostly(best: Arms, epsilon: float, levels: int) -> Array:
    """The probabilities (n, levels) of playing the best arm, or with probability epsilon any of them."""
    chances = np.full((len(best), levels), epsilon / levels)
    chances[np.arange(len(best)), best] += 1.0 - epsilon
    return chances


def softmax(values: Array) -> Array:
    """exp(v_k) / sum_l exp(v_l) for each row.

    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    grown = np.exp(values - values.max(axis=1, keepdims=True))
    return grown / sum_last(grown)[:, None]


def others_mean(view: OwnerView) -> Array:
    """What the others said they contributed on average, from the public total; an owner that is alone sees 0."""
    return np.maximum(view.total - view.last.contribution, 0.0) / max(view.present - 1, 1)
