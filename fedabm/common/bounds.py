"""Between which values the parameters of a rule may be tuned, stated beside the parameters.

rate: float = field(metadata=within(1e-4, 1.0, log=True))        tuned from 0.0001 to 1, by orders of magnitude
low: float = field(metadata=given("what the server believes"))   no choice: nobody tunes it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_range

__all__ = ["Bounds", "bounds_of", "given", "start_of", "unbounded", "within", "written"]

_BOUNDS, _GIVEN = "bounds", "given"


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value of a parameter; `log` searches by orders of magnitude, `whole` whole numbers.

    Parameters
    ----------
    low, high : float
        Both ends are legal values.
    log : bool
        Whether equal ratios, and not equal differences, are equally far apart; then `low` is positive.
    whole : bool
        Whether the parameter is a whole number.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        check_range("lower bound", self.low, -1e100, 1e100)
        check_range("upper bound", self.high, -1e100, 1e100)
        if not self.low < self.high:
            raise InputError(f"the lower bound {self.low:g} is not below the upper one {self.high:g}; swap them")
        if self.log and self.low <= 0:
            raise InputError(f"a search by orders of magnitude cannot start at {self.low:g}; give a positive bound")

    def at(self, part: float) -> float:
        """The value at a part in [0, 1] of the way from `low` to `high`; the ends are exact.

        >>> Bounds(0.01, 1.0, log=True).at(0.5)
        0.1
        """
        if part <= 0 or part >= 1:
            value = self.low if part <= 0 else self.high
        elif self.log:
            value = float(self.low * (self.high / self.low) ** part)
        else:
            value = float(self.low + part * (self.high - self.low))
        return round(value) if self.whole else value

    def part(self, value: float) -> float:
        """Where a value lies: the inverse of `at`, outside [0, 1] for values outside."""
        if self.log:
            return float(np.log(max(value, 1e-300) / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)


def within(low: float, high: float, *, log: bool = False, whole: bool = False) -> Mapping[str, Any]:
    """The metadata of a field that may be tuned from `low` to `high`: see `Bounds`.

    Parameters
    ----------
    low : float
        Least value.
    high : float
        Largest value.
    log : bool, optional
        Whether it is searched on a logarithmic scale.
    whole : bool, optional
        Whether it is a whole number.

    Returns
    -------
    Mapping[str, Any]
        Metadata for `dataclasses.field`.
    """
    return {_BOUNDS: Bounds(low, high, log, whole)}


def given(why: str) -> Mapping[str, Any]:
    """The metadata of a number that is no choice of who sets the rule, and why: a belief, a setting of the computer.

    Parameters
    ----------
    why : str
        Why nobody tunes it.

    Returns
    -------
    Mapping[str, Any]
        Metadata for `dataclasses.field`.
    """
    return {_GIVEN: why}


def bounds_of(subject: Any) -> dict[str, Bounds]:
    """The parameters of a rule (or class) that may be tuned, also those of rules within it, as `rule.rate`.

    >>> from fedabm.mechanisms import PartialReciprocity
    >>> bounds_of(PartialReciprocity)["r"]
    Bounds(low=0.0, high=1.0, log=False, whole=False)

    Parameters
    ----------
    subject : Any
        A rule, or its class.

    Returns
    -------
    dict[str, Bounds]
        Bounds by name of the parameter, as `rule.rate` for one within it.
    """
    found: dict[str, Bounds] = {}
    for one in _fields(subject):
        if _BOUNDS in one.metadata:
            found[one.name] = one.metadata[_BOUNDS]
        inner = None if isinstance(subject, type) else getattr(subject, one.name)
        if is_dataclass(inner) and not isinstance(inner, type):
            found |= {f"{one.name}.{name}": bounds for name, bounds in bounds_of(inner).items()}
    return found


def unbounded(subject: Any) -> list[str]:
    """The parameters that are numbers, and say neither bounds nor why they are given."""
    numbers = (one for one in _fields(subject) if "float" in str(one.type))
    return [one.name for one in numbers if not {_BOUNDS, _GIVEN} & set(one.metadata)]


def start_of(rule: Any) -> Any:
    """A rule to start from: itself, or of a class one in the middle of the bounds of what has no default."""
    if not isinstance(rule, type):
        return rule
    needed = [one for one in _fields(rule) if one.init and one.default is MISSING and one.default_factory is MISSING]
    missing = [one.name for one in needed if _BOUNDS not in one.metadata]
    if missing:
        raise InputError(f"{rule.__name__} needs {', '.join(missing)}, which nobody tunes; give a rule, not its class")
    return rule(**{one.name: one.metadata[_BOUNDS].at(0.5) for one in needed})


def written(rule: Any, values: Mapping[str, float]) -> Any:
    """The rule with other values, also within rules that it has: names as in `bounds_of`."""
    own = {name: value for name, value in values.items() if "." not in name}
    for name in dict.fromkeys(name.split(".", 1)[0] for name in values if "." in name):
        inner = {key.split(".", 1)[1]: value for key, value in values.items() if key.startswith(f"{name}.")}
        own[name] = written(getattr(rule, name), inner)
    return replace(rule, **own)


def _fields(subject: Any) -> Iterator[Field[Any]]:
    return iter(fields(subject) if is_dataclass(subject) else ())
