"""Names of classes in text files, frames and figures."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from typing import Any

__all__ = ["brief", "snake", "spelled"]


def snake(name: str) -> str:
    """ShapleyShare -> shapley_share.

    >>> snake("PacBound"), snake("FedAMP"), snake("PFedGraph")
    ('pac_bound', 'fed_amp', 'p_fed_graph')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spelled(value: Any) -> str:
    """An object as Python writes it, without places in memory, which differ from run to run.

    >>> spelled([spelled])
    '[<function spelled>]'
    """
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


def brief(value: Any) -> str:
    """An object as Python writes it, without what is left at its default.

    >>> from fedabm.mechanisms import ContributionSubsidy, ShapleyShare
    >>> brief(ShapleyShare()), brief(ContributionSubsidy(0.02)), brief(3.0)
    ('ShapleyShare()', 'ContributionSubsidy(rate=0.02)', '3.0')
    """
    if not hasattr(type(value).__repr__, "__wrapped__"):  # that of a dataclass, unless it has spelled its own
        return spelled(value)
    parts = {one.name: brief(getattr(value, one.name)) for one in fields(value) if one.repr}
    given = [f"{one.name}={parts[one.name]}" for one in fields(value) if one.repr and parts[one.name] != _usual(one)]
    return f"{type(value).__name__}({', '.join(given)})"


def _usual(one: Field[Any]) -> str | None:
    """The default of a field, as it is spelled."""
    if one.default_factory is not MISSING:
        return brief(one.default_factory())
    return None if one.default is MISSING else brief(one.default)
