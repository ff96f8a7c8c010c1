"""The server announces a curve and settles by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fedabm.common.errors import InputError, check_kind
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.public import same
from fedabm.views.known import Kind, Known

__all__ = ["AnnouncedCurve"]


@dataclass(frozen=True)
class AnnouncedCurve(Knowledge):
    """A `curve` that the server announces and settles by, whatever is true; nobody has measured its error.

    Murhekar et al. 2023, Section 5.1: a public curve while the model is really trained.

    Parameters
    ----------
    curve : Accuracy
        The accuracy that is announced and settled by.
    """

    curve: Accuracy

    def __post_init__(self) -> None:
        check_kind("the announced curve", self.curve, Accuracy)

    def kind(self, accuracy: Oracle) -> Kind:
        """The kind of what the curve itself tells."""
        return cast("Kind", self.curve.announces) if self.curve.tells else "none"

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise if the curve is one for another number of owners."""
        width = self.curve.owners
        if width not in (None, owners):
            raise InputError(f"{owners} owners but an announced curve for {width}; give the same number")

    def before(self, context: Context) -> Known:
        """The curve."""
        return same(context.last, self.kind(context.accuracy), self.curve.public)

    def found_again(self, context: Context) -> tuple[Accuracy, ...]:
        """The curve."""
        return (self.curve.public,)
