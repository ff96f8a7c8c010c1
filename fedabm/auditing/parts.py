"""The recorded league: which parts it has, and how long each takes; planned before any of them was run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fedabm.auditing.league import closed_rules
from fedabm.common.errors import InputError, nearest
from fedabm.mechanisms import ModelMarket

__all__ = ["CLOSED", "OWNERS", "QUESTIONS", "TELLING", "TITLES", "TUNING", "Part", "part_named", "parts"]

#: owners of every federation, questions of a search for the best lie, and parameters tried of each rule
OWNERS, QUESTIONS, TUNING = 6, 200, 20
#: the scheme without training
CLOSED = "closed"
#: what readers call the worlds
TITLES = {CLOSED: "closed form", "mnist": "MNIST", "sent140": "Sent140", "cifar10": "CIFAR-10"}
#: seeds of the closed half and of the trained one; what is cheap has more, of which those beyond five come last
_SEEDS = {CLOSED: range(20), "mnist": range(10), "sent140": range(5), "cifar10": range(5)}
_FIRST = 5
#: one rule of every kind: no payments, by contribution, Shapley shares, worse models, a check, scores of updates,
#: sparser updates, models of one's own
TELLING = (
    *("NoPayments", "ContributionSubsidy", "ShapleyShare", "ValueShaping"),
    *("Verification", "FedSV", "CGSV", "FedAMP"),
)
#: core-hours of a part, from measured seconds of a rule and a seed
_HOURS = {CLOSED: 0.6, "mnist": 0.2, "sent140": 0.2, "cifar10": 0.2}


@dataclass(frozen=True)
class Part:
    """What one command records: some rules on some seeds, in closed form or on a data set.

    Parameters
    ----------
    name : str
        Name of the part and of its folder.
    world : str
        "closed", or the data set on which models train.
    rules : tuple of str
        Which rules.
    seeds : tuple of int
        On which seeds.
    """

    name: str
    world: str
    rules: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def hours(self) -> float:
        """Core-hours that it is expected to take."""
        return _HOURS[self.world]

    @property
    def units(self) -> list[tuple[str, tuple[int, ...]]]:
        """What is kept on the way: a rule on all seeds in closed form, where it is tuned once; else on one seed."""
        if self.world == CLOSED:
            return [(rule, self.seeds) for rule in self.rules]
        return [(rule, (seed,)) for seed in self.seeds for rule in self.rules]

    @property
    def command(self) -> str:
        """What records it."""
        return f"fedabm record league --part {self.name}"


def parts() -> list[Part]:
    """All parts, the first to be recorded first."""
    from fedabm.auditing.contenders import contenders  # PyTorch is slow to import

    closed = [*closed_rules([0.01, 0.1]), ModelMarket.__name__]
    trained = tuple(contenders([0.01, 0.1]))
    found = [Part(f"{CLOSED}-{place}", CLOSED, tuple(closed[place::3]), tuple(_SEEDS[CLOSED])) for place in range(3)]
    rules = {"mnist": trained, "sent140": TELLING, "cifar10": TELLING}
    made = [Part(f"{world}-{seed}", world, rules[world], (seed,)) for world in rules for seed in _SEEDS[world]]
    return found + sorted(made, key=lambda part: part.seeds[0] >= _FIRST)


def part_named(name: str, known: Iterable[Part]) -> Part:
    """The part of that name."""
    by_name = {one.name: one for one in known}
    if name not in by_name:
        raise InputError(f"the league has no part {name!r}; {nearest(name, by_name)}")
    return by_name[name]
