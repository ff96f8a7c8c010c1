"""Names of mechanisms, strategies, accuracies and the like in text: the class name in snake_case.

Where an object of some class is wanted, one may name every class that is exported beside it and is of its kind, those
that installed packages offer as entry points of its family (`families`), and any other one by its place:

    "shapley_share"     "my_package.rules:Bounty"     "path/to/rules.py:Bounty"

At a place there may also be an object, a function that makes one, or for a mechanism a function of accuracy and
reports: the payments of a `PaymentRule`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

from fedabm.common.errors import FedabmError, InputError, nearest
from fedabm.common.names import snake
from fedabm.specs.families import groups_of, offered
from fedabm.specs.hints import hints_of
from fedabm.specs.places import find_place, one_line_errors

__all__ = ["EntryPointKind", "announced", "choices", "find_kind", "is_a", "kinds", "word"]

Maker = Callable[..., Any]


@dataclass(frozen=True)
class EntryPointKind:
    """What an installed package offers under a name; nothing of it is imported before it is loaded."""

    name: str
    value: str
    package: str
    # An entry point of the standard library, or of importlib_metadata: once anybody imports that, it answers for both.
    entry: Any

    def load(self) -> Any:
        """What the name stands for, or one line that says why it cannot be had."""
        try:
            with one_line_errors():
                return self.entry.load()
        except (ModuleNotFoundError, FedabmError) as error:
            raise InputError(f"{self.name!r} of {self.package} cannot be loaded from {self.value!r}: {error}") from None


def _later(group: str, **places: str) -> tuple[EntryPointKind, ...]:
    return tuple(
        EntryPointKind(name, value, "fedabm", EntryPoint(name, value, group)) for name, value in places.items()
    )


#: what stands in a room above the one of its kind, and takes PyTorch to import
_LATER = {
    "fedabm.knowledge": _later(
        "fedabm.knowledge",
        measured="fedabm.learning.knowledge:Measured",
        from_updates="fedabm.learning.knowledge:FromUpdates",
        fed_sv="fedabm.learning.knowledge:FedSV",
        gtg_shapley="fedabm.learning.knowledge:GTGShapley",
        update_norms="fedabm.learning.knowledge:UpdateNorms",
        com_fed_sv="fedabm.learning.knowledge:ComFedSV",
    )
}


def word(base: type) -> str:
    """What a class is called in a message."""
    return getattr(base, "called", snake(base.__name__).strip("_").replace("_", " "))


def kinds(package: ModuleType, base: type) -> dict[str, Any]:
    """The classes of a kind that a package exports and that can be made, by their names in text."""
    exported = {name: getattr(package, name) for name in package.__all__}
    return {snake(name): one for name, one in exported.items() if _can_be_made(one) and is_a(one, base)}


def choices(base: type, *more: ModuleType) -> dict[str, Maker | EntryPointKind]:
    """What can be named where a `base` is wanted: entry points, classes exported beside it, classes of more modules.

    >>> from fedabm.mechanisms import Mechanism
    >>> "no_payments" in choices(Mechanism)
    True
    """
    package = _home(base)
    others = [one for group in groups_of(base) for one in announced(group)]
    further: dict[str, Maker | EntryPointKind] = {one.name: one for one in [*others, *_LATER.get(package.__name__, ())]}
    return {**further, **{name: make for module in (package, *more) for name, make in _makers(module, base)}}


def find_kind(kind: Any, base: type, folders: Sequence[Path] = (), *more: ModuleType) -> Maker:
    """The class that a name or place stands for, or an error with the nearest name."""
    if isinstance(kind, str) and ":" in kind:
        return _own(kind, base, folders)
    known = choices(base, *more)
    if not isinstance(kind, str):
        raise InputError(f"the kind of {word(base)} must be a name, got {kind!r}; {nearest('', known)}")
    if kind not in known:
        raise InputError(f"unknown {word(base)} {kind!r}; {nearest(kind, known)}")
    found = known[kind]
    return found.load() if isinstance(found, EntryPointKind) else found


def announced(group: str) -> tuple[EntryPointKind, ...]:
    """What installed packages offer in a group, such as `fedabm.mechanisms`."""
    return tuple(
        EntryPointKind(one.name, one.value, one.dist.name if one.dist else "an installed package", one)
        for one in offered(group)
    )


def _own(kind: str, base: type, folders: Sequence[Path]) -> Maker:
    """A class of one's own, a function that returns such an object, an object itself, or a rule of payments."""
    found = find_place(kind, folders)
    if is_a(type(found), base):
        return lambda: found
    if _pays(found):
        from fedabm.mechanisms import PaymentRule  # slow to import

        if is_a(PaymentRule, base):
            return lambda: PaymentRule(found)
    if not callable(found) or (inspect.isclass(found) and not is_a(found, base)):
        raise InputError(f"{kind!r} is no {word(base)}; name a subclass of {base.__module__}.{base.__name__}")
    return found


def _pays(found: Any) -> bool:
    """Whether this is a function of accuracy and reports, as a `PaymentRule` takes it."""
    return inspect.isfunction(found) and list(inspect.signature(found).parameters) == ["accuracy", "reports"]


def _home(base: type) -> ModuleType:
    """The outermost module around a class that exports it."""
    parts = base.__module__.split(".")
    around = (sys.modules.get(".".join(parts[:depth])) for depth in range(1, len(parts)))
    exporting = (one for one in around if one and base.__name__ in getattr(one, "__all__", ()))
    return next(exporting, sys.modules[base.__module__])


def _makers(module: ModuleType, base: type) -> Iterable[tuple[str, Maker]]:
    """Public classes of a kind, and functions that are named like a class and return one, by their names in text."""
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        one: Any = getattr(module, name, None)
        if _can_be_made(one) and is_a(one, base):
            yield snake(name), one
        if inspect.isfunction(one) and name[:1].isupper() and _gives(one, base):
            yield snake(name), one


def is_a(kind: type, base: type) -> bool:
    """Whether a class is of a kind; nothing is, where Python cannot tell."""
    try:
        return issubclass(kind, base)
    except TypeError:
        return False


def _can_be_made(one: Any) -> bool:
    return inspect.isclass(one) and not inspect.isabstract(one)


def _gives(function: Callable[..., Any], base: type) -> bool:
    given = hints_of(function).get("return")
    return inspect.isclass(given) and is_a(given, base)
