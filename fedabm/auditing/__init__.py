"""The audit: what the best lie, attack, coalition or second name gains against any rule.

stage         owners, a rule and the truthful outcome: what a lie is measured against
deviations    what an owner or a group can do, as data; `kinds`: the best of each kind, and which mean nothing here
evaluate      what thousands of deviations are worth, at once; `bounds`: the most that any claim could gain, proven
search        the best lie of one owner; `groups`: joint lies; `names`: several names, or one; `answers`: others move
claims        what a card may say: certified, found, theorem, unknown; `truthfulness`, `fairness`, `efficiency` say it
card          `audit(scenario, mechanism) -> Card`; `page`, `pictures`: how it looks; `source`: what to audit
trained_card  the card where models train: `runs`, paired by seeds; `plans`: moves chosen with one, measured with others
league        all rules on the same populations; `trained`: with really trained models
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
