"""A federation in the middle of its run, on disk: a run that was killed goes on from there to the same frames.

A checkpoint holds what is declared to change (`state`), as plain data, so that a folder of somebody else's can be gone
on with: one that was forged can hold other numbers, but runs no code.  What the scenario holds is not in it: whoever
goes on has made the scenario again, with all its code.  The first line says which run it is of and which code made it
(`header`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from fedabm.common.archive import Given, Unsaveable, pack, unpack
from fedabm.common.digest import Content
from fedabm.common.errors import FedabmError, InputError
from fedabm.common.files import write
from fedabm.common.log import LOG
from fedabm.common.sources import written_since
from fedabm.simulation.header import Header
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.state import restored, schema, state_of

__all__ = ["Keeper", "restore", "save"]

_REMEDY = "free some space or save it elsewhere"


def save(model: Federation, path: str | Path, identity: str = "") -> Path:
    """Write a checkpoint between two steps; an older one at that path stays whole until this one is.

    `identity` tells the run apart from others.
    """
    try:
        body = pack(state_of(model), Given(model.scenario))
    except Unsaveable as error:
        raise InputError(f"this run cannot be saved: {error}; put it into the scenario or remember arrays") from None
    return write(Path(path), Header.of(model.scenario, identity, schema(model.scenario)).sealed(body), _REMEDY)


def restore(path: str | Path, scenario: Scenario, identity: str | None = None) -> Federation:
    """The federation of a scenario as it was saved; step on, and it ends like one that was never interrupted.

    A checkpoint of another scenario or by other code is refused; with an `identity`, also one of another run.  A run
    that has streamed rows needs its folder again: `restore(path, scenario).stream(folder)`.
    """
    try:
        return _restored(Path(path), scenario, identity)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give a checkpoint's path") from None
    except Exception as error:  # whatever nonsense leads to
        raise InputError(f"{path} is no whole checkpoint of this run ({error}); run again from the beginning") from None


def _restored(path: Path, scenario: Scenario, identity: str | None) -> Federation:
    body = Header.of(scenario, identity, schema(scenario)).opened(path.read_bytes())
    return restored(scenario, unpack(body, Given(scenario)))


@dataclass
class Keeper:
    """Saves a run at a path every few seconds, and finds it there again; `identity` tells it apart from others.

    With a folder for `rows` long tables are streamed there while the run goes on.
    """

    path: Path
    every: float
    identity: str
    _last: float = field(default_factory=time.monotonic)
    #: the step that is on disk
    _step: int | None = None
    #: what the scenario said before the first step, and when that was
    _begun: Content | None = None
    _since: float = field(default_factory=time.time)
    #: what the first line says, found with the first checkpoint: reading all code takes its time
    _header: Header | None = None
    #: whether this run cannot be saved
    _given_up: bool = False
    #: whether it was said that the disk takes no checkpoint
    _warned: bool = False
    rows: Path | None = None

    def found(self, scenario: Scenario) -> Federation | None:
        """The run of this scenario as it was left; a bad checkpoint is set aside, and the run begins again."""
        self._begun = Content.of(scenario)
        if not self.path.exists():
            return None
        try:
            model = self._streamed(_restored(self.path, scenario, self.identity))
        except Exception as error:  # whatever nonsense leads to
            aside = _set_aside(self.path)
            _warn(f"bad checkpoint set aside as {aside} ({error}); its run begins again")
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
        """Save it; a run that cannot be saved goes on all the same, and says so once.

        Where the disk takes no checkpoint, which may pass, it is tried again when the next one is due.
        """
        if self._given_up:
            return
        try:
            body = pack(state_of(model), Given(model.scenario))
            write(self.path, self._headed(model.scenario).sealed(body), _REMEDY)
            self._step = model.steps
            self._warned = False
        except Unsaveable as error:
            self._given_up = True
            _warn(f"this run cannot be saved ({error}); if it is cut short it begins again")
        except FedabmError as error:
            if not self._warned:
                _warn(f"no checkpoint at step {model.steps}: {error}; the run goes on and tries again later")
            self._warned = True
        self._last = time.monotonic()

    def _headed(self, scenario: Scenario) -> Header:
        """What the first line says; Unsaveable if what it would say is not true of the whole run."""
        content = Content.of(scenario)
        if self._begun not in (None, content):
            raise Unsaveable("its scenario has changed while it ran")
        if self._header is None:
            if file := written_since(self._since, *content.modules, __name__):
                raise Unsaveable(f"{file} has changed while it ran")
            self._header = Header.of(scenario, self.identity, schema(scenario))
        return self._header


def _warn(text: str) -> None:
    LOG.warning("%s", text)


def _set_aside(path: Path) -> Path:
    """Rename a bad file, so that nobody reads it and nothing is deleted."""
    return path.replace(path.with_name(f"{path.name}.corrupt"))
