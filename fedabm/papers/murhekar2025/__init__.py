"""Murhekar et al. 2025: reciprocity and Shapley shares (FedBR-Shap)."""
