"""The server knows what the accuracy announces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.knowledge.base import Context, Knowledge
from fedabm.views.known import Kind, Known

__all__ = ["Public", "same"]


@dataclass(frozen=True)
class Public(Knowledge):
    """What the accuracy announces: a closed form itself, of a model in training its `announced` curve, if any."""

    stacks: ClassVar[bool] = True

    def kind(self, accuracy: Oracle) -> Kind:
        """As the accuracy says; none if that does not tell how it changes with contributions."""
        return cast("Kind", accuracy.announces) if accuracy.tells else "none"

    def echoes(self, accuracy: Oracle) -> bool:
        """As the accuracy says."""
        return accuracy.echoes_claims

    def before(self, context: Context) -> Known:
        """The public accuracies; without error where these are the accuracies themselves."""
        public = context.accuracy.public
        return same(context.last, self.kind(context.accuracy), public, 0.0 if public is context.accuracy else None)


def same(last: Known | None, kind: Kind, worth: Accuracy, error: float | None = None) -> Known:
    """What was known last if it is this, so that offers can stand."""
    if last is not None and last.worth is worth and last.kind == kind:
        return last
    return Known(kind, worth, error)
