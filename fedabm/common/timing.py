"""Which share of the time goes into training, evaluation, data and pictures: what `fedabm run --profile` prints.

A piece of work says which part it belongs to, as a decorator or around a few lines; an open profile adds up:

    @timed("training")
    def train(...): ...

Without a profile that costs the look at one variable.  A piece inside another one counts for its own part only, so that
no second is counted twice.  (A profiler of all calls would slow down what is written in Python, and so give training
too small a share.)
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import ParamSpec, TypeVar

from fedabm.common.errors import InputError, nearest

__all__ = ["PARTS", "Profile", "profiled", "timed"]

#: the parts of the work, in the order of the table
PARTS = ("training", "evaluation", "handing data to the engine", "pictures and files")

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass
class Profile:
    """Seconds by part of the work."""

    seconds: dict[str, float] = field(default_factory=dict)
    total: float = 0.0
    _begun: list[str] = field(default_factory=list, repr=False)
    _since: float = field(default=0.0, repr=False)

    def rows(self) -> list[dict[str, float | str]]:
        """One row per part; the rest is everything else: decisions, mechanisms, Shapley shares, frames, tables."""
        known = self.seconds | {"everything else": max(self.total - sum(self.seconds.values()), 0.0)}
        learning = sum(self.seconds.get(part, 0.0) for part in ("training", "evaluation"))
        shown = known | {"training and evaluation together": learning}
        whole = max(self.total, 1e-9)
        return [
            {"part": part, "seconds": round(spent, 2), "%": round(100 * spent / whole, 1)}
            for part, spent in shown.items()
        ]

    def begin(self, part: str) -> None:
        """From now on time counts for this part, until `end`."""
        self._count()
        self._begun.append(part)

    def end(self) -> None:
        """The part that was begun last has ended."""
        self._count()
        self._begun.pop()

    def _count(self) -> None:
        now = perf_counter()
        if self._begun:
            self.seconds[self._begun[-1]] += now - self._since
        self._since = now


_OPEN: ContextVar[Profile | None] = ContextVar("profile", default=None)


@contextlib.contextmanager
def profiled(*, active: bool = True) -> Iterator[Profile]:
    """Watch what is done inside; the shares are known afterwards."""
    profile = Profile()
    if not active:
        yield profile
        return
    profile.seconds = dict.fromkeys(PARTS, 0.0)
    began, token = perf_counter(), _OPEN.set(profile)
    try:
        yield profile
    finally:
        _OPEN.reset(token)
        profile.total = perf_counter() - began


class timed:
    """Work that counts for a part of the time, if somebody looks.

    >>> @timed("training")
    ... def double(x):
    ...     return 2 * x
    >>> with profiled() as profile, timed("evaluation"):
    ...     double(3)
    6
    >>> profile.seconds["training"] > 0 and sum(profile.seconds.values()) <= profile.total
    True
    """

    def __init__(self, part: str) -> None:
        if part not in PARTS:
            raise InputError(f"unknown part of the work {part!r}; {nearest(part, PARTS)}")
        self._part = part

    def __call__(self, work: Callable[Given, Result]) -> Callable[Given, Result]:
        @functools.wraps(work)
        def run(*values: Given.args, **options: Given.kwargs) -> Result:
            if _OPEN.get() is None:
                return work(*values, **options)
            with self:
                return work(*values, **options)

        return run

    def __enter__(self) -> None:
        if (profile := _OPEN.get()) is not None:
            profile.begin(self._part)

    def __exit__(self, *_: object) -> None:
        if (profile := _OPEN.get()) is not None:
            profile.end()
