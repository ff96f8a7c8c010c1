"""What stands on axes: words, legends and dots."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

#: label of the second mechanism
SUBSIDY = "subsidy"


def words(ax: Axes) -> str:
    """All that stands on and around the axes."""
    return " ".join([ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), *(text.get_text() for text in ax.texts)])


def legend(ax: Axes) -> set[str]:
    shown = ax.get_legend()
    return {text.get_text() for text in shown.get_texts()} if shown else set()


def marks(ax: Axes) -> int:
    """How many dots scatter plots have."""
    return sum(len(part.get_offsets()) for part in ax.collections if isinstance(part, PathCollection))
