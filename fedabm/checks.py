"""Checks of numbers from users: what is wrong gets one line with what, got and remedy (`InputError`)."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
