"""Attacks that look beyond the own update: at how the shared model moved, at partners in crime, or at all updates.

Whoever attacks by hand only needs a function of the own rows (`ATTACKS` of `fedabm.strategies.attackers`); these are
frozen objects, and one of your own is a subclass of `Attack`.
"""
