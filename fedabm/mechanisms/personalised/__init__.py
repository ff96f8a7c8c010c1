"""Rules that train a model for every owner, against which the market is measured.  One line here per rule."""

from fedabm.mechanisms.personalised.base import Personalised
from fedabm.mechanisms.personalised.cfl import CFL
from fedabm.mechanisms.personalised.ditto import Ditto
from fedabm.mechanisms.personalised.fed_amp import FedAMP
from fedabm.mechanisms.personalised.fed_avg import FedAvg
from fedabm.mechanisms.personalised.fed_fomo import FedFomo
from fedabm.mechanisms.personalised.fed_prox import FedProx
from fedabm.mechanisms.personalised.local import Local
from fedabm.mechanisms.personalised.p_fed_graph import PFedGraph

__all__ = [
    "CFL",
    "RIVALS",
    "Ditto",
    "FedAMP",
    "FedAvg",
    "FedFomo",
    "FedProx",
    "Local",
    "PFedGraph",
    "Personalised",
]

#: all of them, with the parameters of iPFL 2025
RIVALS: tuple[Personalised, ...] = (
    Local(),
    FedAvg(),
    FedProx(),
    Ditto(),
    FedAMP(),
    CFL(),
    FedFomo(),
    PFedGraph(),
)
