"""Doshi et al. 2025: contributions and weights learned together (UPBReD, 2P-UPBReD)."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
