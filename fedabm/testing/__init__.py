"""The contract of this project for a class of your own: what every part of its kind must keep.

    from fedabm.testing import check_accuracy, check_cost, check_mechanism, check_strategy

    check_mechanism(Bounty(0.05))
    check_strategy(Cautious())

Whatever is broken is told together, one line each: what, where, and what to mend; flags (`concave = True`) that do not
hold are among it.  `ACCURACY_CHECKS`, `COST_CHECKS`, `MECHANISM_CHECKS` and `STRATEGY_CHECKS` are the single checks,
functions of (subject, seed), for one test each:

    @pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=name_of)
    def test_contract(check):
        check(Bounty(0.05), seed=0)
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
