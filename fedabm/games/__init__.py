"""What owners play for, on plain arrays with one row per owner.

costs/         what data costs its owner; `accuracy/`: closed forms of what the shared model is worth
curves         functions of the own contribution; `offers`: the curves that a mechanism makes of them
best           the best contribution over the whole range; `certificate`: what is proven of it
individual     what an owner would do alone; `welfare`: what is best for all; `efficient`: for all but one, too
valuation      what a settled step is worth by the true facts; `rivals` compete
messages       what goes into a step of training
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
