"""The pure part of a round, on arrays (..., owners): who gets which model and money, and what that is worth to them.

One run is (n,), a stack of runs (runs, n).  `Federation` adds comings and goings, networks and budgets; the stacked
sweep, the audit and the bridge to Flower call the same two functions.
"""

from fedabm.kernel.claims import check_claims, settle_claims
from fedabm.kernel.receiving import Private, Receipt, imported, receive, utility
from fedabm.kernel.settling import check_balanced, check_transfers, counted, settle

__all__ = [
    "Private",
    "Receipt",
    "check_balanced",
    "check_claims",
    "check_transfers",
    "counted",
    "imported",
    "receive",
    "settle",
    "settle_claims",
    "utility",
]
