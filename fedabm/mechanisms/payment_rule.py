"""Any function of the reports as a mechanism."""

from __future__ import annotations

import dis
import inspect
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedabm.common.errors import FedabmError, InputError, UserCodeError, in_one_line, nearest
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Rows
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports
from fedabm.views.known import NEEDS, Need

__all__ = ["PaymentRule"]

#: money to each owner (n,), by the accuracies and what all report
Rule = Callable[[Accuracy, Reports], Any]
#: flags that go without saying
_USUAL = {"asks_size": False, "asks_cost": False, "budget_balanced": False, "equal_treatment": True}


@dataclass(frozen=True)
class PaymentRule(Mechanism):
    """The full model for everyone, and payments by a plain function: p(s) = function(accuracy, reports), (n,).

        PaymentRule(lambda accuracy, reports: 0.05 * reports.contribution)

    Payments along the own contribution come from asking it again with another one, slopes from differences.  Nothing is
    known of their shape, so that gains are found by searching, never certified; a subclass of `Mechanism` with curves
    of its own is faster and can be certified.

    The function sees claimed contributions; sizes (else not a number) and costs (else None) only if it asks for them.
    Then every offer is computed from what everybody reported, and a strategy that takes its offer apart could read it:
    where that matters write a subclass.  The other flags say what the function keeps.  `needs` is what the server must
    know of the accuracy; by default nothing if the function never reads its first argument, else "coalitions", which is
    enough to ask for values at what owners claim.

    Parameters
    ----------
    function : Rule
        Payments (owners,) from an accuracy and reports.
    asks_size : bool, optional
        Whether it reads claimed sizes.
    asks_cost : bool, optional
        Whether it reads stated costs.
    budget_balanced : bool, optional
        Whether payments always sum to zero.
    equal_treatment : bool, optional
        Whether equal owners are always paid the same.
    needs : Need | None, optional
        What the server must know for it.
    """

    function: Rule
    asks_size: bool = False
    asks_cost: bool = False  # type: ignore[misc]
    budget_balanced: bool = False  # type: ignore[misc]
    equal_treatment: bool = True  # type: ignore[misc]
    needs: Need | None = field(default=None, repr=False)  # type: ignore[assignment,misc]

    def __post_init__(self) -> None:
        if not callable(self.function):
            got = repr(self.function)
            raise InputError(f"a payment rule is a function of (accuracy, reports), got {got}; give one from Python")
        if self.needs is None:
            object.__setattr__(self, "needs", "coalitions" if _reads_first(self.function) else "nothing")
        if self.needs not in NEEDS:
            raise InputError(f"needs of a payment rule cannot be {self.needs!r}; {nearest(str(self.needs), NEEDS)}")
        object.__setattr__(self, "ignores_size", not self.asks_size)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        flags = {one: getattr(self, one) for one in ("asks_size", "asks_cost", "budget_balanced", "equal_treatment")}
        given = [f"{one}={value}" for one, value in flags.items() if value != _USUAL[one]]
        return f"PaymentRule({', '.join([name, *given])})"

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and the function along each owner's own contribution."""
        if self.asks_cost and reports.cost is None:
            raise InputError("this payment rule needs the owners' reported costs, got none; report them")
        heard = Reports(reports.contribution, reports.size, reports.cost if self.asks_cost else None)
        if not self.asks_size:
            heard = replace(heard, size=np.full(len(heard.size), np.nan))
        asked = RulePayments(self.function, accuracy, heard, np.arange(len(reports.contribution)))
        return full_access(accuracy, reports.contribution, asked, "unknown")


@dataclass(frozen=True)
class RulePayments(Curve):
    """Payments to the owners in `rows` by asking the function with another contribution of theirs in the reports."""

    function: Rule
    accuracy: Accuracy
    reports: Reports
    rows: Rows

    def value(self, x: Array) -> Array:
        trials = x.reshape(len(x), -1)
        found = [[self._paid(owner, one) for one in own] for owner, own in zip(self.rows, trials, strict=True)]
        return np.array(found).reshape(x.shape)

    def slope(self, x: Array) -> Array:
        step = 1e-6 * np.maximum(1.0, np.abs(x))
        low, high = np.maximum(x - step, 0.0), x + step
        return (self.value(high) - self.value(low)) / (high - low)

    def take(self, rows: Rows) -> RulePayments:
        return replace(self, rows=np.asarray(self.rows)[rows])

    def _paid(self, owner: int, contribution: float) -> float:
        claimed = self.reports.contribution.copy()
        claimed[owner] = contribution
        try:
            paid = np.asarray(self.function(self.accuracy, replace(self.reports, contribution=claimed)))
        except FedabmError:
            raise
        except Exception as error:
            who = getattr(self.function, "__name__", "")
            raise UserCodeError(f"the payment rule {who} failed: {in_one_line(error)}") from error
        if paid.shape != claimed.shape or paid.dtype.kind not in "iuf" or not np.all(np.isfinite(paid)):
            wanted = f"one finite number for each of {len(claimed)} owners"
            raise InputError(f"the payment rule gave {reprlib.repr(paid.tolist())}; return {wanted}")
        return float(paid[owner])


def _reads_first(function: Callable[..., Any]) -> bool:
    """Whether a function may read its first argument; of what is no plain function nobody knows."""
    if not inspect.isfunction(function) or not function.__code__.co_argcount:
        return True
    first = function.__code__.co_varnames[0]
    return any(one.argval == first for one in dis.get_instructions(function) if one.opname.startswith("LOAD"))
