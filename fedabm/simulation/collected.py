"""Any Mesa model to its end, and what its DataCollector then holds as tidy tables.

These are its model, agent and agent-type reporters and its own tables.
"""

from __future__ import annotations

import itertools
from typing import Any

import mesa
import pandas as pd

from fedabm.results.frames import run_row
from fedabm.results.nested import Tables
from fedabm.simulation.agents import forget

__all__ = ["Collection", "forget", "is_model", "run_model"]

#: steps of a model that never stops by itself
MOST_STEPS = 1000


def is_model(thing: Any) -> bool:
    """Whether it is a class of Mesa models."""
    return isinstance(thing, type) and issubclass(thing, mesa.Model)


def run_model(model: mesa.Model, steps: int | None, facts: dict[str, Any]) -> Tables:
    """Step a model until it stops, at most this many steps; `facts` go into the row of the run."""
    collection = Collection(model)
    while model.running and model.steps < (steps or MOST_STEPS):
        model.step()
        collection.note()
    return collection.tables(facts)


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

    def tables(self, facts: dict[str, Any]) -> Tables:
        """The tables by name; `facts` go into the row of the run."""
        tables: Tables = {"runs": self._row(facts)}
        if self._collector is None:
            return tables
        if self._collector.model_vars:
            tables["steps"] = {"step": self._steps, **self._collector.model_vars}
        if self._collector.agent_reporters or getattr(self._collector, "agenttype_reporters", {}):
            tables["owners"] = self._agents()
        for name in self._collector.tables:
            tables[f"table:{name}"] = self._collector.tables[name]
        return tables

    def _row(self, facts: dict[str, Any]) -> dict[str, Any]:
        status = "stopped" if self.model.running else "ended"
        return run_row(status, **facts, owners=len(self.model.agents), steps=self.model.steps)

    def _agents(self) -> dict[str, list[Any]] | pd.DataFrame:
        """Agent reporters, and those of single agent types with the type beside them."""
        collector = self._collector
        kinds = getattr(collector, "agenttype_reporters", {})
        if kinds:
            parts = [collector.get_agent_vars_dataframe()] if collector.agent_reporters else []
            parts += [collector.get_agenttype_vars_dataframe(kind).assign(agent_type=kind.__name__) for kind in kinds]
            return pd.concat([part.rename_axis(["step", "owner"]).reset_index() for part in parts], ignore_index=True)
        names = ["step", "owner", *collector.agent_reporters]
        rows = itertools.chain.from_iterable(collector._agent_records.values())  # much faster than by way of a frame
        columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
        return dict(zip(names, columns, strict=True))
