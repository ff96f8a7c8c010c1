"""Murhekar et al. 2025: reciprocity and Shapley shares (FedBR-Shap)."""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
