"""Publishable figures from the frames of any run or sweep, and the parts that they are drawn with."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
