"""Bornstein et al. 2023, "RealFM": value shaping where accuracy has a payoff that need not be linear."""
