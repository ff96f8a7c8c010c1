"""Errors by kind, each in one line that says what, got and remedy; and checks of input."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "MOST_COUNTED",
    "BusyError",
    "FedabmError",
    "InputError",
    "Interrupted",
    "MissingExtraError",
    "UnreadableError",
    "UserCodeError",
    "as_numbers",
    "check_count",
    "check_kind",
    "check_number",
    "check_pairs",
    "check_positive",
    "check_range",
    "check_whole",
    "finite_vector",
    "in_one_line",
    "nearest",
    "shown",
    "with_point",
]


#: larger numbers are refused where their sums and products must stay finite
MOST = 1e100
#: more owners, seeds, rounds or points than this no scenario takes: it would neither end nor fit into memory
MOST_COUNTED = 100_000
#: more numbers than this (2 GiB) no rule puts into one table
MOST_IN_TABLE = 2**28
#: how numbers are written where a point stands between thousands, or nowhere
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
#: larger rates and weights make the 32-bit numbers of training overflow
LARGEST_RATE = 1e6


class FedabmError(Exception):
    """What can be said in one line, of one of the kinds below.  Any other exception is a mistake in fedabm itself."""


class InputError(FedabmError, ValueError):
    """Bad input; the message is one line: what is wrong, what was given, what to do."""


class UserCodeError(FedabmError):
    """A class, function or script of the user's own failed; `__cause__` is what it raised, where that is known."""


class UnreadableError(FedabmError):
    """Results that cannot be read: damaged, or in the format of another version."""


class BusyError(FedabmError):
    """Another process works in the same folder."""


class MissingExtraError(FedabmError, ImportError):
    """A package that is not installed; the message says which extra brings it."""


class Interrupted(Exception):
    """The user pressed Ctrl-C; what was recorded until then is in the study."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Say which valid name was probably meant, or list them all.

    >>> nearest("fre_riding", ["free_riding", "gpt3"]), nearest("fedamp", ["CFL", "FedAMP"])
    ("did you mean 'free_riding'?", "did you mean 'FedAMP'?")

    Parameters
    ----------
    name : str
        What was asked for.
    valid : Iterable[str]
        The names that there are.

    Returns
    -------
    str
        "did you mean ...?", or the list.
    """
    names = sorted(valid)
    alike = [one for one in names if one.lower() == str(name).lower()]
    close = alike or difflib.get_close_matches(str(name), names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"choose one of: {', '.join(names) or '(none)'}"


def with_point(value: Any, remedy: str) -> str:
    """The remedy for something that is no number; of one with a decimal comma, the same with a point.

    >>> with_point("0,05", "give a number"), with_point("x", "give a number")
    ('that is a decimal comma; write 0.05', 'give a number')
    """
    comma = isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip())
    return f"that is a decimal comma; write {value.strip().replace(',', '.')}" if comma else remedy


def shown(value: Any, most: int = 120) -> str:
    """A value in a message: in one line, and not too long.

    >>> shown("two\\nlines"), len(shown(10**500))
    ("'two\\\\nlines'", 120)
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not print whole numbers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= most else text[: most - 3] + "..."


def in_one_line(error: BaseException, most: int = 300) -> str:
    """What an error of a user's own code says; one of ours says already what to do.

    >>> in_one_line(KeyError("cost")), in_one_line(InputError("no cost; give one"))
    ("KeyError: 'cost'; mend what raised it", 'no cost; give one')
    """
    text = " ".join(str(error).split())
    text = text if len(text) <= most else text[: most - 3] + "..."
    return text if isinstance(error, FedabmError) else f"{type(error).__name__}: {text}; mend what raised it"


def check_kind(what: str, value: Any, kind: type) -> None:
    """Raise unless `value` is an object of this kind."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InputError(f"{what} must be {article} {kind.__name__}, got {shown(value)}; give an object, not a name")


def check_positive(what: str, value: Any, *, zero: bool = False) -> None:
    """Raise unless every number in `value` is finite and positive (or zero, if allowed).

    Parameters
    ----------
    what : str
        What the message calls them.
    value : Any
        A number, or several.
    zero : bool, optional
        Whether 0 is allowed.
    """
    if type(value) is float and (0.0 < value < np.inf or (zero and value == 0.0)):
        return  # without NumPy, as this is asked of every owner
    numbers = as_numbers(what, value)
    good = np.isfinite(numbers) & ((numbers >= 0) if zero else (numbers > 0))
    if not np.all(good):
        wanted = "zero or a positive number" if zero else "a positive number"
        bad = numbers[~good].flat[0] if numbers.ndim else numbers
        raise InputError(f"{what} must be {wanted}, got {bad:g}; give {wanted}")


def check_number(what: str, value: Any, *, zero: bool = False, most: float = MOST) -> None:
    """Raise unless `value` is a single number, positive (or zero, if allowed) and not larger than `most`.

    Parameters
    ----------
    what : str
        What the message calls it.
    value : Any
        What was given.
    zero : bool, optional
        Whether 0 is allowed.
    most : float, optional
        Largest number.
    """
    check_positive(what, value, zero=zero)
    if np.ndim(value) or value > most:
        raise InputError(f"{what} must be a single number up to {most:g}, got {value}; give such a number")


def check_pairs(what: str, owners: int, remedy: str, *, each: int = 1) -> None:
    """Raise where a table of all pairs of owners, with this many numbers for `each`, would not fit into memory.

    >>> check_pairs("Clarke", 20_000, "take fewer")
    Traceback (most recent call last):
    fedabm.common.errors.InputError: Clarke looks at all pairs of owners, up to 16384 for memory, got 20000; take fewer
    """
    most = math.isqrt(MOST_IN_TABLE // each)
    if owners > most:
        raise InputError(f"{what} looks at all pairs of owners, up to {most} for memory, got {owners}; {remedy}")


def check_range(what: str, value: float, low: float, high: float) -> None:
    """Raise unless low <= value <= high.

    Parameters
    ----------
    what : str
        What the message calls it.
    value : float
        What was given.
    low : float
        Least value.
    high : float
        Largest value.
    """
    if type(value) is float and low <= value <= high:
        return
    number = as_numbers(what, value)
    if number.ndim or not low <= number <= high:
        raise InputError(f"{what} must lie between {low:g} and {high:g}, got {value}; give a value in that range")


def check_whole(what: str, value: Any, low: int = 1, high: int | None = None) -> None:
    """Raise unless `value` is a whole number from `low` on (and up to `high`).

    Parameters
    ----------
    what : str
        What the message calls it.
    value : Any
        What was given.
    low : int, optional
        Least number.
    high : int | None, optional
        Largest number; None: any.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        reach = "on" if high is None else f"to {high}"
        raise InputError(
            f"{what} must be a whole number from {low} {reach}, got {shown(value)}; for instance {low + 9}"
        )


def check_count(what: str, value: Any, low: int = 1, high: int = MOST_COUNTED) -> None:
    """Raise unless `value` is a whole number from `low` on of things that a scenario goes through one by one.

    >>> check_count("rounds", 10**12)
    Traceback (most recent call last):
    fedabm.common.errors.InputError: rounds must be a whole number from 1 to 100000, got 1000000000000; for instance 10

    Parameters
    ----------
    what : str
        What the message calls it.
    value : Any
        What was given.
    low : int, optional
        Least number.
    high : int, optional
        Largest number.
    """
    check_whole(what, value, low, high)


def as_numbers(what: str, value: Any) -> np.ndarray:
    """`value` as an array of floats, or an error."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a number, got {shown(value)}; {with_point(value, 'give a number')}") from None


def finite_vector(what: str, value: Any, length: int | None = None) -> np.ndarray:
    """Return `value` as a vector of finite floats, or raise; a scalar is repeated to `length`."""
    vector = np.atleast_1d(as_numbers(what, value))
    if vector.ndim != 1:
        raise InputError(f"{what} must be one-dimensional, got shape {vector.shape}; give one number per owner")
    if length is not None and vector.size == 1:
        vector = np.repeat(vector, length)
    if length is not None and vector.size != length:
        raise InputError(f"{vector.size} values of {what} but {length} owners; give one per owner")
    if not np.all(np.isfinite(vector)):
        raise InputError(f"{what} must be finite, got {vector[~np.isfinite(vector)][0]}; remove NaN and infinity")
    return vector
