"""What the shared model is worth to each owner, in closed form; accuracies from training are in `fedabm.learning`."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
