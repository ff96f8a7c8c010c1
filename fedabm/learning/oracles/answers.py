"""What owners and mechanisms hold of an oracle that knows everybody's data: a ticket with which to ask, not the oracle.

A trained oracle holds all owners' samples.  An owner's view holds curves, and curves ask an oracle; if that were the
trained one, a strategy could walk from its own view to its neighbour's data.  So curves and mechanisms are given
`ServerAnswers` instead, as in life: the server answers questions about accuracies and shows nothing else.  Which oracle
answers is looked up by ticket among those that are open in this process.  They are held weakly, so that an oracle lives
exactly as long as whoever made it keeps it.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy, Probed
from fedabm.games.accuracy.present import PresentWorth
from fedabm.games.curves import Array, Curve

__all__ = ["Answering", "PresentWorth", "ServerAnswers"]

_OPEN: WeakSet[Answering] = WeakSet()


@dataclass(frozen=True)
class ServerAnswers(Accuracy):
    """Accuracies by asking the server that holds the oracle with this ticket."""

    ticket: str
    owners: int
    costly = True

    def _server(self) -> Answering:
        for oracle in _OPEN:
            if oracle.public == self:
                return oracle
        raise InputError("nobody answers: the oracle behind this accuracy is gone; keep it as long as you ask")

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) at k profiles (k, n)."""
        return self._server().values(profiles)

    def curves(self, profile: Array) -> Curve:
        """Each owner's accuracy along its own contribution; the curves ask, too."""
        return self._server().curves(profile)

    def kinks(self, profile: Array) -> Array:
        """Where the oracle says that its curves have kinks."""
        return self._server().kinks(profile)

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j as the oracle finds them."""
        return self._server().marginals(profile)


class Answering(Accuracy):
    """An oracle that shows only its answers; it calls `_open` when it is made."""

    _answers: ServerAnswers
    costly = True

    @property
    @abstractmethod
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""

    def _open(self) -> None:
        object.__setattr__(self, "_answers", ServerAnswers(uuid.uuid4().hex, self.owners))
        _OPEN.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _OPEN.add(self)  # whoever was stored beside it finds it again

    @property
    def public(self) -> Accuracy:
        """The answers, always the same object."""
        return self._answers

    def curves(self, profile: Array) -> Curve:
        """Each owner's accuracy along its own contribution, by asking."""
        profile = np.asarray(profile, dtype=float)
        return Probed(self.public, profile, np.arange(len(profile)), self.kinks(profile))
