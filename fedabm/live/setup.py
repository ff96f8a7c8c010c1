"""What was chosen on the page, in words: as a link, as a file, and as the scenarios that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_range, check_whole
from fedabm.common.random import check_seed
from fedabm.games.accuracy import Oracle
from fedabm.games.costs import Linear
from fedabm.live.run_choice import RunChoice, strategy_word
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.specs.toml import read_toml, toml_of
from fedabm.specs.values import Reader

__all__ = ["MixturePart", "Setup", "counts", "mixture_of", "read_setup", "scenarios", "setup_of", "spread"]

#: more steps are not run at once to get back to where a link was made
_MOST_STEPS = 100_000


@dataclass(frozen=True)
class MixturePart:
    """A strategy in a mixture, with its share in any unit."""

    share: float
    strategy: str


@dataclass(frozen=True)
class Setup:
    """What is run, and what is looked at.

    mechanisms  one, or two to be shown side by side on the same owners and seed
    mixture     strategies by their shares (empty: as the source says, owner by owner)
    cost        all costs are multiplied by it
    low, high   linear costs instead, evenly spread over the owners from the first to the last
    accuracy    another oracle (empty: the source's)
    steps       at most this many (None: as the source says)
    step        the step that is shown
    owner       the owner that is followed
    """

    mechanisms: tuple[str, ...]
    source: str = ""
    settings: tuple[str, ...] = ()
    seed: int = 0
    mixture: tuple[MixturePart, ...] = ()
    cost: float = 1.0
    low: float | None = None
    high: float | None = None
    accuracy: str = ""
    steps: int | None = None
    step: int = 0
    owner: int = 0

    def __post_init__(self) -> None:
        if len(self.mechanisms) not in (1, 2):
            raise InputError(f"the page shows one or two mechanisms, got {len(self.mechanisms)}; choose at most two")
        check_seed(self.seed)
        check_positive("the factor of all costs", self.cost, zero=True)
        if (self.low is None) != (self.high is None):
            raise InputError("costs are spread between two numbers, got one; give the lowest and the highest")
        if self.low is not None and self.high is not None:
            check_range("the lowest cost", self.low, 0.0, self.high)
        if self.steps is not None:
            check_whole("steps", self.steps)
            check_range("steps", self.steps, 1, _MOST_STEPS)
        check_whole("step", self.step, 0)
        check_whole("owner", self.owner, 0)
        for part in self.mixture:
            check_positive(f"the share of {part.strategy}", part.share, zero=True)

    def query(self) -> str:
        """What follows the ? of a link to the page."""
        usual = Setup(self.mechanisms)
        pairs: list[tuple[str, str]] = [("mechanism", one) for one in self.mechanisms]
        pairs += [("mixture", f"{part.share:g} {part.strategy}") for part in self.mixture]
        plain = ("seed", "cost", "low", "high", "accuracy", "steps", "step", "owner")
        changed = [name for name in plain if getattr(self, name) != getattr(usual, name)]
        return urlencode([*pairs, *((name, str(getattr(self, name))) for name in changed)])

    def text(self) -> str:
        """What a file says that repeats it: `fedabm live FILE`."""
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        values["mixture"] = [{"share": part.share, "strategy": part.strategy} for part in self.mixture]
        values |= {name: list(values[name]) for name in ("mechanisms", "settings")}
        lines = [f"{name} = {toml_of(value)}" for name, value in values.items() if value not in (None, "", [])]
        return "\n".join(["# What a page of fedabm showed; to see it again: fedabm live FILE", *lines]) + "\n"


def setup_of(query: str, usual: Setup) -> Setup:
    """What a link asks for; whatever it leaves out is as usual."""
    given = parse_qs(query, keep_blank_values=True)
    table: dict[str, Any] = {}
    if "mechanism" in given:
        table["mechanisms"] = given["mechanism"]
    if "mixture" in given:
        table["mixture"] = [_part(text) for text in given["mixture"]]
    for name in ("seed", "cost", "low", "high", "steps", "step", "owner"):
        if name in given:
            table[name] = _number(name, given[name][-1])
    if "accuracy" in given:
        table["accuracy"] = given["accuracy"][-1]
    return _read(table, usual, "the link")


def read_setup(path: str | Path) -> Setup | None:
    """What a file says that the page has written; None if it is a study or a game."""
    table = read_toml(path)
    return Reader().make(Setup, table, str(path)) if isinstance(table.get("source"), str) else None


def scenarios(source: RunChoice, setup: Setup) -> dict[str, Scenario]:
    """The runs that are shown, by what their mechanisms are called."""
    base = source.make(setup.seed)
    people = _costing(_mixed(base.owners, source, setup.mixture), setup)
    accuracy = source.read("accuracy", setup.accuracy, Oracle) if setup.accuracy else base.accuracy
    shared = replace(base, owners=people, accuracy=accuracy, steps=setup.steps or base.steps, record=1)
    named = [source.mechanism(text) for text in setup.mechanisms]
    if len({label for label, _ in named}) < len(named):
        raise InputError(f"the same mechanism twice: {named[0][0]}; choose another one to set beside it")
    return {label: replace(shared, mechanism=mechanism) for label, mechanism in named}


def counts(shares: Sequence[float], owners: int) -> list[int]:
    """Whole numbers of owners by their shares, largest remainders first.  Hamilton's method.

    >>> counts([1, 1, 1], 10), counts([3, 0], 4)
    ([4, 3, 3], [4, 0])
    """
    total = float(sum(shares))
    if not total > 0:
        raise InputError("a mixture needs somebody, got shares of 0; give at least one strategy a share")
    quotas = [owners * share / total for share in shares]
    found = [int(quota) for quota in quotas]
    order = sorted(range(len(shares)), key=lambda place: found[place] - quotas[place])
    for place in order[: owners - sum(found)]:
        found[place] += 1
    return found


def spread(numbers: Sequence[int]) -> list[int]:
    """Which kind each owner is of, so that every kind is found everywhere in the order of owners.

    The k-th of m owners of a kind wants the place (k + 1/2) / m of the way.

    >>> spread([4, 2])
    [0, 1, 0, 0, 1, 0]
    """
    wishes = [((k + 0.5) / many, kind) for kind, many in enumerate(numbers) for k in range(many)]
    return [kind for _, kind in sorted(wishes)]


def mixture_of(owners: Sequence[OwnerProfile]) -> tuple[MixturePart, ...]:
    """The strategies that owners have, and how many have each."""
    words = [strategy_word(owner.strategy) for owner in owners]
    return tuple(MixturePart(words.count(word), word) for word in dict.fromkeys(words))


def _mixed(
    owners: Sequence[OwnerProfile], source: RunChoice, mixture: Sequence[MixturePart]
) -> tuple[OwnerProfile, ...]:
    if not mixture:
        return tuple(owners)
    kinds = [source.strategy(part.strategy, owners) for part in mixture]
    chosen = spread(counts([part.share for part in mixture], len(owners)))
    return tuple(replace(owner, strategy=kinds[kind]) for owner, kind in zip(owners, chosen, strict=True))


def _costing(owners: tuple[OwnerProfile, ...], setup: Setup) -> tuple[OwnerProfile, ...]:
    if setup.low is not None and setup.high is not None:
        rates = np.linspace(setup.low, setup.high, len(owners)).tolist()
        owners = tuple(replace(owner, cost=Linear(rate)) for owner, rate in zip(owners, rates, strict=True))
    return tuple(replace(owner, cost=owner.cost.scaled(setup.cost)) for owner in owners)


def _read(table: Mapping[str, Any], usual: Setup, what: str) -> Setup:
    known = {one.name: getattr(usual, one.name) for one in fields(usual)}
    return Reader().make(Setup, {**{name: one for name, one in known.items() if one is not None}, **table}, what)


def _part(text: str) -> dict[str, Any]:
    share, _, strategy = text.strip().partition(" ")
    return {"share": _number("a share of the mixture", share), "strategy": strategy.strip()}


def _number(what: str, text: str) -> int | float:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        raise InputError(f"{what} must be a number, got {text!r}; correct the link") from None
