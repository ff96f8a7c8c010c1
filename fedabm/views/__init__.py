"""The frozen data that flows between owners, server and mechanism, and nothing else.

Everything holds one entry (row) per owner.  A strategy is written elementwise, so the same `act` serves a single owner
(one row) or a whole cohort of owners with equal strategies; it never sees a row that is not its own to decide.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
