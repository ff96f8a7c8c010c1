from fedabm.common.privacy import noise_for as noise_for
from fedabm.common.random import Streams as Streams
from fedabm.strategies.adaptive_attacker import AdaptiveAttacker as AdaptiveAttacker
from fedabm.strategies.attackers import ATTACKS as ATTACKS
from fedabm.strategies.attackers import SEEING as SEEING
from fedabm.strategies.attackers import Attacker as Attacker
from fedabm.strategies.attacks.base import Attack as Attack
from fedabm.strategies.base import Strategy as Strategy
from fedabm.strategies.base import Wrapper as Wrapper
from fedabm.strategies.best_response import BestResponse as BestResponse
from fedabm.strategies.best_response import GradientResponse as GradientResponse
from fedabm.strategies.learners.aspiration import Aspiration as Aspiration
from fedabm.strategies.learners.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from fedabm.strategies.learners.exp3 import EXP3 as EXP3
from fedabm.strategies.learners.fictitious_play import FictitiousPlay as FictitiousPlay
from fedabm.strategies.learners.imitation import Imitation as Imitation
from fedabm.strategies.learners.logit_response import LogitResponse as LogitResponse
from fedabm.strategies.learners.q_learning import QLearning as QLearning
from fedabm.strategies.learners.regret_matching import RegretMatching as RegretMatching
from fedabm.strategies.learners.tit_for_tat import TitForTat as TitForTat
from fedabm.strategies.learners.ucb import UCB as UCB
from fedabm.strategies.least_data import LeastData as LeastData
from fedabm.strategies.liar import Liar as Liar
from fedabm.strategies.measured import MeasuredResponse as MeasuredResponse
from fedabm.strategies.private_updates import PrivateUpdates as PrivateUpdates
from fedabm.strategies.quitter import Quitter as Quitter
from fedabm.strategies.simple import (
    AsAsked as AsAsked,
)
from fedabm.strategies.simple import (
    FixedShare as FixedShare,
)
from fedabm.strategies.simple import (
    FreeRider as FreeRider,
)
from fedabm.strategies.simple import (
    Honest as Honest,
)
from fedabm.strategies.simple import (
    Keep as Keep,
)
from fedabm.strategies.simple import (
    Random as Random,
)
