"""What every strategy shares: it acts on its own view, row by row."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from fedabm.views import Action, OwnerView, Reports

__all__ = ["Strategy"]


class Strategy(ABC):
    """What one owner does; written elementwise, so that equal strategies can act as one cohort.

    Row i of the action may depend on row i of the view only.  Strategies are frozen dataclasses: they keep no state of
    their own, and two that are equal act alike.
    """

    @abstractmethod
    def act(self, view: OwnerView) -> Action:
        """Decide on contribution, report and staying, from the own view alone."""

    def declare(self, truth: Reports) -> Reports:
        """What it tells the server before it has acted: the truth, or what the wrapped one says, unless it lies."""
        inner = getattr(self, "truth", None)
        return inner.declare(truth) if isinstance(inner, Strategy) else truth

    @property
    def label(self) -> str:
        """A short name for frames and figures; a wrapper names what it wraps."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        inner = getattr(self, "truth", None)
        return f"{name}({inner.label})" if isinstance(inner, Strategy) else name
