"""What the server knows of the worth of data, and how much a mechanism needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array

__all__ = ["KINDS", "NEEDS", "Kind", "Known", "Need", "enough", "stronger"]

Kind = Literal["none", "sums", "scores", "coalitions", "curve"]
Need = Literal["nothing", "scores", "coalitions", "curve"]

#: kinds of knowledge, weakest first
KINDS: dict[str, str] = {
    "none": "nothing but what the present model is worth",
    "sums": "the sum of all updates only (secure aggregation)",
    "scores": "a number for each owner",
    "coalitions": "the worth of every coalition of owners at their claims",
    "curve": "the worth at every profile of contributions",
}
#: what mechanisms may need, and the weakest kind that serves them
NEEDS: dict[str, str] = {"nothing": "none", "scores": "scores", "coalitions": "coalitions", "curve": "curve"}


@dataclass(frozen=True)
class Known:
    """What the server knows of the worth of data at one moment.

    Parameters
    ----------
    kind : Kind
        One of `KINDS`.
    worth : Accuracy
        a_i(s) as far as it is known: the accuracy that offers are made of, and the `oracle` of settling.  For
        "coalitions" values are right where every owner is at its claim or at 0, and slopes are 0.
    error : float | None, optional
        Half the width of the band around what one owner's data add to the mean worth; None: not stated.
    trainings : int, optional
        Trainings of a federation that this knowledge took.
    evaluations : int, optional
        Models that were judged for it.
    seconds : float, optional
        How long that took.
    since : int, optional
        The step in which it was found.
    scores : Array | None, optional
        A number for each owner, (n,); None: there are none.
    history : Array | None, optional
        What knowledge is to find in the next round, any shape; None: nothing.
    """

    kind: Kind
    worth: Accuracy
    error: float | None = None
    trainings: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    since: int = 0
    scores: Array | None = None
    history: Array | None = None


def enough(kind: str, needs: str) -> bool:
    """Whether knowledge of this kind serves a mechanism with these needs.

    >>> enough("curve", "coalitions"), enough("scores", "coalitions"), enough("none", "nothing")
    (True, False, True)
    """
    order = list(KINDS)
    return order.index(kind) >= order.index(NEEDS[needs])


def stronger(one: Need, other: Need) -> Need:
    """The larger of two needs.

    >>> stronger("nothing", "coalitions")
    'coalitions'
    """
    order = list(NEEDS)
    return max(one, other, key=order.index)
