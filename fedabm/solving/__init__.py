"""Equilibria without simulating.

game           accuracies, costs, capacities and a mechanism; its utilities, slopes and certified gap
equilibrium    `solve` and `equilibria`; `candidates`, `search`, `newton` and `linear_model` find what they certify
dynamics       the papers' best-response dynamics; `rates`: how large their steps may be
metrics        how good and how fair an outcome is
"""
