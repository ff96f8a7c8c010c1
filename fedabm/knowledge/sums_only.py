"""Secure aggregation: the server sees sums of updates, never one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from fedabm.common.errors import InputError, check_kind
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.nothing import Nothing
from fedabm.views.known import Kind, Known, enough

__all__ = ["SumsOnly"]


@dataclass(frozen=True)
class SumsOnly(Knowledge):
    """The sum of all updates only (Bonawitz et al. 2017), `also` knowledge that needs no single update.

    Rules that read single updates are refused, and the evidence names nobody whose update was rejected: such an update
    is still dropped, as if owners had proven the form of what they send (Bell et al. 2020).

    Parameters
    ----------
    also : Knowledge, optional
        Further knowledge, which needs no single update.
    """

    also: Knowledge = field(default_factory=Nothing)
    shows_single: ClassVar[bool] = False
    reads_measured: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_kind("knowledge beside sums", self.also, Knowledge)
        if self.also.keeps_updates:
            who = type(self.also).__name__
            raise InputError(f"{who} reads single updates, which sums only do not show; give Announced or Measured")

    def kind(self, accuracy: Oracle) -> Kind:
        """As the knowledge beside it, at least sums."""
        found = self.also.kind(accuracy)
        return found if enough(found, "scores") else "sums"

    def echoes(self, accuracy: Oracle) -> bool:
        """As the knowledge beside it."""
        return self.also.echoes(accuracy)

    def check(self, accuracy: Oracle, owners: int) -> None:
        """As the knowledge beside it."""
        self.also.check(accuracy, owners)

    def before(self, context: Context) -> Known:
        """What the knowledge beside it says."""
        return self._labelled(self.also.before(context), context)

    def after(self, context: Context) -> Known:
        """What the knowledge beside it says."""
        return self._labelled(self.also.after(context), context)

    def found_again(self, context: Context) -> tuple[Accuracy, ...]:
        """As the knowledge beside it."""
        return self.also.found_again(context)

    @property
    def makes(self) -> tuple[type, ...]:  # type: ignore[override]
        """As the knowledge beside it."""
        return self.also.makes

    def _labelled(self, known: Known, context: Context) -> Known:
        kind = self.kind(context.accuracy)
        return known if known.kind == kind else replace(known, kind=kind)
