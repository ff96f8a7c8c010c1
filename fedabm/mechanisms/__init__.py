"""Rules against free-riding: reports in, models and money out.  One file each, one line here."""

from fedabm.mechanisms.banzhaf_share import BanzhafShare
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.contribution_subsidy import ContributionSubsidy
from fedabm.mechanisms.cost_sharing import CostSharing
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.partial_reciprocity import PartialReciprocity
from fedabm.mechanisms.proportional import ProportionalData, ProportionalValue
from fedabm.mechanisms.proportional_shapley import ProportionalShapley
from fedabm.mechanisms.screening import Screening
from fedabm.mechanisms.shapley_share import ShapleyShare
from fedabm.mechanisms.value_shaping import ValueShaping

__all__ = [
    "BanzhafShare",
    "ContributionSubsidy",
    "CostSharing",
    "Mechanism",
    "NoPayments",
    "PartialReciprocity",
    "ProportionalData",
    "ProportionalShapley",
    "ProportionalValue",
    "Screening",
    "ShapleyShare",
    "ValueShaping",
]
