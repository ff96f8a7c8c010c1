"""Numbers, texts, truth values and choices among a few, as annotations want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedabm.common.errors import InputError, nearest, shown, with_point

__all__ = ["WANTED", "read_choice", "read_plain"]

#: the plain annotations, and what they want
WANTED: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
#: whole numbers from here on are no counts, sizes or seeds
_LARGE = 2**63


def read_plain(what: str, given: Any, hint: Any) -> Any:
    """One of the plain types; whole numbers may be written as 3.0, and numbers as 3.

    >>> read_plain("owners", 3.0, int), read_plain("rate", 3, float)
    (3, 3.0)
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    good = {int: number and given % 1 == 0, float: number}.get(hint, isinstance(given, hint))
    if not good:
        remedy = with_point(given, f"give {WANTED[hint]}") if hint is float else f"give {WANTED[hint]}"
        raise InputError(f"{what} must be {WANTED[hint]}, got {shown(given)}; {remedy}")
    if hint is int and abs(given) >= _LARGE:
        raise InputError(f"{what} must be a whole number below 2^63, got {shown(given)}; give a smaller one")
    try:
        return hint(given)
    except OverflowError:
        raise InputError(f"{what} must be a number below 1e308, got {shown(given)}; give a smaller one") from None


def read_choice(what: str, given: Any, known: Mapping[str, Any]) -> Any:
    """One of a few values, given as it is or, if it is an object, by its name."""
    for name, value in known.items():
        plain = isinstance(value, bool | int | float | str)
        if (type(value) is type(given) and value == given) or (name == given and not plain):
            return value
    text = given if isinstance(given, str) else shown(given)
    raise InputError(f"{what} cannot be {shown(given)}; {nearest(text, known)}")
