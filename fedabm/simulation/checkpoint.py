"""A federation in the middle of its run, on disk: a run that was killed goes on from there to the same frames.

A checkpoint holds what changes: generators, population, accuracy with the weights it has learned, records and ledger,
as plain data (`fedabm.common.archive`), so that a folder of somebody else's can be gone on with.  What the scenario
holds is not in it: whoever goes on has made the scenario again, with all its code.  Mesa's own machinery (agents, agent
sets, the wrapped `step`) is made anew.  The first line says which run it is of, with a checksum of that and of all that
follows.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mesa

from fedabm.common.archive import Given, Unsaveable, fingerprint, pack, unpack
from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.simulation.agents import Owner
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario

__all__ = ["Keeper", "restore", "save"]

FORMAT = 6
_REMEDY = "free some space or save it elsewhere"
#: what belongs to Mesa, whatever its version, or points at the model and is made anew
_ANEW = {*vars(mesa.Model()), "_seated", "_gone", "server", "datacollector", "_sums"} - {"running", "steps"}
#: what a data collector has collected
_COLLECTED = ("model_vars", "_agent_records", "_agenttype_records", "tables")


def save(model: Federation, path: str | Path, identity: str = "") -> Path:
    """Write a checkpoint between two steps; an older one at that path stays whole until this one is.

    `identity` tells the run apart from others.
    """
    try:
        body = pack(_state(model), Given(model.scenario))
    except Unsaveable as error:
        raise InputError(f"this run cannot be saved: {error}; put it into the scenario or remember arrays") from None
    return _write(Path(path), identity, fingerprint(model.scenario), body)


def _write(path: Path, identity: str, scenario: str, body: bytes) -> Path:
    told = {"format": FORMAT, "identity": identity, "scenario": scenario}
    head = json.dumps({**told, "checksum": _checksum(told, body)})
    return write(path, head.encode() + b"\n" + body, _REMEDY)


def restore(path: str | Path, scenario: Scenario, identity: str | None = None) -> Federation:
    """The federation of a scenario as it was saved; step on, and it ends like one that was never interrupted.

    A checkpoint of another scenario is refused; with an `identity`, also one of another run.
    """
    try:
        return _restored(Path(path), scenario, identity)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a checkpoint's path") from None
    except Exception as error:  # whatever nonsense leads to
        raise InputError(f"{path} is no whole checkpoint of this run ({error}); run again from the beginning") from None


def _restored(path: Path, scenario: Scenario, identity: str | None) -> Federation:
    body = _checked(path.read_bytes(), fingerprint(scenario), identity)
    return _rebuilt(scenario, unpack(body, Given(scenario)))


def _checked(content: bytes, scenario: str, identity: str | None) -> bytes:
    """What follows the first line, if it is what that line says and of this run."""
    first, _, body = content.partition(b"\n")
    try:
        told = json.loads(first)
        checksum = told.pop("checksum")
        known = told["format"] == FORMAT
        whole = checksum == _checksum(told, body)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it does not begin like one") from None
    if not known:
        raise ValueError("another version of fedabm wrote it")
    if not whole:
        raise ValueError("its checksum is wrong")
    if identity is not None and told["identity"] != identity:
        raise ValueError("it is of another run")
    if told["scenario"] != scenario:
        raise ValueError("it is of another scenario, or its code has changed")
    return body


def _checksum(told: dict[str, Any], body: bytes) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode() + b"\n" + body).hexdigest()


@dataclass
class Keeper:
    """Saves a run at a path every so many seconds, and finds it there again; `identity` tells it apart from others.

    With a folder for `rows` long tables are streamed there while the run goes on.
    """

    path: Path
    every: float
    identity: str
    _last: float = field(default_factory=time.monotonic)
    #: the step that is on disk
    _step: int | None = None
    #: the fingerprint of the scenario before the first step
    _begun: str | None = None
    #: whether this run cannot be saved
    _given_up: bool = False
    rows: Path | None = None

    def found(self, scenario: Scenario) -> Federation | None:
        """The run of this scenario as it was left; a bad checkpoint is set aside, and the run begins again."""
        self._begun = fingerprint(scenario)
        if not self.path.exists():
            return None
        try:
            model = self._streamed(_restored(self.path, scenario, self.identity))
        except Exception as error:  # whatever nonsense leads to
            aside = _set_aside(self.path)
            print(f"fedabm: bad checkpoint set aside as {aside} ({error}); its run begins again", file=sys.stderr)
            return None
        self._step = model.steps
        return model

    def begun(self, scenario: Scenario, seed: int) -> Federation:
        """The run of this scenario as it was left, or a new one."""
        return self.found(scenario) or self._streamed(Federation(scenario, seed))

    def _streamed(self, model: Federation) -> Federation:
        """Let a run write its rows while it goes on, if there is a place for them."""
        return model if self.rows is None else model.stream(self.rows)

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
        """Save it; a run that cannot be saved goes on all the same, and says so once."""
        if self._given_up:
            return
        try:
            body = pack(_state(model), Given(model.scenario))
            if self._begun not in (None, fingerprint(model.scenario)):
                raise Unsaveable("its scenario has changed while it ran")
            _write(self.path, self.identity, fingerprint(model.scenario), body)
        except Unsaveable as error:
            self._given_up = True
            print(f"fedabm: this run cannot be saved ({error}); if it is cut short it begins again", file=sys.stderr)
        self._last = time.monotonic()
        self._step = model.steps


def _set_aside(path: Path) -> Path:
    """Rename a bad file, so that nobody reads it and nothing is deleted."""
    return path.replace(path.with_name(f"{path.name}.corrupt"))


def _state(model: Federation) -> dict[str, Any]:
    """Everything that changes in a run."""
    return {
        "seed": model.seed,
        "values": {name: value for name, value in vars(model).items() if name not in _ANEW},
        "agents": model.seats(),
        "collected": {name: vars(model.datacollector)[name] for name in _COLLECTED},
        "memory": model.server.memory,
        "standing": model.server._standing,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "elapsed": time.perf_counter() - model._began,
    }


def _rebuilt(scenario: Scenario, state: dict[str, Any]) -> Federation:
    # With the accuracy that has its seed already, so that nothing is trained or judged anew.
    model = Federation(replace(scenario, accuracy=state["values"]["accuracy"]), state["seed"])
    unknown = set(state["values"]) - (set(vars(model)) - _ANEW)
    if unknown:
        raise ValueError(f"a run keeps no {min(unknown)}")
    model.__dict__.update(state["values"])
    if not all(seat is None or issubclass(seat[0], Owner) for seat in state["agents"].values()):
        raise ValueError("somebody in it is no owner")
    model.reseat(state["agents"])
    if set(state["collected"]["model_vars"]) == set(model.datacollector.model_vars):
        vars(model.datacollector).update(state["collected"])
    model.server.memory = state["memory"]
    model.server._standing = state["standing"]
    model.random.setstate(state["random"])
    model.rng.bit_generator.state = state["rng"]
    model.population.freeze()
    model._began = time.perf_counter() - state["elapsed"]
    return model
