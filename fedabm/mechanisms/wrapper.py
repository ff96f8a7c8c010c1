"""Another rule with something changed: what all such rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar

from fedabm.common.errors import check_kind
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.offers import Offers
from fedabm.games.traits import forward
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports, ServerView
from fedabm.views.known import Need, stronger

__all__ = ["RuleWrapper"]


@dataclass(frozen=True)
class RuleWrapper(Mechanism):
    """Another `rule` as it is: every flag and method of a mechanism is that of the rule, by what it hears.

    A subclass states what is different: flags, what the rule hears, how it settles.  It needs to know what it says
    itself, or what the rule needs if that is more.
    """

    rule: Mechanism
    needs: ClassVar[Need] = "nothing"
    reads_updates: ClassVar[bool] = False
    checks_claims: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_kind("the rule beside it", self.rule, Mechanism)
        object.__setattr__(self, "needs", stronger(type(self).needs, self.rule.needs))
        for name in ("reads_updates", "checks_claims"):
            object.__setattr__(self, name, getattr(type(self), name) or getattr(self.rule, name))

    def hears(self, reports: Reports) -> Reports:
        """What comes to the rule of the owners' reports: all."""
        return reports

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """Those of the rule."""
        return self.rule.offers(accuracy, self.hears(reports))

    def _heard(self, given: Any) -> Any:
        """An argument of a method as the rule gets it."""
        if isinstance(given, ServerView):
            return replace(given, reports=self.hears(given.reports))
        return self.hears(given) if isinstance(given, Reports) else given


def _as_the_rule(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def asked(self: RuleWrapper, *given: Any, **named: Any) -> Any:
        heard = {key: self._heard(value) for key, value in named.items()}
        return getattr(self.rule, name)(*map(self._heard, given), **heard)

    return asked


forward(RuleWrapper, Mechanism, "rule", _as_the_rule)
