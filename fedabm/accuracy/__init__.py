"""Closed forms of what the shared model is worth: the oracles that answer in microseconds."""

from fedabm.accuracy.base import Accuracy, Exposure
from fedabm.accuracy.power_law import GroupWeighted, PowerLaw

__all__ = ["Accuracy", "Exposure", "GroupWeighted", "PowerLaw"]
