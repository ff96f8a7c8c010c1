"""Closed forms of what the shared model is worth: the oracles that answer in microseconds."""

from fedabm.games.accuracy.announced import Announced
from fedabm.games.accuracy.base import Accuracy, Exposure, Oracle
from fedabm.games.accuracy.calibrated import Calibrated, Draws
from fedabm.games.accuracy.custom import Custom
from fedabm.games.accuracy.joint import JointQuadratic
from fedabm.games.accuracy.mean_estimation import MeanEstimation, Sharing
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.phased import Phased, Schedule
from fedabm.games.accuracy.power_law import GroupWeighted, PowerLaw
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.accuracy.random_discovery import RandomDiscovery
from fedabm.games.accuracy.separable import Separable
from fedabm.games.accuracy.valued import AccuracyPayoff, CurvedPayoff, LinearPayoff, Valued

__all__ = [
    "Accuracy",
    "AccuracyPayoff",
    "Announced",
    "Calibrated",
    "CurvedPayoff",
    "Custom",
    "Draws",
    "Exposure",
    "GroupWeighted",
    "JointQuadratic",
    "LinearPayoff",
    "MeanEstimation",
    "Oracle",
    "PacBound",
    "Phased",
    "PowerLaw",
    "RandomCoverage",
    "RandomDiscovery",
    "Schedule",
    "Separable",
    "Sharing",
    "Valued",
]
