"""A federation in the middle of its run, on disk: a run that was killed goes on from there to the same frames.

A checkpoint holds the scenario, the seed and everything that changes: generators, population, accuracy with the weights
it has learned, records and ledger.  Mesa's own machinery (agents, agent sets, the wrapped `step`) is made anew.
"""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedabm.errors import InputError
from fedabm.model import Federation

__all__ = ["Keeper", "restore", "save"]

FORMAT = 1
#: what belongs to Mesa or points at the model and is made anew
_ANEW = ("_agents", "_agents_by_type", "_all_agents", "_user_step", "step", "owners", "server", "random", "rng")


def save(model: Federation, path: str | Path) -> Path:
    """Write a checkpoint between two steps; an older one at that path stays whole until this one is."""
    path = Path(path)
    part = path.with_name(f".{path.name}-{os.getpid()}.part")
    try:
        part.write_bytes(pickle.dumps(_state(model), protocol=pickle.HIGHEST_PROTOCOL))
        return part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}; free some space or choose another") from None


def restore(path: str | Path) -> Federation:
    """The federation as it was saved; step on, and it ends like one that was never interrupted."""
    try:
        state = pickle.loads(Path(path).read_bytes())
        known = state["format"] == FORMAT
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a checkpoint's path") from None
    except Exception as error:  # whatever a damaged pickle raises
        raise InputError(f"{path} is no whole checkpoint ({error}); run again from the beginning") from None
    if not known:
        raise InputError(f"{path} was written by another version of fedabm; run again from the beginning")
    return _rebuilt(state)


@dataclass
class Keeper:
    """Saves a run at a path every so many seconds, and finds it there again."""

    path: Path
    every: float
    _last: float = field(default_factory=time.monotonic)

    def found(self) -> Federation | None:
        """The run as it was left; a damaged checkpoint only means to begin again."""
        try:
            return restore(self.path) if self.path.exists() else None
        except InputError:
            return None

    def keep(self, model: Federation) -> None:
        """Call after each step: saves the run if it is time."""
        if time.monotonic() - self._last >= self.every:
            save(model, self.path)
            self._last = time.monotonic()

    def end(self, model: Federation) -> None:
        """Call after the last step if more is to come: a long run is kept as it ended."""
        if self.path.exists() or time.monotonic() - self._last >= self.every:
            save(model, self.path)


def _state(model: Federation) -> dict[str, Any]:
    """Everything that changes in a run, pickled together so that what is one object stays one."""
    return {
        "format": FORMAT,
        "scenario": model.scenario,
        "seed": model.seed,
        "values": {name: value for name, value in vars(model).items() if name not in _ANEW},
        "standing": model.server._standing,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "elapsed": time.perf_counter() - model._began,
    }


def _rebuilt(state: dict[str, Any]) -> Federation:
    model = Federation(state["scenario"], state["seed"])
    model.__dict__.update(state["values"])
    model.server._standing = state["standing"]
    model.random.setstate(state["random"])
    model.rng.bit_generator.state = state["rng"]
    for cohort in model.population._cohorts:  # what strategies see cannot be written to, also after unpickling
        for column in (cohort.capacity, cohort.cost.rate, cohort.cost.exponent, cohort.cost.fixed, cohort.eagerness):
            column.setflags(write=False)
    model._began = time.perf_counter() - state["elapsed"]
    return model
