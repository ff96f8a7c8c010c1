"""Rules against free-riding: reports in, models and money out.  One file each, one line here."""

from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.contribution_subsidy import ContributionSubsidy
from fedabm.mechanisms.no_payments import NoPayments

__all__ = ["ContributionSubsidy", "Mechanism", "NoPayments"]
