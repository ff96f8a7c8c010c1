"""Names of classes in text files, frames and figures."""

from __future__ import annotations

import re

__all__ = ["snake"]


def snake(name: str) -> str:
    """ShapleyShare -> shapley_share.

    >>> snake("PacBound")
    'pac_bound'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
