"""Claims of a round as a mechanism settles them: the one way from what was claimed to who is paid what."""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags
from fedabm.kernel.settling import counted, settle
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Evidence, Outcome, Reports, ServerView

__all__ = ["check_claims", "settle_claims"]


def settle_claims(
    mechanism: Mechanism,
    accuracy: Accuracy,
    step: int,
    reports: Reports,
    *,
    rejected: Flags | None = None,
    measured: Array | None = None,
) -> Outcome:
    """What a mechanism makes of what owners claim, in one round.

    Parameters
    ----------
    mechanism : Mechanism
        The rule.
    accuracy : Accuracy
        The public accuracy, by which offers are computed.
    step : int
        The number of the round.
    reports : Reports
        Claims; finite and not negative, else `InputError`.
    rejected : array of bool, optional
        Whose update was not used: it is settled as if it had claimed 0.
    measured : array, optional
        What models were really worth, for rules that fine by it.

    Returns
    -------
    Outcome
        With payments that sum to zero where the mechanism promises it.
    """
    check_claims(reports.contribution)
    none = np.zeros(len(reports.contribution), dtype=bool)
    refused = none if rejected is None else rejected
    view = ServerView(step, reports, accuracy, evidence=Evidence(refused, np.zeros(len(none))))
    evidence = None if measured is None else Evidence(refused, measured)
    return settle(mechanism, ServerView(step, counted(view).reports, accuracy, evidence=evidence))


def check_claims(claims: Array) -> None:
    """Raise unless every claim is a finite number that is not negative."""
    bad = ~(np.isfinite(claims) & (claims >= 0))
    if np.any(bad):
        owner = int(np.argmax(bad))
        raise InputError(f"owner {owner} claims {claims[owner]:g} units of data; claim a finite number from 0 on")
