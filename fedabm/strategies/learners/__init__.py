"""Owners that learn from what they were paid, told or saw: one rule of learning per file."""

from fedabm.strategies.learners.aspiration import Aspiration
from fedabm.strategies.learners.epsilon_greedy import EpsilonGreedy
from fedabm.strategies.learners.exp3 import EXP3
from fedabm.strategies.learners.fictitious_play import FictitiousPlay
from fedabm.strategies.learners.imitation import Imitation
from fedabm.strategies.learners.logit_response import LogitResponse
from fedabm.strategies.learners.q_learning import QLearning
from fedabm.strategies.learners.regret_matching import RegretMatching
from fedabm.strategies.learners.tit_for_tat import TitForTat
from fedabm.strategies.learners.ucb import UCB

__all__ = [
    "EXP3",
    "UCB",
    "Aspiration",
    "EpsilonGreedy",
    "FictitiousPlay",
    "Imitation",
    "LogitResponse",
    "QLearning",
    "RegretMatching",
    "TitForTat",
]
