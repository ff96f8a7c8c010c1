"""The server applies its mechanism to what it knows, and is held to what the mechanism promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Outcome, ServerView, Transfers

__all__ = ["check_balanced", "check_transfers", "counted", "settle"]


def settle(mechanism: Mechanism, view: ServerView, *, held: bool = True) -> Outcome:
    """What the mechanism decides on reports, oracle and evidence.

    It is `held` to its promise of a balanced budget, unless somebody looks for broken promises.
    """
    outcome = mechanism.settle(view)
    if held and mechanism.budget_balanced:
        check_balanced(type(mechanism).__name__, outcome.payments, view.oracle)
    return outcome


def counted(view: ServerView) -> ServerView:
    """The view with claims of 0 for owners whose report or model update was rejected.

    Setting the claim before the rule is applied, not the payment after it, keeps balanced budgets balanced.
    """
    if view.evidence is None or not np.any(view.evidence.rejected):
        return view
    claims = np.where(view.evidence.rejected, 0.0, view.reports.contribution)
    return replace(view, reports=replace(view.reports, contribution=claims))


def check_balanced(mechanism: str, payments: Array, oracle: Accuracy) -> None:
    """Raise unless the payments of a run sum to zero, up to rounding of the amounts that they are differences of."""
    left = np.abs(payments.sum(axis=-1))
    much = left > 1e-9 * np.maximum(np.abs(payments).sum(axis=-1), 1e-3)
    if np.any(much) and np.any(much & (left > 1e-12 * np.abs(oracle.at_zero(payments.shape[-1])).sum(axis=-1))):
        raise InputError(
            f"{mechanism} promises a balanced budget but its payments sum to {payments.sum():.3g}; "
            "mend the mechanism or set budget_balanced = False"
        )


def check_transfers(transfers: Transfers) -> None:
    """Raise unless every amount is finite and not negative."""
    if not transfers.valid:
        raise InputError("a transfer must be a finite, non-negative amount; swap payer and payee instead")
