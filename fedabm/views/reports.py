"""What owners tell the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.games.costs import Cost, of_one_kind
from fedabm.games.curves import Array, Rows

__all__ = ["Reports", "TermsCache"]


class TermsCache:
    """Where the server keeps what it has computed from reported types, as long as they stand.

    A solver asks for offers at thousands of profiles of contributions while nobody changes what it says about its cost.
    Nothing depends on what was asked before but the time it takes.
    """

    def __init__(self) -> None:
        self._known: tuple[Any, Any, Reports, Any] | None = None

    def terms(self, compute: Callable[[Any, Reports], Any], accuracy: Any, reports: Reports) -> Any:
        """compute(accuracy, types) for the types in the reports, unless it was just computed for equal ones."""
        known = self._known
        if known is None or known[0] != compute or known[1] is not accuracy or not known[2].same_types(reports):
            # A copy, so that whoever changes its reports in place gets another answer.
            types = reports.take(np.arange(len(reports.size))).types
            known = self._known = (compute, accuracy, types, compute(accuracy, types))
        return known[3]


@dataclass(frozen=True)
class Reports:
    """What owners tell the server: claimed contribution, claimed data size, claimed cost function, claimed eagerness.

    `cost` and `eagerness` are None unless the mechanism asks for them.  For a mechanism that remembers, the server adds
    the `owners`' numbers and the `memory` of its last outcome (None in the first round, and wherever a game is solved).
    `cache` keeps what a mechanism computes from types only, for whoever asks again and again.

    Parameters
    ----------
    contribution : Array
        Claimed contributions, shape (owners,).
    size : Array
        Claimed data sizes.
    cost : Cost | None, optional
        Claimed cost functions, where the mechanism asks for them.
    eagerness : Array | None, optional
        Claimed eagerness, where it asks for that.
    owners : NDArray[np.intp] | None, optional
        The owners' numbers.
    memory : Any, optional
        What the mechanism has remembered.
    cache : TermsCache | None, optional
        Keeps what follows from sizes and costs only.
    """

    contribution: Array
    size: Array
    cost: Cost | None = None
    eagerness: Array | None = None
    owners: NDArray[np.intp] | None = None
    memory: Any = None
    cache: TermsCache | None = field(default=None, compare=False, repr=False)

    def take(self, rows: Rows) -> Reports:
        """The reports of some owners."""
        cost = None if self.cost is None else self.cost.take(rows)
        eagerness = None if self.eagerness is None else self.eagerness[rows]
        owners = None if self.owners is None else self.owners[rows]
        return Reports(self.contribution[rows], self.size[rows], cost, eagerness, owners, self.memory, self.cache)

    @property
    def types(self) -> Reports:
        """What owners say they are, without what they say they do: contributions are not a number."""
        unknown = np.full(len(self.size), np.nan)
        return Reports(unknown, self.size, self.cost, self.eagerness)

    def same_types(self, other: Reports) -> bool:
        """Whether others report the same sizes, costs and eagerness."""
        if self.cost is other.cost:
            return _same(self.size, other.size) and _same(self.eagerness, other.eagerness)
        if not all(_same(one, two) for one, two in zip(self._figures, other._figures, strict=True)):
            return False
        if self.cost is None or other.cost is None:
            return True
        return bool(np.all(of_one_kind(self.cost, other.cost, len(self.size))))

    @property
    def _figures(self) -> tuple[Array | None, ...]:
        return self.size, None if self.cost is None else self.cost.figures(), self.eagerness


def _same(one: Array | None, two: Array | None) -> bool:
    return one is two or (one is not None and two is not None and np.array_equal(one, two))
