"""What owners expect of a contribution, where somebody tells them."""

from __future__ import annotations

import warnings

from fedabm.views import OwnerView, Payoff

__all__ = ["announced"]


def announced(view: OwnerView) -> Payoff:
    """The payoff by what was announced; that nothing is known of the model is said once."""
    if not view.curve_known:
        warnings.warn(
            "owners that respond are not told what their data do to the accuracy, and weigh costs against payments; "
            "announce a curve, Learning(..., announced=curve), or take MeasuredResponse",
            stacklevel=3,
        )
    return view.payoff
