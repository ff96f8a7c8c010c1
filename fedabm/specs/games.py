"""A game in a few lines of TOML.

    mechanism = "shapley_share"
    accuracy = { kind = "power_law", scale = 1.0, exponent = 1.0, offset = 1.0 }
    owners = { costs = [0.1, 0.25], capacity = 100 }

Mechanisms, accuracies and costs go by their class names in snake_case, or by where they stand ("my_rules.py:Bounty",
looked for beside the file); a table gives parameters beside the `kind`, a bare name takes the defaults.  `costs` are
numbers (linear costs) or tables such as { kind = "affine", rate = 0.1, fixed = 1.0 } or { kind = "tabulated",
points = [0, 10, 20], costs = [0, 1, 4] }; one cost is everyone's, with `count` owners.  `capacity` is one number for
all, or a list.  Owners may also be written one by one and in groups, as in a study (`owners`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, check_range
from fedabm.games.accuracy import Accuracy
from fedabm.games.costs import Cost
from fedabm.mechanisms import Mechanism
from fedabm.solving.game import Game
from fedabm.specs.owners import all_at_once
from fedabm.specs.toml import read_toml
from fedabm.specs.values import Reader
from fedabm.specs.words import value_of

__all__ = ["game_of", "is_study", "read_game"]

#: games with more owners need more memory and time than anybody has
_MOST_OWNERS = 1_000_000


@dataclass(frozen=True)
class OwnerNumbers:
    """Costs and capacities, one per owner or one for all of them."""

    costs: tuple[float | Cost, ...] | float | Cost
    capacity: tuple[float, ...] | float
    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            check_range("count of owners", self.count, 1, _MOST_OWNERS)
            if isinstance(self.costs, tuple) and len(self.costs) != self.count:
                raise InputError(
                    f"{len(self.costs)} costs but {self.count} owners; give one cost per owner, or one for all"
                )

    def each(self) -> list[float | Cost]:
        """One cost per owner."""
        if isinstance(self.costs, tuple):
            return list(self.costs)
        several = len(self.capacity) if isinstance(self.capacity, tuple) else 1
        return [self.costs] * (self.count or several)


@dataclass(frozen=True)
class Description:
    """What a file says about a game."""

    mechanism: Mechanism
    accuracy: Accuracy
    owners: OwnerNumbers

    def game(self) -> Game:
        """The game."""
        capacity = self.owners.capacity
        return Game(
            self.accuracy,
            self.owners.each(),
            list(capacity) if isinstance(capacity, tuple) else capacity,
            self.mechanism,
        )


def read_game(path: str | Path, mechanism: str | None = None) -> Game:
    """Read a game from a TOML file; `mechanism` (a name, or a table as in the file) replaces the one there."""
    table = read_toml(path)
    if is_study(table):
        remedy = f"fedabm run {path} runs it, fedabm audit {path} --mechanism NAME looks for lies"
        raise InputError(f"{path} is a study of several mechanisms, not a game; {remedy}")
    return game_of(table, mechanism, Reader((Path(path).resolve().parent,)))


def is_study(table: Mapping[str, Any]) -> bool:
    """Whether a parsed file describes a study of several mechanisms, or that looks for one, and not a game of one."""
    return isinstance(table.get("mechanisms"), dict | list) or ("recommend" in table and "mechanism" not in table)


def game_of(table: Mapping[str, Any], mechanism: str | None = None, reader: Reader | None = None) -> Game:
    """The game that a parsed specification describes.

    >>> owners = {"costs": [0.1, 0.25], "capacity": 100}
    >>> game_of({"mechanism": "no_payments", "accuracy": "power_law", "owners": owners}).owners
    2
    """
    chosen = table if mechanism is None else {**table, "mechanism": _replaced(table.get("mechanism"), mechanism)}
    return (reader or Reader()).make(Description, all_at_once(chosen), "the game").game()


def _replaced(given: Any, mechanism: str) -> Any:
    """The mechanism that replaces the one in the file; parameters stay if the kind stays."""
    wanted = value_of("--mechanism", mechanism, Mechanism)
    same = isinstance(given, Mapping) and given.get("kind") == wanted
    return given if same else wanted
