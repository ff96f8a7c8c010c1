"""A federation in the middle of its run, on disk: a run that was killed goes on from there to the same frames.

A checkpoint holds the scenario, the seed and everything that changes: generators, population, accuracy with the weights
it has learned, records and ledger.  Mesa's own machinery (agents, agent sets, the wrapped `step`) is made anew.  Its
first line says which run it is of, with a checksum of that and of all that follows.

A study keeps one for each of its runs, and the runs of a seed have their data in common.  So a `Keeper` puts large
arrays of the scenario into files of their own, named by their content, and writes each of them once.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario

__all__ = ["Keeper", "restore", "save"]

FORMAT = 3
#: arrays of the scenario with at least so many bytes are shared between checkpoints
LARGE = 1_000_000
_REMEDY = "free some space or save it elsewhere"
#: what belongs to Mesa or points at the model and is made anew
_ANEW = ("_agents", "_agents_by_type", "_all_agents", "_user_step", "step", "_seated", "server", "random", "rng")


def save(model: Federation, path: str | Path, identity: str = "", *, shared: bool = False) -> Path:
    """Write a checkpoint between two steps; an older one at that path stays whole until this one is.

    `identity` tells the run apart from others.  With `shared`, large arrays of the scenario go into files beside the
    checkpoint, which others use as well.
    """
    path = Path(path)
    body = _dump(model, lambda array: _aside(path, array) if shared else None)
    head = json.dumps({"format": FORMAT, "identity": identity, "checksum": _checksum(identity, body)})
    return write(path, head.encode() + b"\n" + body, _REMEDY)


def restore(path: str | Path, identity: str | None = None) -> Federation:
    """The federation as it was saved; step on, and it ends like one that was never interrupted.

    With an `identity`, a checkpoint of another run is refused.
    """
    try:
        return _restored(Path(path), identity)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a checkpoint's path") from None
    except Exception as error:  # whatever a pickle of other code raises
        raise InputError(f"{path} is no whole checkpoint of this run ({error}); run again from the beginning") from None


def _restored(path: Path, identity: str | None) -> Federation:
    body = io.BytesIO(_checked(path.read_bytes(), identity))
    buffers = [bytearray(_array(path.with_name(name))) for name in pickle.load(body)]
    parts = pickle.Unpickler(body, buffers=buffers)
    return _rebuilt(parts.load(), parts.load())


def _checked(content: bytes, identity: str | None) -> bytes:
    """What follows the first line, if it is what that line says."""
    first, _, body = content.partition(b"\n")
    try:
        head = json.loads(first)
        known = head["format"] == FORMAT
        whole = head["checksum"] == _checksum(head["identity"], body)
    except (ValueError, KeyError, TypeError):
        raise ValueError("it does not begin like one") from None
    if not known:
        raise ValueError("another version of fedabm wrote it")
    if not whole:
        raise ValueError("its checksum is wrong")
    if identity is not None and head["identity"] != identity:
        raise ValueError("it is of another run")
    return body


def _checksum(identity: str, body: bytes) -> str:
    return hashlib.sha256(json.dumps(identity).encode() + b"\n" + body).hexdigest()


@dataclass
class Keeper:
    """Saves a run at a path every so many seconds, and finds it there again; `identity` tells it apart from others."""

    path: Path
    every: float
    identity: str
    _last: float = field(default_factory=time.monotonic)
    #: the step that is on disk
    _step: int | None = None

    def found(self) -> Federation | None:
        """The run as it was left; a bad checkpoint is set aside, and the run begins again."""
        if not self.path.exists():
            return None
        try:
            model = _restored(self.path, self.identity)
        except Exception as error:  # whatever a pickle of other code raises
            aside = _set_aside(self.path)
            print(f"fedabm: bad checkpoint set aside as {aside} ({error}); its run begins again", file=sys.stderr)
            return None
        self._step = model.steps
        return model

    def keep(self, model: Federation) -> None:
        """Call after each step: saves the run if it is time."""
        if time.monotonic() - self._last >= self.every:
            self._save(model)

    def end(self, model: Federation) -> None:
        """Call after the last step if more is to come: keeps the run as it ended, unless it is quickly made again.

        Many runs that are each shorter than `every` can make a long study, so it is enough to take a twentieth of that.
        """
        if self._step != model.steps and (self.path.exists() or time.monotonic() - self._last >= self.every / 20):
            self._save(model)

    def _save(self, model: Federation) -> None:
        save(model, self.path, self.identity, shared=True)
        self._last = time.monotonic()
        self._step = model.steps


def _dump(model: Federation, aside: Callable[[memoryview], str | None]) -> bytes:
    """Scenario and everything that changes, pickled together so that what is one object stays one."""
    body = io.BytesIO()
    names: list[str] = []
    constant = True

    def in_band(buffer: pickle.PickleBuffer) -> bool:
        name = aside(buffer.raw()) if constant and buffer.raw().nbytes >= LARGE else None
        names.extend([name] if name else [])
        return name is None

    pickler = pickle.Pickler(body, protocol=5, buffer_callback=in_band)
    pickler.dump(model.scenario)
    constant = False
    pickler.dump(_state(model))
    return pickle.dumps(names) + body.getvalue()


def _aside(path: Path, array: memoryview) -> str:
    """The name of the file beside a checkpoint that holds this array; it belongs to all runs of the same study."""
    place = path.with_name(f"{path.stem.split('-')[0]}-{_digest(array)}{path.suffix}")
    return place.name if place.exists() else write(place, array, _REMEDY).name


def _array(place: Path) -> bytes:
    """The content of such a file, if it is what its name says."""
    content = place.read_bytes()
    if place.stem.split("-")[-1] != _digest(content):
        raise ValueError(f"{_set_aside(place).name} is not what was written")
    return content


def _set_aside(path: Path) -> Path:
    """Rename a bad file, so that nobody reads it and nothing is deleted."""
    return path.replace(path.with_name(f"{path.name}.corrupt"))


def _digest(array: bytes | memoryview) -> str:
    return hashlib.blake2b(array, digest_size=16).hexdigest()


def _state(model: Federation) -> dict[str, Any]:
    """Everything that changes in a run."""
    return {
        "seed": model.seed,
        "values": {name: value for name, value in vars(model).items() if name not in _ANEW},
        "agents": model.seats(),
        "memory": model.server.memory,
        "standing": model.server._standing,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "elapsed": time.perf_counter() - model._began,
    }


def _rebuilt(scenario: Scenario, state: dict[str, Any]) -> Federation:
    # With the accuracy that has its seed already, so that nothing is trained or judged anew.
    model = Federation(replace(scenario, accuracy=state["values"]["accuracy"]), state["seed"])
    model.__dict__.update(state["values"])
    model.reseat(state["agents"])
    model.server.memory = state["memory"]
    model.server._standing = state["standing"]
    model.random.setstate(state["random"])
    model.rng.bit_generator.state = state["rng"]
    model.population.freeze()
    model._began = time.perf_counter() - state["elapsed"]
    return model
