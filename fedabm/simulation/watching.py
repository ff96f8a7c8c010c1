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
from typing import Any

__all__ = ["RunBegun", "Watcher", "watched"]


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
    """Is told of a run; what is not wanted need not be written."""

    def begin(self, run: RunBegun) -> None:
        """A run begins, or goes on."""

    def step(self, values: Mapping[str, Any]) -> None:
        """A step is complete: its columns, by name."""

    def end(self) -> None:
        """The run has ended, or was broken off."""


@contextlib.contextmanager
def watched(watchers: Sequence[Watcher], run: RunBegun) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Tell them of a run; gives what to call after each step."""
    with contextlib.ExitStack() as ends:
        for one in watchers:
            one.begin(run)
            ends.callback(one.end)

        def tell(values: Mapping[str, Any]) -> None:
            for one in watchers:
                one.step(values)

        yield tell
