"""What one owner does with its own view: contribute, report, tamper, stay or quit.  One line here per strategy."""

from fedabm.strategies.attackers import Attacker
from fedabm.strategies.base import Strategy, Wrapper
from fedabm.strategies.best_response import BestResponse, GradientResponse
from fedabm.strategies.liar import Liar
from fedabm.strategies.measured import MeasuredResponse, MultiplicativeShare
from fedabm.strategies.quitter import Quitter
from fedabm.strategies.simple import FixedShare, FreeRider, Honest, Keep, Random

__all__ = [
    "Attacker",
    "BestResponse",
    "FixedShare",
    "FreeRider",
    "GradientResponse",
    "Honest",
    "Keep",
    "Liar",
    "MeasuredResponse",
    "MultiplicativeShare",
    "Quitter",
    "Random",
    "Strategy",
    "Wrapper",
]
