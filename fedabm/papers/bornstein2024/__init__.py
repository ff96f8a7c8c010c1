"""Bornstein et al. 2024, "FACT or Fiction": a penalty against free-riding, and a game of three against lies."""
