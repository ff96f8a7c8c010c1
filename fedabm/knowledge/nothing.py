"""The server knows nothing of how worth depends on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.accuracy.present import PresentWorth
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.public import same
from fedabm.views.known import Kind, Known

__all__ = ["Nothing", "standing"]


@dataclass(frozen=True)
class Nothing(Knowledge):
    """Nothing but what the present model is worth: contributions seem to change nothing.

    A rule that needs more pays nothing and rations nobody, as `NoPayments`; the run is declared empty.
    """

    declares_empty: ClassVar[bool] = True
    reads_measured: ClassVar[bool] = True

    def kind(self, accuracy: Oracle) -> Kind:
        """None."""
        return "none"

    def before(self, context: Context) -> Known:
        """What the present models are worth, whatever anybody contributes."""
        return same(context.last, "none", standing(context))


def standing(context: Context) -> Accuracy:
    """What the present models are worth, whatever the profile; without any data before the first step."""
    public = context.accuracy.public
    if not public.tells:
        return public
    measured = context.measured
    if measured is None:
        measured = public.at_zero(len(context.reports.contribution))
    return PresentWorth.renewed(None if context.last is None else context.last.worth, measured)
