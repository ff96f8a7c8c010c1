"""The frozen data that flows between owners, server and mechanism, and nothing else.

Everything holds one entry (row) per owner.  A strategy is written elementwise, so the same `act` serves a single owner
(one row) or a whole cohort of owners with equal strategies; it never sees a row that is not its own to decide.
"""

from fedabm.games.curves import Flags
from fedabm.views.exchange import Exchange, LocalTask, Models, Sent, Since
from fedabm.views.memory import Memory
from fedabm.views.neighbours import Neighbours
from fedabm.views.owners import INFORMATION, Action, Experience, OwnerView, Payoff
from fedabm.views.reports import Desk, Reports
from fedabm.views.server import SERVER, Evidence, Outcome, ServerView, Transfers

__all__ = [
    "INFORMATION",
    "SERVER",
    "Action",
    "Desk",
    "Evidence",
    "Exchange",
    "Experience",
    "Flags",
    "LocalTask",
    "Memory",
    "Models",
    "Neighbours",
    "Outcome",
    "OwnerView",
    "Payoff",
    "Reports",
    "Sent",
    "ServerView",
    "Since",
    "Transfers",
]
