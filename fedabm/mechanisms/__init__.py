"""Rules against free-riding: reports in, models and money out.  One file each, one line here."""

from fedabm.mechanisms.banzhaf_share import BanzhafShare
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.clarke import Clarke
from fedabm.mechanisms.contribution_subsidy import ContributionSubsidy
from fedabm.mechanisms.cost_sharing import CostSharing
from fedabm.mechanisms.deposit import Deposit
from fedabm.mechanisms.leave_one_out import LeaveOneOut
from fedabm.mechanisms.market.model_market import ModelMarket
from fedabm.mechanisms.multiplicative_weights import MultiplicativeWeights
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.partial_reciprocity import PartialReciprocity
from fedabm.mechanisms.payment_rule import PaymentRule
from fedabm.mechanisms.personalised.cfl import CFL
from fedabm.mechanisms.personalised.ditto import Ditto
from fedabm.mechanisms.personalised.fed_amp import FedAMP
from fedabm.mechanisms.personalised.fed_avg import FedAvg
from fedabm.mechanisms.personalised.fed_fomo import FedFomo
from fedabm.mechanisms.personalised.fed_prox import FedProx
from fedabm.mechanisms.personalised.local import Local
from fedabm.mechanisms.personalised.p_fed_graph import PFedGraph
from fedabm.mechanisms.proportional import ProportionalData, ProportionalValue
from fedabm.mechanisms.proportional_shapley import ProportionalShapley
from fedabm.mechanisms.screening import Screening
from fedabm.mechanisms.shapley_share import ShapleyShare
from fedabm.mechanisms.tullock_contest import TullockContest
from fedabm.mechanisms.value_shaping import ValueShaping
from fedabm.mechanisms.verification import Verification

__all__ = [
    "CFL",
    "BanzhafShare",
    "Clarke",
    "ContributionSubsidy",
    "CostSharing",
    "Deposit",
    "Ditto",
    "FedAMP",
    "FedAvg",
    "FedFomo",
    "FedProx",
    "LeaveOneOut",
    "Local",
    "Mechanism",
    "ModelMarket",
    "MultiplicativeWeights",
    "NoPayments",
    "PFedGraph",
    "PartialReciprocity",
    "PaymentRule",
    "ProportionalData",
    "ProportionalShapley",
    "ProportionalValue",
    "Screening",
    "ShapleyShare",
    "TullockContest",
    "ValueShaping",
    "Verification",
]
