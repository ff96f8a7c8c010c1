"""What the annotations of a function or class say about its parameters."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from fedabm.common.log import LOG

__all__ = ["allows_none", "hints_of", "parameters_of", "without_none"]

#: what a parameter without annotation wants, if its default is one of these
_PLAIN = (bool, int, float, str)


def parameters_of(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that can be given by name."""
    found = _signature(make).parameters
    return {name: one for name, one in found.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}


def hints_of(make: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters, and of what is returned; Any where nothing is said or what is said has no meaning.

    >>> def make(rate: float, owners=3): ...
    >>> hints_of(make)["rate"].__name__, hints_of(make)["owners"].__name__
    ('float', 'int')
    """
    signature, names = _signature(make), _names(make)
    stated = {name: _meaning(one.annotation, names) for name, one in signature.parameters.items()}
    for name, one in signature.parameters.items():
        if one.annotation is one.empty:
            stated[name] = type(one.default) if type(one.default) in _PLAIN else Any
    return {**stated, "return": _meaning(signature.return_annotation, names)}


def _signature(make: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(make)
    except (TypeError, ValueError):  # some of what is written in C has none
        return inspect.Signature()


def _names(make: Any) -> Mapping[str, Any]:
    """What is known where it is defined; for a class also where the classes are that it inherits from."""
    make = inspect.unwrap(make)
    places = [one.__module__ for one in inspect.getmro(make)] if inspect.isclass(make) else [make.__module__]
    return ChainMap(*(vars(sys.modules[place]) for place in dict.fromkeys(places) if place in sys.modules))


def _meaning(annotation: Any, names: Mapping[str, Any]) -> Any:
    if annotation is inspect.Signature.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, {}, names)["it"]
    except Exception as error:  # a name that only the type checker imports, or no type at all
        LOG.debug("the annotation %r is taken as any value: %s", annotation, error)
        return Any


def without_none(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a union, one after the other, without None.

    >>> [one.__name__ for one in without_none(float | str | None)]
    ['float', 'str']
    """
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(inner for one in typing.get_args(hint) for inner in without_none(one))
    return () if hint is type(None) else (hint,)


def allows_none(hint: Any) -> bool:
    """Whether None is one of the alternatives."""
    return hint is type(None) or (
        typing.get_origin(hint) in (typing.Union, types.UnionType) and any(map(allows_none, typing.get_args(hint)))
    )
