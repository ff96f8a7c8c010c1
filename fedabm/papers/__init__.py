"""What belongs to one paper: its protocols, its experiments' settings, and the ledger of its claims.

Nothing in the library imports this room; scenarios and the command `fedabm reproduce` do.
"""
