"""What long measurements must show: each threshold is printed with what was found, and one that is missed ends in 1.

found = Thresholds()
found.least("Pearson with the loss", 0.97, 0.95)
found.end()
"""

from __future__ import annotations

import sys


class Thresholds:
    """Those looked at so far, and the names of those that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def least(self, name: str, found: float, least: float) -> None:
        """What must be at least this."""
        self._say(name, f"{found:.4g} >= {least:g}", met=found >= least)

    def most(self, name: str, found: float, most: float) -> None:
        """What must be at most this."""
        self._say(name, f"{found:.4g} <= {most:g}", met=found <= most)

    def end(self) -> None:
        """Leave with 1 if any was missed."""
        if self.missed:
            sys.exit(f"missed: {'; '.join(self.missed)}")

    def _say(self, name: str, words: str, met: bool) -> None:
        print(f"{'met' if met else 'MISSED':6} {name}: {words}", flush=True)
        if not met:
            self.missed.append(name)
