"""How a broken promise is told."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import FedabmError
from fedabm.results.frames import Frames

__all__ = ["Check", "ContractBroken", "checked", "expect", "expect_equal_frames", "expect_value", "name_of"]

#: something that must hold of a subject on the federation that a seed draws
Check = Callable[..., None]


class ContractBroken(AssertionError):
    """A class does not keep what all classes of its kind must keep; one line for each broken promise."""


def expect(condition: Any, what: str) -> None:
    """Raise with what is broken and how to mend it, unless the condition holds everywhere."""
    if not np.all(condition):
        raise ContractBroken(what)


def name_of(check: Check) -> str:
    """A check's name in words, for the ids of tests.

    Parameters
    ----------
    check : Check
        A check, as contracts list them.

    Returns
    -------
    str
        Its name in words.
    """
    return check.__name__.replace("_", "-")


def checked(subject: Any, checks: Sequence[Check], seeds: int) -> None:
    """Make all checks, each on several federations, and tell all that is broken together."""
    broken = []
    for check in checks:
        try:
            for seed in range(seeds):
                check(subject, seed=seed)
        except ContractBroken as error:
            broken.append(str(error))
        except Exception as error:
            said = str(error) if isinstance(error, FedabmError) else f"{type(error).__name__}: {error}"
            broken.append(f"it failed where {check.__name__.replace('_', ' ')} was checked: {said}; let it not fail")
    if broken:
        raise ContractBroken("\n".join(f"{type(subject).__name__}: {line}" for line in broken))


def expect_value(subject: Any) -> None:
    """A frozen dataclass that can be pickled, compared, hashed and varied."""
    who = type(subject).__name__
    expect(is_dataclass(subject), f"it is no dataclass; write @dataclass(frozen=True) above class {who}")
    for part in fields(subject):
        try:
            setattr(subject, part.name, getattr(subject, part.name))
        except FrozenInstanceError:
            continue
        raise ContractBroken(f"its {part.name} can be changed; write @dataclass(frozen=True) above class {who}")
    try:
        again = pickle.loads(pickle.dumps(subject))
    except Exception as error:
        remedy = "define the class, and functions that it holds, at the top of a module, and keep plain values"
        raise ContractBroken(f"it cannot be pickled ({error}); {remedy}") from error
    expect(again == subject, "a copy of it is not equal to it; keep values that can be compared")
    try:
        same = hash(again) == hash(subject)
    except TypeError as error:
        raise ContractBroken(f"it cannot be hashed ({error}); keep tuples in place of lists and arrays") from error
    expect(same, "a copy of it has another hash; keep values that are hashed by what they hold")
    expect(replace(subject) == subject, "dataclasses.replace does not give an equal one; keep no state beside fields")
    expect(repr(subject).startswith(who), f"its repr does not begin with {who}; leave it to the dataclass")


def expect_equal_frames(one: Frames, other: Frames, what: str) -> None:
    """The same frames bit for bit; wall time may differ."""
    for name in ("steps", "owners", "transfers"):
        expect(getattr(one, name).equals(getattr(other, name)), f"{what}: the frame of {name} differs")
    runs = [frames.runs.drop(columns="wall_time") for frames in (one, other)]
    expect(runs[0].equals(runs[1]), f"{what}: the frame of runs differs")
