"""Murhekar et al. 2023: equilibria, and welfare under budget-balanced cost sharing (FedBR, FedBR-BG)."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
