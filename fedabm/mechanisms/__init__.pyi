from fedabm.mechanisms.banzhaf_share import BanzhafShare as BanzhafShare
from fedabm.mechanisms.base import Mechanism as Mechanism
from fedabm.mechanisms.clarke import Clarke as Clarke
from fedabm.mechanisms.contribution_subsidy import ContributionSubsidy as ContributionSubsidy
from fedabm.mechanisms.cost_sharing import CostSharing as CostSharing
from fedabm.mechanisms.cost_sharing import optimal_rate as optimal_rate
from fedabm.mechanisms.deposit import Deposit as Deposit
from fedabm.mechanisms.fact import FACT as FACT
from fedabm.mechanisms.leave_one_out import LeaveOneOut as LeaveOneOut
from fedabm.mechanisms.market.model_market import ModelMarket as ModelMarket
from fedabm.mechanisms.multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
from fedabm.mechanisms.no_payments import NoPayments as NoPayments
from fedabm.mechanisms.partial_reciprocity import PartialReciprocity as PartialReciprocity
from fedabm.mechanisms.payment_rule import PaymentRule as PaymentRule
from fedabm.mechanisms.personalised.base import Personalised as Personalised
from fedabm.mechanisms.personalised.cfl import CFL as CFL
from fedabm.mechanisms.personalised.cgsv import CGSV as CGSV
from fedabm.mechanisms.personalised.ditto import Ditto as Ditto
from fedabm.mechanisms.personalised.fed_amp import FedAMP as FedAMP
from fedabm.mechanisms.personalised.fed_avg import FedAvgExchange as FedAvgExchange
from fedabm.mechanisms.personalised.fed_fomo import FedFomo as FedFomo
from fedabm.mechanisms.personalised.fed_prox import FedProxExchange as FedProxExchange
from fedabm.mechanisms.personalised.iafl import IAFL as IAFL
from fedabm.mechanisms.personalised.local import LocalOnly as LocalOnly
from fedabm.mechanisms.personalised.p_fed_graph import PFedGraph as PFedGraph
from fedabm.mechanisms.personalised.rffl import RFFL as RFFL
from fedabm.mechanisms.proportional import (
    Proportional as Proportional,
)
from fedabm.mechanisms.proportional import (
    ProportionalData as ProportionalData,
)
from fedabm.mechanisms.proportional import (
    ProportionalValue as ProportionalValue,
)
from fedabm.mechanisms.proportional_shapley import ProportionalShapley as ProportionalShapley
from fedabm.mechanisms.real_fm import RealFM as RealFM
from fedabm.mechanisms.reverse_auction import ReverseAuction as ReverseAuction
from fedabm.mechanisms.score_payments import ScorePayments as ScorePayments
from fedabm.mechanisms.screening import Menu as Menu
from fedabm.mechanisms.screening import Screening as Screening
from fedabm.mechanisms.shapley_share import ShapleyShare as ShapleyShare
from fedabm.mechanisms.tullock_contest import TullockContest as TullockContest
from fedabm.mechanisms.value_shaping import ValueShaping as ValueShaping
from fedabm.mechanisms.value_shaping import shaped_equilibrium as shaped_equilibrium
from fedabm.mechanisms.verification import Verification as Verification
