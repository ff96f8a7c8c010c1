"""The audit: what the best lie, attack, coalition or second name gains against any rule.

stage         owners, a rule and the truthful outcome: what a lie is measured against
deviations    what an owner or a group can do, as data; `kinds`: the best of each kind, and which mean nothing here
evaluate      what thousands of deviations are worth, at once; `bounds`: the most that any claim could gain, proven
search        the best lie of one owner; `groups`: joint lies; `names`: several names, or one; `answers`: others move
claims        what a card may say: certified, found, theorem, unknown; `truthfulness`, `fairness`, `efficiency` say it
card          `audit(scenario, mechanism) -> Card`; `page`, `pictures`: how it looks; `source`: what to audit
league        all rules on the same populations; `trained`: with really trained models
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedabm.audit.card import Card, Thoroughness, audit
    from fedabm.audit.deviations import Limits

__all__ = ["Card", "Limits", "Thoroughness", "audit"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'fedabm.audit' has no attribute {name!r}")
    home = "deviations" if name == "Limits" else "card"
    return getattr(import_module(f"fedabm.audit.{home}"), name)
