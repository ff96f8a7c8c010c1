"""What can be reached from an object: whoever is handed it could read that."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["leaks", "numbers", "parts"]

_OPAQUE = (str, bytes, bool, type(None), type, types.ModuleType, np.dtype, np.bool_)
#: whose classes hold no data of anybody
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "pandas", "scipy", "torch", "mesa", "networkx"}


def numbers(root: object) -> Iterator[float]:
    """Every number that can be reached from an object by attributes, slots, items, closures, bound methods and such."""
    seen: set[int] = set()
    waiting, held = deque([root]), []
    while waiting:
        thing = waiting.popleft()
        if isinstance(thing, _OPAQUE) or id(thing) in seen:
            continue
        seen.add(id(thing))
        held.append(thing)  # keeps the id from being used again
        if isinstance(thing, int | float | np.number):
            yield float(thing)
        elif isinstance(thing, np.ndarray) and thing.dtype != object:
            yield from np.asarray(thing, dtype=float).ravel().tolist() if thing.dtype.kind in "iuf" else ()
            waiting.append(thing.base)
        else:
            waiting.extend(parts(thing))


def parts(thing: Any) -> Iterator[object]:
    """What is directly inside an object."""
    if isinstance(thing, Mapping):
        yield from [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset | deque | np.ndarray):
        yield from thing
    elif isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())
        yield from (thing.__defaults__, thing.__kwdefaults__)
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, types.GeneratorType):
        yield thing.gi_frame and thing.gi_frame.f_locals
    elif isinstance(thing, weakref.ref):
        yield thing()
    elif hasattr(thing, "untyped_storage"):  # a tensor, with all of the memory that it is a part of
        yield thing.detach().new_empty(0).set_(thing.untyped_storage()).cpu().numpy().copy()
    elif isinstance(thing, np.random.Generator):
        yield thing.bit_generator
    elif isinstance(thing, np.random.BitGenerator):
        yield from (thing.seed_seq, thing.state)
    elif isinstance(thing, np.random.SeedSequence):
        yield from (thing.entropy, thing.spawn_key, thing.pool)
    yield from attributes(thing)


def attributes(thing: Any) -> Iterator[object]:
    """Instance attributes, slots, the object a method is bound to, and data on classes that are no library's."""
    yield from (getattr(thing, name, None) for name in ("__dict__", "__self__", "__func__", "__wrapped__"))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        yield from (getattr(thing, slot, None) for slot in ([slots] if isinstance(slots, str) else slots))
        if kind.__module__.partition(".")[0] not in _LIBRARIES:
            yield from [value for value in vars(kind).values() if not isinstance(value, _OPAQUE)]


def leaks(root: object, secrets: list[float]) -> list[float]:
    """The secrets that can be reached."""
    found = np.array(list(numbers(root)))
    return [secret for secret in secrets if np.any(np.isclose(found, secret, rtol=1e-13, atol=0.0))]
