"""What one owner does with its own view: contribute, report, tamper, stay or quit.  One line here per strategy."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
