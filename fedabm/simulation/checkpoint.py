"""A federation in the middle of its run, on disk: a run that was killed goes on from there to the same frames.

A checkpoint holds the scenario, the seed and everything that changes: generators, population, accuracy with the weights
it has learned, records and ledger.  Mesa's own machinery (agents, agent sets, the wrapped `step`) is made anew.

A study keeps one for each of its runs, and the runs of a seed have their data in common.  So a `Keeper` puts large
arrays of the scenario into files of their own, named by their content, and writes each of them once.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario

__all__ = ["Keeper", "restore", "save"]

FORMAT = 2
#: arrays of the scenario with at least so many bytes are shared between checkpoints
LARGE = 1_000_000
#: what belongs to Mesa or points at the model and is made anew
_ANEW = ("_agents", "_agents_by_type", "_all_agents", "_user_step", "step", "owners", "server", "random", "rng")


def save(model: Federation, path: str | Path, *, shared: bool = False) -> Path:
    """Write a checkpoint between two steps; an older one at that path stays whole until this one is.

    With `shared`, large arrays of the scenario go into files beside it, which other checkpoints use as well.
    """
    path = Path(path)
    try:
        return _write(path, _dump(model, lambda array: _aside(path, array) if shared else None))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; free some space or choose another") from None


def restore(path: str | Path) -> Federation:
    """The federation as it was saved; step on, and it ends like one that was never interrupted."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            known, names = pickle.load(file)
            if known == FORMAT:
                buffers = [bytearray(path.with_name(name).read_bytes()) for name in names]
                parts = pickle.Unpickler(file, buffers=buffers)
                return _rebuilt(parts.load(), parts.load())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a checkpoint's path") from None
    except Exception as error:  # whatever a damaged pickle raises
        raise InputError(f"{path} is no whole checkpoint ({error}); run again from the beginning") from None
    raise InputError(f"{path} was written by another version of fedabm; run again from the beginning")


@dataclass
class Keeper:
    """Saves a run at a path every so many seconds, and finds it there again."""

    path: Path
    every: float
    _last: float = field(default_factory=time.monotonic)
    #: the step that is on disk
    _step: int | None = None

    def found(self) -> Federation | None:
        """The run as it was left; a damaged checkpoint only means to begin again."""
        try:
            model = restore(self.path) if self.path.exists() else None
        except InputError:
            return None
        self._step = None if model is None else model.steps
        return model

    def keep(self, model: Federation) -> None:
        """Call after each step: saves the run if it is time."""
        if time.monotonic() - self._last >= self.every:
            save(model, self.path, shared=True)
            self._last, self._step = time.monotonic(), model.steps

    def end(self, model: Federation) -> None:
        """Call after the last step if more is to come: keeps the run as it ended, unless it is quickly made again.

        Many runs that are each shorter than `every` can make a long study, so it is enough to take a twentieth of that.
        """
        if self._step != model.steps and (self.path.exists() or time.monotonic() - self._last >= self.every / 20):
            save(model, self.path, shared=True)


def _dump(model: Federation, aside: Callable[[memoryview], str | None]) -> bytes:
    """Scenario and everything that changes, pickled together so that what is one object stays one."""
    body, names, constant = io.BytesIO(), [], True

    def in_band(buffer: pickle.PickleBuffer) -> bool:
        name = aside(buffer.raw()) if constant and buffer.raw().nbytes >= LARGE else None
        names.extend([name] if name else [])
        return name is None

    pickler = pickle.Pickler(body, protocol=5, buffer_callback=in_band)
    pickler.dump(model.scenario)
    constant = False
    pickler.dump(_state(model))
    return pickle.dumps((FORMAT, names)) + body.getvalue()


def _aside(path: Path, array: memoryview) -> str:
    """The name of the file beside a checkpoint that holds this array; it belongs to all runs of the same study."""
    digest = hashlib.blake2b(array, digest_size=16).hexdigest()
    place = path.with_name(f"{path.stem.split('-')[0]}-{digest}{path.suffix}")
    return place.name if place.exists() else _write(place, array).name


def _write(path: Path, content: bytes | memoryview) -> Path:
    """All or nothing."""
    part = path.with_name(f".{path.name}-{os.getpid()}.part")
    try:
        part.write_bytes(content)
        return part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _state(model: Federation) -> dict[str, Any]:
    """Everything that changes in a run."""
    return {
        "seed": model.seed,
        "values": {name: value for name, value in vars(model).items() if name not in _ANEW},
        "standing": model.server._standing,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "elapsed": time.perf_counter() - model._began,
    }


def _rebuilt(scenario: Scenario, state: dict[str, Any]) -> Federation:
    # With the accuracy that has its seed already, so that nothing is trained or judged anew.
    model = Federation(replace(scenario, accuracy=state["values"]["accuracy"]), state["seed"])
    model.__dict__.update(state["values"])
    model.server._standing = state["standing"]
    model.random.setstate(state["random"])
    model.rng.bit_generator.state = state["rng"]
    for cohort in model.population._cohorts:  # what strategies see cannot be written to, also after unpickling
        for column in (cohort.capacity, cohort.cost.rate, cohort.cost.exponent, cohort.cost.fixed, cohort.eagerness):
            column.setflags(write=False)
    model._began = time.perf_counter() - state["elapsed"]
    return model
