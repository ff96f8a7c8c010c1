"""What becomes of a small federation, with a table and a picture?"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fedabm.study.study import Study
from tests.sweep.targets import build


def run(study: Study, rate: float = 0.1) -> None:
    """A run, a table and a picture."""
    study.simulate(build(study.seed, rate), "small")
    study.table(pd.DataFrame({"rate": [rate, 2 * rate], "runs": [1, 2]}), "How many", "many")
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([0, 1], [0, rate])
    study.picture(figure, "line")
