"""What a Mesa model's DataCollector holds, as tidy tables: model, agent and agent-type reporters and its own tables."""

from __future__ import annotations

from typing import Any

import mesa
import numpy as np
import pandas as pd

from fedabm.frames import versions

__all__ = ["Collection"]


class Collection:
    """Follows a model and notes at which step each row of its model reporters was collected.

    Mesa does not keep that, and a model may collect in its constructor, after every step, or now and then.
    """

    def __init__(self, model: mesa.Model) -> None:
        self.model = model
        self._collector: Any = getattr(model, "datacollector", None)
        self._steps: list[int] = []
        self.note()

    def note(self) -> None:
        """Call after the model has been made, and after each step."""
        columns = self._collector.model_vars.values() if self._collector else ()
        rows = max(map(len, columns), default=0)
        self._steps += [self.model.steps] * (rows - len(self._steps))

    def tables(self, facts: dict[str, Any]) -> dict[str, pd.DataFrame]:
        """The tables by name; `facts` go into the row of the run."""
        tables = {"runs": self._row(facts)}
        if self._collector is None:
            return tables
        if self._collector.model_vars:
            frame = pd.DataFrame(self._collector.model_vars)
            tables["steps"] = _with_step(frame, np.array(self._steps, dtype=np.int64))
        agents = self._agents()
        if agents is not None:
            tables["owners"] = agents
        for name in self._collector.tables:
            tables[f"table:{name}"] = self._collector.get_table_dataframe(name)
        return tables

    def _row(self, facts: dict[str, Any]) -> pd.DataFrame:
        ended = not self.model.running
        state = {
            "owners": len(self.model.agents),
            "steps": self.model.steps,
            "status": "converged" if ended else "stopped",
            "converged": ended,
        }
        return pd.DataFrame([{**facts, **state, **versions()}])

    def _agents(self) -> pd.DataFrame | None:
        """Agent reporters, and those of single agent types with the type beside them."""
        collector, parts = self._collector, []
        if collector.agent_reporters:
            parts.append(collector.get_agent_vars_dataframe())
        for kind in getattr(collector, "agenttype_reporters", {}):
            parts.append(collector.get_agenttype_vars_dataframe(kind).assign(agent_type=kind.__name__))
        frames = [part.rename_axis(["step", "owner"]).reset_index() for part in parts]
        return pd.concat(frames, ignore_index=True) if frames else None


def _with_step(frame: pd.DataFrame, steps: np.ndarray) -> pd.DataFrame:
    """The frame with the step in front, unless a reporter gives one."""
    if "step" not in frame:
        frame.insert(0, "step", steps)
    return frame
