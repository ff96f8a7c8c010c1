"""The agent-based model: owners and server as Mesa agents, one round after the other.  Only this room imports Mesa.

scenario       one frozen description of a run, with `activation`, `network` and `stopping` as its parts
model          the federation: a step reads like the papers; `agents`, `population` and `cohorts` carry it
ledger         every transfer of money; `treasury`: what is really paid; `links`: who imports whose model
recorder       what the frames keep of a run; `checkpoint`: a run on disk; `collected`: any other Mesa model
lies, roles    what owners of a market are after
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
