"""Ways to and from other tools, each imported when it is used.

games      empirical games for Nashpy, and as files for Gambit
byzfl      attacks of ByzFL as what owners do to their updates
flower     a mechanism and strategic clients inside Flower
recorder   what clients of Flower said, as a log to settle
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
