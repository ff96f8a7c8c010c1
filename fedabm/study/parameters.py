"""What the parameters of a scenario mean, and how long it takes: read from the docstring of its `run`.

    def run(study: Study, owners: int = 12, rate: float = 0.02) -> None:
        \"\"\"Simulate both mechanisms.

        owners  number of owners
        rate    the subsidy: money for each unit of data above the mean of the others

        Takes about a minute.
        \"\"\"

What can be chosen is read from the annotations.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

from fedabm.specs.hints import hints_of, parameters_of, without_none
from fedabm.specs.kinds import choices
from fedabm.specs.shapes import is_list

__all__ = ["choices_of", "duration_of", "meanings_of"]


def meanings_of(run: Callable[..., Any]) -> dict[str, str]:
    """The meaning of each parameter that the docstring explains: a line that begins with its name and two spaces.

    >>> def run(study, owners=3):
    ...     '''Simulate.
    ...
    ...     owners  number of owners,
    ...             at least one
    ...     '''
    >>> meanings_of(run)
    {'owners': 'number of owners, at least one'}
    """
    names = "|".join(map(re.escape, parameters_of(run))) or "$^"
    found: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(run) or "").splitlines():
        begun = re.match(rf"({names})  +(\S.*)", line)
        if begun:
            name, found[begun[1]] = begun[1], begun[2]
        elif name and line.startswith("  "):
            found[name] += f" {line.strip()}"
        else:
            name = ""
    return found


def duration_of(run: Callable[..., Any]) -> str:
    """How long it usually takes, from a line of the docstring; nothing where none says so.

    >>> def run(study):
    ...     '''Simulate.
    ...
    ...     Takes about a minute.
    ...     '''
    >>> duration_of(run)
    'about a minute'
    """
    found = re.search(r"^Takes (.+)\.$", inspect.getdoc(run) or "", re.MULTILINE)
    return found[1] if found else ""


def choices_of(run: Callable[..., Any], name: str) -> list[str]:
    """The words among which a parameter, or a part of it, chooses; none where any number or text will do."""
    return sorted(dict.fromkeys(_words(hints_of(run)[name])), key=str.lower)


def _words(hint: Any) -> Iterator[str]:
    for option in without_none(hint):
        if typing.get_origin(option) is typing.Literal:
            yield from map(str, typing.get_args(option))
        elif option is bool:
            yield from ("yes", "no")
        elif is_list(option):
            yield from _words((typing.get_args(option) or (Any,))[0])
        elif inspect.isclass(option) and option.__module__.startswith("fedabm."):
            yield from choices(option)
