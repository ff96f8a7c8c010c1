"""Owners that learn from what they were paid, told or saw: one rule of learning per file."""
