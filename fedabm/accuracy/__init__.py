"""Closed forms of what the shared model is worth: the oracles that answer in microseconds."""

from fedabm.accuracy.base import Accuracy, Exposure
from fedabm.accuracy.custom import Custom
from fedabm.accuracy.joint import JointQuadratic
from fedabm.accuracy.pac_bound import PacBound
from fedabm.accuracy.phased import Announced, Phased, Schedule
from fedabm.accuracy.power_law import GroupWeighted, PowerLaw
from fedabm.accuracy.random_coverage import RandomCoverage
from fedabm.accuracy.random_discovery import RandomDiscovery
from fedabm.accuracy.separable import Separable

__all__ = [
    "Accuracy",
    "Announced",
    "Custom",
    "Exposure",
    "GroupWeighted",
    "JointQuadratic",
    "PacBound",
    "Phased",
    "PowerLaw",
    "RandomCoverage",
    "RandomDiscovery",
    "Schedule",
    "Separable",
]
