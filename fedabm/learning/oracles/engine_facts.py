"""Facts that a training takes over from its engine."""

from __future__ import annotations

from fedabm.learning.engine.engine import Engine

__all__ = ["EngineFacts"]


class EngineFacts:
    """Number of owners, size of a model and device of a training, as its `engine` has them."""

    engine: Engine

    @property
    def owners(self) -> int:
        """Number of owners that there are data for."""
        return self.engine.data.owners

    @property
    def model_bytes(self) -> int:
        """Bytes of a model's parameters."""
        return self.engine.model_bytes

    @property
    def machine(self) -> str:
        """Device and processor that train."""
        return self.engine.machine
