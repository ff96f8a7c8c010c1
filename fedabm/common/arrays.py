"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Flags", "Rows"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: numbers of owners, in the order in which they are wanted
Rows = NDArray[np.intp] | list[int]
