"""How many processors this process may use."""

from __future__ import annotations

__all__ = ["cores"]


def cores() -> int:
    """Processors that it may run on, by affinity and by a container's quota: often fewer than the computer has."""
    from joblib import cpu_count  # takes 0.2 s, and few commands ask

    return int(cpu_count())
