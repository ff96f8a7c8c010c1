"""Results of runs: the tidy frames, what their columns mean, and how they lie on disk.

`store` keeps single runs; `design`, `parts` and `nested` are the files of a sweep, which `sweeps` reads as frames.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
