"""Rules against free-riding: reports in, models and money out.  One file each, one line here."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
