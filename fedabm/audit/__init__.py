"""The audit: what the best lie, attack, coalition or second name gains against any rule.

stage        owners, a rule and the truthful outcome: what a lie is measured against
deviations   what an owner or a group can do, as data, and which of it means anything under a rule
evaluate     what thousands of deviations are worth, at once
bounds       the most that any claim could gain, proven
"""
