"""Equilibria without simulating: the game, its solver and certificate, dynamics, metrics and welfare."""
