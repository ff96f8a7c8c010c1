"""What flows between owners and server when everyone has a model of its own.

owners train (LocalTask) -> what reaches the server (Sent) -> the mechanism decides -> what is sent back (Exchange)

A mechanism decides by tables of numbers, one row and one column per owner; models stay with whoever trained them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError
from fedabm.games.curves import Array, Flags
from fedabm.views.reports import Reports

__all__ = ["Exchange", "LocalTask", "Models", "Sent", "Since"]

#: rows of models, one per owner, as `Sent` hands them out; only whoever trains looks inside
Models = Any
#: from where a model has moved: from the one that everybody began with, or from what its owner started the round with
Since = Literal["initial", "start"]
#: from inner products (n, n) of models, relative to the initial one, to another table
Formula = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class LocalTask:
    """What owners train on next: from `start`, with strength / 2 |w - pull|^2 added to their loss.

    Without a `start` everyone goes on from the model that it keeps, which the server need not know; without a `pull`
    nothing holds them.

    Parameters
    ----------
    start : Models | None, optional
        Models to start from; None: everyone goes on from its own.
    pull : Models | None, optional
        Models that training is held to; None: nothing holds it.
    strength : float, optional
        Weight of the pull, in strength / 2 |w - pull|^2.
    """

    start: Models | None = None
    pull: Models | None = None
    strength: float = 0.0


@dataclass(frozen=True, eq=False)
class Exchange:
    """What the server sends back.

    taken      (n, n): whether i imports j's model, used or not (None: where there is a weight)

    Parameters
    ----------
    task : LocalTask
        What owners train on next, and send.
    imports : Array
        Shape (owners, owners): how much of j's model goes into i's.
    personal : LocalTask | None, optional
        A second training whose result each owner keeps for itself.
    paid : Array | None, optional
        Shape (owners, owners): what i pays j for its model.
    memory : Any, optional
        What the mechanism finds in its next reports.
    kept : Models | None, optional
        What owners have, and are judged by, after the exchange; None: what they trained.
    imported : Flags | None, optional
        Shape (owners, owners): whether i imports j's model, used or not; None: where there is a weight.
    """

    task: LocalTask
    imports: Array
    personal: LocalTask | None = None
    paid: Array | None = None
    memory: Any = None
    kept: Models | None = None
    imported: Flags | None = None


@dataclass(frozen=True, eq=False)
class Sent:
    """What reached the server in a round, one row per owner that takes part: reports, and models to ask about.

    `usable` says whose model was usable.  The others' count as what their owners started from, and must not be mixed
    into anybody's.  What a kind of models does not know, it says when it is asked.

    Parameters
    ----------
    reports : Reports
        What owners have told the server.
    usable : Flags
        Whose model holds finite numbers only.
    """

    reports: Reports
    usable: Flags

    @property
    def size(self) -> Array:
        """How much data stands behind each model: what its owner says it has, 0 if it says that it used none."""
        return np.where(self.reports.contribution > 0, self.reports.size, 0.0)

    # Tables to decide by

    def products(self) -> Array:
        """Inner products (n, n) of the models, relative to the initial one."""
        raise self._unknown("inner products")

    def distances(self, between: Formula) -> Array:
        """How far apart the models are, by a formula; not a number for models that are not usable."""
        found = between(self.products())
        found[~self.usable], found[:, ~self.usable] = np.nan, np.nan
        return found

    def cosines(self, since: Since) -> Array:
        """The cosine of every two moves, (n, n); 0 between a model that stood still and any other."""
        raise self._unknown("cosines")

    def lengths(self, weights: Array | None = None) -> Array:
        """|sum_j w_kj u_j| with u_j the moves since the start, for weights (k, n); without them |u_j|."""
        raise self._unknown("lengths")

    def drifts(self) -> Array:
        """|s_i - theta^0|, (n,): how far from the initial model each owner started."""
        raise self._unknown("drifts")

    def gaps(self) -> Array:
        """|w_j - s_i|, (n, n): how far each model is from where owner i started."""
        raise self._unknown("gaps")

    def losses(self) -> tuple[Array, Array]:
        """Losses as owner i measures them on its own data: of every model j, (n, n), and of its start, (n,).

        For mechanisms that ask for them (`Mechanism.asks_losses`).
        """
        raise self._unknown("losses")

    # Models to send back

    def mix(
        self, weights: Array, who: NDArray[np.intp] | None = None, instead: NDArray[np.intp] | None = None
    ) -> Models:
        """Mixtures by `weights` (k, n); owner i gets number who[i], without `who` number i of k = n.

        Where there is nothing to mix, or the result leaves the range of numbers, owner i gets what owner instead[i]
        (by default itself) started from.
        """
        raise self._unknown("mixtures")

    def pulled(self, pull: Formula) -> Models:
        """theta_i + sum_j c_ij (theta_j - theta^0) with the coefficients c by a formula."""
        weights = pull(self.products())
        if np.any(weights[:, ~self.usable] * ~np.eye(len(weights), dtype=bool)[:, ~self.usable]):
            raise InputError("a model that is not usable pulls others; give it no weight, it must reach nobody")
        return self.moved(weights)

    def moved(self, weights: Array) -> Models:
        """theta_i + sum_j w_ij (theta_j - theta^0)."""
        raise self._unknown("moved models")

    def stepped(self, weights: Array) -> Models:
        """s_i + sum_j w_ij u_j with u_j the moves since the start, for weights (n, n)."""
        raise self._unknown("steps")

    def masked(self, weights: Array, shares: Array, length: float) -> Models:
        """s_i + the largest share_i of the entries of u, layer by layer, with u = sum_j w_j length u_j / |u_j|."""
        raise self._unknown("masked updates")

    def _unknown(self, what: str) -> InputError:
        return InputError(
            f"{type(self).__name__} have no {what} to decide by; let owners train, use Personal of fedabm.learning"
        )
