"""What a mechanism offers one owner for its data: curves of its own contribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from fedabm.analysis.looks import new_panel
from fedabm.analysis.rows import UNITS, legend_below, needed, nothing_to_show, numbers
from fedabm.games.accuracy import Accuracy
from fedabm.games.curves import Array
from fedabm.mechanisms import Mechanism
from fedabm.views import Reports

__all__ = ["offer_frame", "value_shaping"]

#: the colours of Karimireddy et al. 2022, Figures 3 and 8, in a palette for everybody
_LOOKS = {
    "with everybody's data": ("#029e73", (4, 1.5)),
    "returned by the mechanism": ("#d55e00", ""),
    "alone": ("#767676", (3, 1.25, 1.5, 1.25)),
    "payment": ("#0173b2", (1, 1)),
}


def offer_frame(
    mechanism: Mechanism,
    accuracy: Accuracy,
    profile: Sequence[float],
    contributions: Sequence[float],
    owner: int = 0,
    costs: object = None,
) -> pd.DataFrame:
    """The curves that one owner faces while the others contribute `profile`, as rows contribution, curve and value.

    What it gets alone, with everybody's data, and from the mechanism; the payment too, where there is one.  `costs`
    are what owners report where the mechanism asks for costs.

    Parameters
    ----------
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    profile : Sequence[float]
        The contribution of each owner, shape (owners,).
    contributions : Sequence[float]
        Where curves are computed.
    owner : int, optional
        The number of the owner.
    costs : object, optional
        What owners report, where the mechanism asks for costs.

    Returns
    -------
    pd.DataFrame
        Rows of contribution, curve and value.
    """
    others, x = np.asarray(profile, dtype=float), np.asarray(contributions, dtype=float)
    offers = mechanism.offers(accuracy, Reports(others, others, costs)).take([owner])
    alone = accuracy.curves(np.zeros(len(others))).take([owner])
    curves = dict(zip(_LOOKS, (offers.accuracy, offers.received, alone, offers.payment), strict=True))
    values: dict[str, Array] = {name: curve.value(x[None])[0] for name, curve in curves.items()}
    if not np.any(values["payment"]):
        del values["payment"]
    parts = [pd.DataFrame({"contribution": x, "curve": name, "value": value}) for name, value in values.items()]
    return pd.concat(parts, ignore_index=True)


def value_shaping(curves: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """The curves of `offer_frame`: Karimireddy et al. 2022, Figures 1, 3 and 8.

    Parameters
    ----------
    curves : pd.DataFrame
        What `offer_frame` gives.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    needed(curves, "curves", ["contribution", "curve", "value"])
    ax = new_panel(ax)
    if curves.empty:
        return nothing_to_show(ax, UNITS["contribution"], "accuracy")
    names = [name for name in _LOOKS if (curves["curve"] == name).any()]
    names += [name for name in dict.fromkeys(curves["curve"]) if name not in _LOOKS]
    looks = {name: _LOOKS.get(name, ("#333333", (2, 2))) for name in names}
    style = {"palette": {n: look[0] for n, look in looks.items()}, "dashes": {n: look[1] for n, look in looks.items()}}
    shared = {"hue": "curve", "style": "curve", "hue_order": names, "estimator": None, "linewidth": 2.0}
    sns.lineplot(curves, x="contribution", y="value", ax=ax, **shared, **style)
    points = curves["contribution"].nunique()
    ax.set(xlabel=f"own {UNITS['contribution']}\n{numbers(points=points)}", ylabel="worth to the owner (in accuracy)")
    legend_below(ax)
    return ax
