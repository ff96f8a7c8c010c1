"""Training alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["LocalOnly"]


@dataclass(frozen=True)
class LocalOnly(Personalised):
    """No exchange: every owner trains on from its own model."""

    def exchange(self, sent: Sent) -> Exchange:
        """Everybody's own model."""
        return Exchange(LocalTask(), np.eye(len(sent.usable)))
