"""Karimireddy et al. 2022: free-riding, value shaping, proportional rules and screening."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
