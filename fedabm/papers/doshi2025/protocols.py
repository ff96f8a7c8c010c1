"""UPBReD, 2P-UPBReD and the strategic form of FedAvg: Doshi et al. 2025, Algorithms 1 to 3."""

from __future__ import annotations

from fedabm.games.accuracy.phased import Schedule
from fedabm.mechanisms import ContributionSubsidy
from fedabm.papers.protocols import Protocol
from fedabm.strategies import MeasuredResponse

__all__ = ["fed_avg_strategic", "two_phase_upbred", "upbred"]


def upbred(gamma: float, least: float = 1.0) -> Protocol:
    """UPBReD: contributions and weights take their steps together.  Doshi et al. 2025, Algorithm 1 and eq. (10)."""
    return Protocol("UPBReD", MeasuredResponse(gamma, least), schedule=Schedule(early=True))


def fed_avg_strategic(
    gamma: float, least: float = 1.0, tolerance: float = 0.01, at_most: int | None = None
) -> Protocol:
    """FedAvgStrategic: contributions settle on frozen weights, then FedAvg.  Doshi et al. 2025, Algorithm 3.

    As printed phase 1 ends at once if all want to reduce; here it ends when nobody moves by more than `tolerance`.
    """
    schedule = Schedule(until_still=tolerance, at_most=at_most)
    return Protocol("FedAvgStrategic", MeasuredResponse(gamma, least), schedule=schedule)


def two_phase_upbred(
    gamma: float, subsidy: float, least: float = 1.0, tolerance: float = 0.01, at_most: int | None = None
) -> Protocol:
    """2P-UPBReD: a subsidy until everybody contributes everything, then pure learning.  Doshi 2025, Algorithm 2.

    As printed phase 1 never ends if somebody's cost exceeds the subsidy; here it also ends when nobody moves by more
    than `tolerance`, or after `at_most` steps.
    """
    schedule = Schedule(until_full=True, until_still=tolerance, at_most=at_most)
    return Protocol("2P-UPBReD", MeasuredResponse(gamma, least), ContributionSubsidy(subsidy), schedule)
