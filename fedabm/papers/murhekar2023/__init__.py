"""Murhekar et al. 2023: equilibria, and welfare under budget-balanced cost sharing (FedBR, FedBR-BG)."""
