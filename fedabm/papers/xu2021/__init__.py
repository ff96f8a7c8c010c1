"""Xu et al. 2021, "Gradient-driven rewards to guarantee fairness in collaborative machine learning": CGSV."""
