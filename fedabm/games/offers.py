"""What a mechanism offers every owner, as a function of that owner's own contribution.

A mechanism is a rule from reports to models and money.  Holding the others' reports fixed, owner i faces three curves
of its own contribution x:

    accuracy_i(x)   what the model trained on all data would be worth to it,
    received_i(x)   what the model it is handed is worth to it (at most accuracy_i),
    payment_i(x)    money to it.

Settling a step is evaluating the curves at the reports; a best response is maximising received + payment - cost; the
certified gap is the largest such gain.  So one piece of code per mechanism serves agents and solver alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedabm.common.arrays import apart, made, select_rows
from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Cap, Curve, Line, Rows, is_affine

Shape = Literal["concave", "monotone", "unknown"]

__all__ = ["ModelShare", "Offers", "Shape", "all_kinks", "full_access", "nothing"]


class ModelShare(Curve):
    """What a rule hands over that states the share of the full model itself, and not only what it is worth."""

    #: the share never falls with the own contribution where accuracies do not
    grows: bool = False

    @abstractmethod
    def share(self, x: Array, full: Array | None = None) -> Array:
        """The share of the full model, also of one that is worth nothing; `full` is its worth, if that is known."""


@dataclass(frozen=True)
class Offers:
    """The curves that owners face.

    Between two neighbouring `kinks` (n, b) of an owner its benefit received + payment has the `shape`: "concave",
    "monotone" (it never falls, at kinks neither) or "unknown".  At a kink it may jump; a kink at 0 means that it does.
    The certified gap relies on the shape and looks whether it holds (`check_promises`); of an unknown shape nothing is
    proven.  Where a payment refunds part of a cost, `refund` is that part, its kinks are among the `kinks`, and the
    benefit without it is concave between them.  The benefit never exceeds any of the `caps`, which start at kinks:
    where it follows one, that is a much shorter proof than its growth.

    Parameters
    ----------
    accuracy : Curve
        Accuracy of the full model along the own contribution.
    received : Curve
        What the model that is handed over is worth.
    payment : Curve
        Money to the owner.
    kinks : Array
        Own contributions at which curves bend or jump, shape (owners, kinks).
    shape : Shape
        "concave", "monotone" or "unknown" between kinks.
    refund : Cost | None, optional
        The part of the cost that payments refund.
    caps : tuple[Cap, ...], optional
        Lines that the benefit never exceeds.
    """

    accuracy: Curve
    received: Curve
    payment: Curve
    kinks: Array
    shape: Shape
    refund: Cost | None = None
    caps: tuple[Cap, ...] = ()

    def __post_init__(self) -> None:
        for name in ("accuracy", "received", "payment"):
            if not isinstance(getattr(self, name), Curve):
                got = type(getattr(self, name)).__name__
                raise InputError(f"{name} of offers must be a curve, got {got}; for instance Line(numbers, slopes)")

    @property
    def benefit(self) -> Curve:
        """received + payment."""
        free = isinstance(self.payment, Line) and self.payment.zero
        return self.received if free else self.received + self.payment

    def access(self, claimed: Array, full: Array | None = None) -> Array:
        """The share of the full model that owners are handed for what they claim: stated, or received / accuracy.

        Where a rule states no share (`ModelShare`), all of a model is handed over that by all claims is worth nothing:
        rules that promise a worth cannot ration it.  Whoever claims too little for a model, and uses enough, then has
        all of it.  `full` is what the full model is worth, if that is known.
        """
        if self.received is self.accuracy:
            return np.ones(claimed.shape)
        if isinstance(self.received, ModelShare):
            return np.clip(self.received.share(claimed, full), 0.0, 1.0)
        full = self.accuracy.value(claimed) if full is None else full
        received = self.received.value(claimed)
        return np.clip(np.divide(received, full, out=np.ones_like(full), where=full > 0), 0.0, 1.0)

    def take(self, rows: Rows) -> Offers:
        """What some owners are offered."""
        accuracy, payment = self.accuracy.take(rows), self.payment.take(rows)
        received = accuracy if self.received is self.accuracy else self.received.take(rows)
        refund = None if self.refund is None else self.refund.take(rows)
        caps = tuple(cap.take(rows) for cap in self.caps)
        return Offers(accuracy, received, payment, select_rows(self.kinks, rows), self.shape, refund, caps)

    def singly(self) -> Iterator[Offers]:
        """What each owner is offered, one by one."""
        rows = len(self.kinks)
        if self.refund is not None or self.caps or self.received is not self.accuracy:
            yield from (self.take([row]) for row in range(rows))
            return
        curves = self.accuracy.singly(rows), self.payment.singly(rows)
        for accuracy, payment, kinks in zip(*curves, apart(self.kinks), strict=True):
            yield made(
                Offers,
                accuracy=accuracy,
                received=accuracy,
                payment=payment,
                kinks=kinks,
                shape=self.shape,
                refund=None,
                caps=(),
            )


def all_kinks(offers: Offers, cost: Cost) -> Array:
    """Own contributions (n, b) between which received + payment - cost is as smooth as promised."""
    own = cost.kinks(len(offers.kinks))
    return np.concatenate([offers.kinks, own], axis=-1) if own.shape[1] else offers.kinks


def nothing(owners: int | tuple[int, ...]) -> Line:
    """No payment, whatever the contribution, to this many owners, or to all of a table (runs, owners)."""
    none = np.broadcast_to(0.0, owners)
    return Line(none, none)


def full_access(accuracy: Accuracy, profile: Array, payment: Curve, shape: Shape | None = None) -> Offers:
    """Everyone is handed the full model; only payments differ between mechanisms.

    Without a `shape` it is the accuracy's own where payments are straight lines (`Line`, their sums and multiples),
    which keep a concave accuracy concave and, unless they fall, a growing one growing; else it is unknown.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Array
        What everybody claims to contribute, shape (owners,).
    payment : Curve
        Money to each owner along its own contribution.
    shape : Shape | None, optional
        Shape of the benefit between kinks, where it is known.

    Returns
    -------
    Offers
        The offers.
    """
    curves = accuracy.curves(profile)
    if shape is None:
        shape = _shape_with(accuracy, payment, profile.shape) if is_affine(payment) else "unknown"
    return Offers(curves, curves, payment, accuracy.kinks(profile), shape)


def _shape_with(accuracy: Accuracy, lines: Curve, owners: tuple[int, ...]) -> Shape:
    """What is known of an accuracy plus straight lines."""
    if accuracy.concave:
        return "concave"
    falls = bool(np.any(lines.slope(np.zeros(owners)) < 0))
    return "monotone" if accuracy.monotone and not falls else "unknown"
