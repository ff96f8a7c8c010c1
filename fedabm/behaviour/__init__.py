"""Behaviour fitted to data: which strategies, and with which parameters, owners follow that gave so much and so much.

observed   contributions by round and owner: from frames, a table, or a CSV of who gave what when
moments    what of them is compared: means, spreads, zeros, changes, over time and over owners
simulated  many runs of a model with parameters drawn at random, and their moments
fitted     estimates with intervals, and a check on held-out rounds
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
