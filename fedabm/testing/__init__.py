"""The contract of this project for a class of your own: what every mechanism and every strategy must keep.

    from fedabm.testing import check_mechanism, check_strategy

    check_mechanism(Bounty(0.05))
    check_strategy(Cautious())

Whatever is broken is told together, one line each: what, where, and what to mend.  `MECHANISM_CHECKS` and
`STRATEGY_CHECKS` are the single checks, functions of (subject, seed), for one test each:

    @pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=name_of)
    def test_contract(check):
        check(Bounty(0.05), seed=0)
"""

from fedabm.testing.contract import ContractBroken, name_of
from fedabm.testing.mechanisms import MECHANISM_CHECKS, check_mechanism
from fedabm.testing.strategies import STRATEGY_CHECKS, check_strategy

__all__ = ["MECHANISM_CHECKS", "STRATEGY_CHECKS", "ContractBroken", "check_mechanism", "check_strategy", "name_of"]
