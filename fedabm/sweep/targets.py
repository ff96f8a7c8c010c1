"""What a job runs: a scenario script, a function that makes a scenario, or any Mesa model.

A script goes by its name or by the path of its file.  A function `build(**parameters) -> Scenario` and a subclass of
`mesa.Model` go by where they are defined, "package.module:name" or "path/to/file.py:name"; workers import them from
there.  Both get the seed, if they have a parameter `seed`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fedabm.common.digest import digest
from fedabm.common.errors import FedabmError, InputError, nearest
from fedabm.common.sources import sources_of
from fedabm.simulation.collected import is_model
from fedabm.specs.places import find_place
from fedabm.study import library

__all__ = ["Target", "target_of"]

Kind = Literal["script", "function", "model"]

#: the module that runs a target and records what happens
_RUN_BY: dict[Kind, str] = {
    "script": "fedabm.study.study",
    "function": "fedabm.simulation.model",
    "model": "fedabm.simulation.collected",
}


@dataclass(frozen=True)
class Target:
    """A script, function or model: `where` it is found by a worker, and its `name` in frames and manifests."""

    kind: Kind
    where: str
    name: str

    def find(self) -> Callable[..., Any]:
        """The function or class itself."""
        if self.kind == "script":
            return library.find(self.where).run
        return find_place(self.where)

    @property
    def code(self) -> str:
        """A digest of all code that can change its results: what it imports, and what runs it."""
        return sources_of(self.find().__module__, _RUN_BY[self.kind]).code

    def parameters(self) -> dict[str, inspect.Parameter]:
        """What can be set, by name: everything but the study, the model itself and the seed."""
        parameters = list(inspect.signature(self.find()).parameters.values())
        chosen = parameters[1:] if self.kind == "script" else parameters
        return {one.name: one for one in chosen if one.name != "seed"}

    def takes(self, name: str) -> bool:
        """Whether it has a parameter of that name, or takes any."""
        parameters = inspect.signature(self.find()).parameters
        return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise unless these parameters can be given, and none is missing."""
        known = self.parameters()
        open_ended = any(one.kind is one.VAR_KEYWORD for one in known.values())
        named = {name: one for name, one in known.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}
        for name in given:
            if name not in named and not open_ended:
                hint = nearest(name, named) if named else "it has none"
                raise InputError(f"{self.name} has no parameter {name!r}; {hint}")
        missing = [name for name, one in named.items() if one.default is one.empty and name not in given]
        if missing:
            raise InputError(f"{self.name} needs {', '.join(missing)}; vary it in the design or fix its value")

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with the defaults of those not given, where defaults have a content."""
        defaults = {name: one.default for name, one in self.parameters().items() if one.default is not one.empty}
        return {name: value for name, value in defaults.items() if name not in given and _has_content(value)} | {
            **given
        }

    def describe(self) -> dict[str, str]:
        """What the manifest of a sweep says: a script goes by its name, as its file may have moved when it goes on."""
        if self.kind != "script":
            return {"kind": self.kind, "name": self.where}
        return {"kind": self.kind, "name": self.name, **({"file": self.where} if self.where != self.name else {})}


def target_of(given: Any, folders: Sequence[Path] = ()) -> Target:
    """The target that a name, a place, a function or a class stands for; files are also looked for in the folders."""
    if isinstance(given, Target):
        return given
    if isinstance(given, str) and ":" in given:
        return target_of(find_place(given, folders))
    if isinstance(given, str):
        script = library.find(given, folders)
        return Target("script", script.where, script.name)
    if is_model(given):
        return Target("model", _where(given), given.__name__)
    if inspect.isfunction(given):
        return Target("function", _where(given), given.__name__)
    raise InputError(f"cannot sweep {given!r}; give a scenario's name, a function that makes one, or a Mesa model")


def _where(thing: Any) -> str:
    """Where workers find it."""
    if "<" in thing.__qualname__:
        raise InputError(f"workers cannot import {thing.__qualname__}; define it at the top of a module")
    file = getattr(sys.modules.get(thing.__module__), "__file__", None)
    if thing.__module__ == "__main__" and not (file and Path(file).exists()):
        raise InputError(f"workers cannot import {thing.__name__} from a session; put it into a file and import it")
    return f"{thing.__module__}:{thing.__qualname__}"


def _has_content(value: Any) -> bool:
    try:
        digest(value)
    except FedabmError:
        return False
    return True
