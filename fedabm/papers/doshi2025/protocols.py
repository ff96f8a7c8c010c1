"""UPBReD, 2P-UPBReD and the strategic form of FedAvg: Doshi et al. 2025, Algorithms 1 to 3."""

from __future__ import annotations

from fedabm.games.accuracy.phased import Schedule
from fedabm.mechanisms import ContributionSubsidy
from fedabm.papers.protocols import Protocol
from fedabm.strategies import MeasuredResponse

__all__ = ["fed_avg_strategic", "two_phase_upbred", "upbred"]


def upbred(gamma: float, least: float = 1.0) -> Protocol:
    """UPBReD: contributions and weights take their steps together.  Doshi et al. 2025, Algorithm 1 and eq. (10)."""
    return Protocol("UPBReD", MeasuredResponse(gamma, least))


def fed_avg_strategic(
    gamma: float,
    least: float = 1.0,
    tolerance: float = 0.01,
    at_most: int | None = None,
    *,
    measured: bool = True,
    as_printed: bool = False,
) -> Protocol:
    """FedAvgStrategic: contributions settle on frozen weights, then FedAvg.  Doshi et al. 2025, Algorithm 3.

    As printed phase 1 goes on while somebody wants to contribute more, so that it ends at once, near the start, if all
    want to reduce; here (unless `as_printed`) it ends when nobody moves by more than `tolerance`.  In phase 1 owners
    measure the slope of eq. (10) by a local step; in the authors' code (measured=False) it is 0 there, so that costs
    alone decide and everybody falls to `least`.
    """
    schedule = Schedule(until_still=tolerance, while_rising=as_printed, at_most=at_most, tries=measured)
    name = "FedAvgStrategic as printed" if as_printed else "FedAvgStrategic"
    return Protocol(name, MeasuredResponse(gamma, least), schedule=schedule)


def two_phase_upbred(
    gamma: float,
    subsidy: float,
    least: float = 1.0,
    tolerance: float = 0.01,
    at_most: int | None = None,
    *,
    measured: bool = True,
) -> Protocol:
    """2P-UPBReD: a subsidy until everybody contributes everything, then pure learning.  Doshi 2025, Algorithm 2.

    As printed phase 1 never ends if somebody's cost exceeds the subsidy; here it also ends when nobody moves by more
    than `tolerance`, or after `at_most` steps.  `measured` as in `fed_avg_strategic`.
    """
    schedule = Schedule(until_full=True, until_still=tolerance, at_most=at_most, tries=measured)
    return Protocol("2P-UPBReD", MeasuredResponse(gamma, least), ContributionSubsidy(subsidy), schedule)
