"""A public curve is measured at equal intervals and at the end, is concave, and is not measured too finely."""

import numpy as np
import pytest

from fedabm import InputError
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Trained
from fedabm.study.measured import measured_curve
from fedabm.study.study import Study


def test_a_curve_lies_above_points_at_every_interval_and_at_the_end():
    data = from_partition(load_dataset("digits").subset(range(120)), IID(2), seed=0, test_share=0.5)
    total = int(data.capacities.sum())
    oracle, study = Trained(Engine("logistic", data), 2, seed=0), Study("x", quiet=True)
    curve = measured_curve(study, oracle, 25)
    points = curve.totals.array.tolist()
    assert set(points) <= {*range(0, total, 25), total}
    assert points[-1] == total
    slopes = np.diff(curve.values(np.linspace(0, 1, 7)[:, None] * data.capacities).mean(axis=1))
    assert (slopes >= -1e-12).all()
    assert (np.diff(slopes) <= 1e-9).all()
    with pytest.raises(InputError, match="interval"):
        measured_curve(study, oracle, 5, most=10)
