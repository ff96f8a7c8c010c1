"""What one owner does with its own view: contribute, report, tamper, stay or quit.  One line here per strategy."""

from fedabm.strategies.base import Strategy
from fedabm.strategies.best_response import BestResponse, GradientResponse
from fedabm.strategies.liar import Liar
from fedabm.strategies.quitter import Quitter
from fedabm.strategies.simple import FixedShare, FreeRider, Honest, Random

__all__ = [
    "BestResponse",
    "FixedShare",
    "FreeRider",
    "GradientResponse",
    "Honest",
    "Liar",
    "Quitter",
    "Random",
    "Strategy",
]
