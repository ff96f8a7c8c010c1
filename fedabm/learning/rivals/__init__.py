"""Rules that train a model for every owner, against which the market is measured.  One line here per rule."""

from fedabm.learning.rivals.base import Personalised
from fedabm.learning.rivals.cfl import CFL
from fedabm.learning.rivals.ditto import Ditto
from fedabm.learning.rivals.fed_amp import FedAMP
from fedabm.learning.rivals.fed_avg import FedAvg
from fedabm.learning.rivals.fed_fomo import FedFomo
from fedabm.learning.rivals.fed_prox import FedProx
from fedabm.learning.rivals.local import Local
from fedabm.learning.rivals.p_fed_graph import PFedGraph

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
