"""The model-sharing market iPFL, part by part: distances, gains, prices, selection; its owners, lies and graphs."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
