"""Tables of numbers: lumpy skin disease."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.data.datasets.base import Dataset, standardise
from fedabm.data.datasets.files import damaged, lookup, table

__all__ = ["lumpy_skin"]

_LEAKS = ("region", "country", "reportingDate")


def lumpy_skin(folder: Path, drop_duplicates: bool = False) -> Dataset:
    """Was lumpy skin disease reported here?  16 measures of place, weather and cattle, standardised by column.

    24,803 rows, 3,039 of them positive.  Region, country and date of the report are filled in for positive rows only,
    so they give the label away and are dropped.  608 rows repeat another one exactly and stay unless `drop_duplicates`.
    Afshari Safavi 2021; used by Murhekar et al. 2025.
    """
    path = lookup(folder, "lumpy_skin*/*.csv.gz", "lumpy_skin*/*.csv")
    if path is None:
        raise InputError(f"no file like lumpy_skin/*.csv in {folder}; put it there")
    frame = table(path, "lumpy")
    frame = frame.drop_duplicates() if drop_duplicates else frame
    numbers = frame.drop(columns=list(_LEAKS), errors="ignore").apply(pd.to_numeric, errors="coerce")
    bad = numbers.columns[~np.isfinite(numbers.to_numpy(dtype=float)).all(axis=0)]
    if len(bad):
        raise damaged(path, "a number in every row", f"none in column {bad[0]}")
    labels = numbers.pop("lumpy").to_numpy(dtype=np.int64)
    return Dataset("lumpy_skin", standardise(numbers.to_numpy(dtype=float)), labels, classes=2)
