"""What one owner does with its own view: contribute, report, tamper, stay or quit.  One line here per strategy."""

from fedabm.strategies.attackers import Attacker
from fedabm.strategies.base import Strategy, Wrapper
from fedabm.strategies.best_response import BestResponse, GradientResponse
from fedabm.strategies.learners import (
    EXP3,
    UCB,
    Aspiration,
    EpsilonGreedy,
    FictitiousPlay,
    Imitation,
    LogitResponse,
    QLearning,
    RegretMatching,
    TitForTat,
)
from fedabm.strategies.liar import Liar
from fedabm.strategies.measured import MeasuredResponse
from fedabm.strategies.quitter import Quitter
from fedabm.strategies.simple import AsAsked, FixedShare, FreeRider, Honest, Keep, Random

__all__ = [
    "EXP3",
    "UCB",
    "AsAsked",
    "Aspiration",
    "Attacker",
    "BestResponse",
    "EpsilonGreedy",
    "FictitiousPlay",
    "FixedShare",
    "FreeRider",
    "GradientResponse",
    "Honest",
    "Imitation",
    "Keep",
    "Liar",
    "LogitResponse",
    "MeasuredResponse",
    "QLearning",
    "Quitter",
    "Random",
    "RegretMatching",
    "Strategy",
    "TitForTat",
    "Wrapper",
]
