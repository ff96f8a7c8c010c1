"""A public accuracy curve, measured before owners respond to it."""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import check_whole
from fedabm.learning.oracles import MeasuredCurve, Trained
from fedabm.study.study import Study

__all__ = ["measured_curve"]


def measured_curve(study: Study, oracle: Trained, interval: int, most: int = 100) -> MeasuredCurve:
    """The least concave curve above the accuracies of models trained on 0, interval, 2 interval, ... samples, and all.

    At most `most` models are trained for it.  Murhekar et al. 2023, Section 5.1.

    Parameters
    ----------
    study : Study
        What it is measured for; it shows the progress.
    oracle : Trained
        What trains.
    interval : int
        Samples between two points.
    most : int, optional
        The most models to train.

    Returns
    -------
    MeasuredCurve
        The curve.
    """
    total = int(oracle.engine.data.capacities.sum())
    check_whole("interval", interval, -(-total // most))
    totals = np.unique([*range(0, total, interval), total])
    return MeasuredCurve.measure(oracle, totals, concave=True, track=study.track)
