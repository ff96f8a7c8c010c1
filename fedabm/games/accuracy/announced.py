"""Accuracies that are really trained while owners decide by others, and the mechanism settles by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from fedabm.common.errors import check_kind
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.accuracy.training import Around, State
from fedabm.games.curves import Array, Rows
from fedabm.games.traits import forward

__all__ = ["Announced"]


@dataclass(frozen=True)
class Announced(Accuracy, Around[State]):
    """The accuracies of a `model`, while owners and mechanism go by `curve`, such as a public one.

    FedBR of Murhekar et al. 2023, Section 5: `Announced(Trained(engine, rounds=50), MeasuredCurve.measure(...))`.
    Whatever an accuracy can be asked beside that is that of the model.

    Parameters
    ----------
    model : Accuracy
        The accuracies that are true.
    curve : Accuracy
        The accuracies by which owners decide and the mechanism settles.
    """

    model: Accuracy
    curve: Accuracy
    # What is told is not what is true.
    stacks = False

    def __post_init__(self) -> None:
        check_kind("the model", self.model, Accuracy)
        check_kind("what is told", self.curve, Accuracy)

    @property
    def owners(self) -> int | None:
        """For how many owners this accuracy is defined; None: any number."""
        return self.model.owners

    @property
    def public(self) -> Accuracy:
        """What is told."""
        return self.curve.public

    @property
    def announces(self) -> str:  # type: ignore[override]
        """The kind of what is told."""
        return self.curve.announces

    def values(self, profiles: Array) -> Array:
        """The model's accuracies."""
        return self.model.values(profiles)

    def restrict(self, rows: Rows) -> Announced:
        """Both with fewer owners."""
        return Announced(self.model.restrict(rows), self.curve.restrict(rows))

    def worth(self, state: State) -> Announced:
        """What the model is worth by now, behind what is told."""
        return replace(self, model=self._training.worth(state))


def _as_the_model(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def asked(self: Announced, *given: Any, **named: Any) -> Any:
        return getattr(self.model, name)(*given, **named)

    return asked


forward(Announced, Accuracy, "model", _as_the_model)
forward(Announced, Oracle, "model", None)
