"""What an interrupted search has found so far, in a file beside its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fedabm.common.files import write

__all__ = ["FoundSteps"]


class FoundSteps:
    """Steps that are done, by kind and name; those of another question are not read."""

    def __init__(self, path: Path | None, question: str) -> None:
        self._path, self._question = path, question
        self._steps: dict[str, dict[str, Any]] = {}
        if path is not None and path.is_file():
            try:
                known = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError):
                known = {}
            if isinstance(known, dict) and known.get("question") == question:
                self._steps = known.get("steps", {})

    @classmethod
    def nowhere(cls) -> FoundSteps:
        """Kept in memory only."""
        return cls(None, "")

    @property
    def steps(self) -> int:
        """How many are done."""
        return sum(len(one) for one in self._steps.values())

    def get(self, kind: str, name: str) -> Any:
        """What a step found; None: it is not done."""
        return self._steps.get(kind, {}).get(name)

    def put(self, kind: str, name: str, found: Any) -> Any:
        """Keep what a step found."""
        self._steps.setdefault(kind, {})[name] = found
        if self._path is not None:
            text = json.dumps({"question": self._question, "steps": self._steps}, indent=1)
            write(self._path, text, "choose a folder that can be written to")
        return found
