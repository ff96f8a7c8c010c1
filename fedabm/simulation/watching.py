"""Watching a run while it goes on: whoever watches is told when it begins, after every step, and when it ends.

A watcher gets the columns of the step as plain data, those of the scenario's own `columns` too, so that nothing it does
can change the run:

    class Loud(Watcher):
        def step(self, values):
            print(values["step"], values["welfare"])

    Federation(scenario).run(Loud())
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["MOST_OWNERS", "PER_OWNER", "RunBegun", "Watchable", "Watcher", "owner_values", "watched"]

#: the columns of single owners that trackers show, and of how many owners
PER_OWNER = ("contribution", "accuracy", "payment", "utility")
MOST_OWNERS = 50


@dataclass(frozen=True)
class RunBegun:
    """What is known of a run when it begins: its place in the study, what it is called, and how far it has come.

    `done` is not 0 where a run goes on from a checkpoint.

    Parameters
    ----------
    label : str
        What the run is called.
    seed : int
        Its seed.
    number : int, optional
        Its place in the study, from 1 on.
    done : int, optional
        How many steps are done already, from a checkpoint.
    facts : Mapping[str, Any], optional
        Parameters and settings.
    """

    label: str
    seed: int
    number: int = 1
    done: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files and folders.

        >>> RunBegun("Shapley shares, 10%", seed=0, number=3).name
        '003-Shapley-shares-10'
        """
        words = re.sub(r"[^A-Za-z0-9_]+", "-", self.label).strip("-")
        return f"{self.number:03d}-{words}".rstrip("-")


class Watcher:
    """Is told of a run; what is not wanted need not be written.

    With `owners` the values of a step hold those of single owners, too, as "accuracy/St._Mary" (see `owner_values`).
    """

    owners: bool = False

    def begin(self, run: RunBegun) -> None:
        """A run begins, or goes on."""

    def step(self, values: Mapping[str, Any]) -> None:
        """A step is complete: its columns, by name."""

    def end(self) -> None:
        """The run has ended, or was broken off."""


class Watchable(Protocol):
    """A run that keeps the columns of its last step, and names of its owners."""

    recorder: Any
    population: Any


def owner_values(model: Watchable) -> dict[str, float]:
    """What single owners did and got in the last step: at most fifty of them, those with the lowest numbers.

    Parameters
    ----------
    model
        A federation.

    Returns
    -------
    dict
        Values by column and owner, such as {"accuracy/St._Mary": 0.93}; owners without a name go by their numbers.
    """
    last, names = model.recorder.owners, model.population.names
    who = last.get("owner", ())[:MOST_OWNERS]
    called = [re.sub(r"[^\w.-]+", "_", names[owner] or str(owner)) for owner in who]
    return {
        f"{column}/{name}": float(value)
        for column in PER_OWNER
        if column in last
        for name, value in zip(called, last[column], strict=False)
    }


@contextlib.contextmanager
def watched(watchers: Sequence[Watcher], run: RunBegun) -> Iterator[Callable[[Watchable], None]]:
    """Tell them of a run; gives what to call after each step, with the run."""
    with contextlib.ExitStack() as ends:
        for one in watchers:
            one.begin(run)
            ends.callback(one.end)

        def tell(model: Watchable) -> None:
            values = model.recorder.values if watchers else {}
            wide = {**values, **owner_values(model)} if any(one.owners for one in watchers) else values
            for one in watchers:
                one.step(wide if one.owners else values)

        yield tell
