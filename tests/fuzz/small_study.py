"""What becomes of two small federations?"""

from __future__ import annotations

import pandas as pd

from fedabm.study.study import Study
from tests.sweep.targets import build


def run(study: Study, rate: float = 0.1) -> None:
    """Two runs and a table."""
    for factor in (1, 2):
        study.simulate(build(study.seed, factor * rate), f"rate {factor * rate:g}")
    study.table(pd.DataFrame({"runs": [2]}), "How many")
