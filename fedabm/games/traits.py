"""What is known of a class beyond its answers: declared once, and dropped where an override may break it.

Solver, Shapley shares, proofs and sweeps go a faster or an exact way where they may rely on something, as that only the
total of all data matters.  A class declares that by flags (`concave = True`); its `traits` hold them all in one frozen
record, and everybody decides by that record, never by the class.  Accuracies have `WorthTraits`, costs `CostTraits`,
strategies `StrategyTraits`, mechanisms `RuleTraits`.

A flag holds for the class that declares it.  A subclass that overrides a method which the flag rests on loses it, with
a line of the logger "fedabm", unless it declares the flag itself.  `fedabm.testing` checks what is declared.
"""

from __future__ import annotations

import inspect
from abc import update_abstractmethods
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, ClassVar

from fedabm.common.log import LOG

__all__ = [
    "ANY_METHOD",
    "CostTraits",
    "Declaring",
    "Forwarded",
    "StrategyTraits",
    "Traits",
    "WorthTraits",
    "forward",
    "record",
    "trait",
]

#: what a trait rests on that every method of the class takes part in
ANY_METHOD = "*"
_METHODS = (property, cached_property, classmethod, staticmethod)


def trait(*rests_on: str, default: bool = False) -> Any:
    """A field of a record of traits, and the methods that it rests on; without any it is never dropped."""
    return field(default=default, metadata={"rests_on": rests_on})


@dataclass(frozen=True)
class Traits:
    """What is known of a part of a scenario; a subclass has one field per flag."""


@dataclass(frozen=True)
class WorthTraits(Traits):
    """What is known of accuracies a_i(s) beyond their values.

    concave          a_i is concave in the own contribution between its kinks
    monotone         a_i does not decrease in any contribution
    of_exposure      one common curve of weighted sums, a_i(s) = v(sum_j W_ij s_j): `as_exposure` has v and W
    of_total         of the total only, a_i(s) = v(sum_j s_j): the same for everyone, whoever brings the data
    linear_in_all    linear in all contributions together, so that `marginals` say everything
    of_exponentials  sum_i a_i(s) is a constant minus a mixture of falling exponentials: that of `exponentials`
    stacks           batched along the last axis: profiles (runs, n) serve many runs, and no step changes anything
    padded           owners of a larger oracle stand beside it at 0, so that no owner can be in it twice
    """

    concave: bool = trait("values", "curves", "curve", "exposures", "missed")
    monotone: bool = trait("values", "curves", "curve", "exposures", "missed")
    of_exposure: bool = trait("values", "curves")
    of_total: bool = trait("values", "curves", "exposures", "own_weights", "weight_matrix")
    linear_in_all: bool = trait("values", "curves", "curve", "exposures", "weight_matrix")
    of_exponentials: bool = trait("values", "curves", "curve", "curve_slope", "exposures", "weight_matrix", "missed")
    stacks: bool = trait(ANY_METHOD)
    padded: bool = trait()


@dataclass(frozen=True)
class CostTraits(Traits):
    """What is known of a cost c(s) beyond its values; of many owners, whether it holds of all.

    convex    between its kinks
    straight  between its kinks
    linear    c(s) = c(0) + unit * s
    closed    a family of this library, whose shape and slope are beyond doubt
    power     c(s) = fixed + rate * s^exponent: `as_power` has the three
    """

    convex: bool = trait("value", default=True)
    straight: bool = trait("value")
    linear: bool = trait("value", "slope")
    closed: bool = trait("value", "slope", "kinks", "curvature")
    power: bool = trait(ANY_METHOD)


@dataclass(frozen=True)
class StrategyTraits(Traits):
    """What sweeps may rely on.

    stacks  in every step all of its owners draw random numbers or none does: then many runs can be stepped together
    """

    stacks: bool = trait(ANY_METHOD)


class Declaring:
    """A class that declares traits by flags; a subclass states the dataclass that collects them."""

    _kind_of_traits: ClassVar[type[Traits]]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        _drop_broken(cls)


class Forwarded(property):
    """A flag or fact of a wrapper, as that of what it wraps."""


def forward(wrapper: type, base: type, inner: str, methods: Callable[[str, Callable[..., Any]], Any] | None) -> None:
    """Give a wrapper all public members of its base that it does not state itself, as those of its field `inner`.

    `methods` makes a method from its name and that of the base (None: methods stay those of the base); flags and facts
    are looked up.  Only `traits` stay, which collect the wrapper's own flags.
    """
    for name, value in vars(base).items():
        if not (name.startswith("_") or name == "traits" or name in vars(wrapper)):
            if not inspect.isfunction(value):
                setattr(wrapper, name, Forwarded(attrgetter(f"{inner}.{name}")))
            elif methods is not None:
                setattr(wrapper, name, methods(name, value))
    update_abstractmethods(wrapper)


def record(kind: Any, subject: Any) -> Any:
    """The traits of a subject as one record; equal ones are the same object, so that asking costs next to nothing."""
    return _made(kind, *_flags(kind)(subject))


@cache
def _flags(kind: Any) -> Callable[[Any], Iterable[bool]]:
    names = [one.name for one in fields(kind)]
    return attrgetter(*names) if len(names) > 1 else lambda subject: (getattr(subject, names[0]),)


@cache
def _made(kind: Any, *flags: bool) -> Any:
    return kind(*map(bool, flags))


def _drop_broken(cls: type) -> None:
    """Set every flag to False that the class has inherited and whose methods it has overridden."""
    for one in fields(cls._kind_of_traits):  # type: ignore[attr-defined]
        declarer = next((kind for kind in cls.__mro__ if one.name in vars(kind)), cls)
        value = vars(declarer).get(one.name, False)
        if declarer is cls or value is False:
            continue
        broken = sorted(set(_overridden(cls, declarer, one.metadata["rests_on"])))
        if broken:
            setattr(cls, one.name, False)
            if not (isinstance(value, Forwarded) or getattr(declarer, "__abstractmethods__", None)):
                said = f"{cls.__name__} overrides {', '.join(broken)} of {declarer.__name__}, so that its {one.name}"
                LOG.warning("%s = True is not taken over; declare %s again, True or False", said, one.name)


def _overridden(cls: type, declarer: type, rests_on: tuple[str, ...]) -> Iterator[str]:
    """The methods of the declarer that a class before it has in its own way; to state an abstract one is no change."""
    for kind in cls.__mro__[: cls.__mro__.index(declarer)]:
        for name, value in vars(kind).items():
            method = not name.startswith("__") and (callable(value) or isinstance(value, _METHODS))
            if method and (name in rests_on or ANY_METHOD in rests_on):
                before = getattr(declarer, name, None)
                if before is not None and not getattr(before, "__isabstractmethod__", False):
                    yield name
