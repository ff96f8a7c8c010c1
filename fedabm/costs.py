"""What data costs its owner: c(s), private, never falling, and convex between its kinks."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
