"""Federations in which everyone has a model of its own."""
