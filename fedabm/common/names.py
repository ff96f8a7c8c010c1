"""Names of classes in text files, frames and figures."""

from __future__ import annotations

import re

__all__ = ["snake"]


def snake(name: str) -> str:
    """ShapleyShare -> shapley_share.

    >>> snake("PacBound"), snake("FedAMP"), snake("PFedGraph")
    ('pac_bound', 'fed_amp', 'p_fed_graph')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
