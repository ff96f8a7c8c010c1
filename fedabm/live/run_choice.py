"""What is watched: a scenario script, a study or game in TOML, or a `Scenario` made in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, check_kind
from fedabm.common.random import generator
from fedabm.comparison.comparison import labelled, short_label
from fedabm.comparison.written import Written, read_study
from fedabm.games.accuracy import Oracle
from fedabm.games.costs import single
from fedabm.mechanisms import Mechanism
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.solving.game import Game
from fedabm.specs.games import read_game
from fedabm.specs.hints import parameters_of
from fedabm.specs.kinds import EntryPointKind, choices
from fedabm.specs.toml import read_toml
from fedabm.specs.values import Reader
from fedabm.specs.words import text_of, value_of
from fedabm.strategies import Strategy
from fedabm.study.dry_run import PlannedRuns, planned_runs
from fedabm.study.library import Script, find

__all__ = ["RunChoice", "accuracy_words", "source_of", "strategy_word", "strategy_words"]

#: this many runs of a script are listened to, to learn which mechanisms it compares
_MOST_RUNS = 12


@dataclass(frozen=True, eq=False)
class RunChoice:
    """What can be run and chosen.

    where       what finds it again on the command line; empty for a scenario made in Python
    settings    parameters of a script that were set, as key=value
    make        the scenario for a seed, under the first of its mechanisms
    mechanisms  its own ones, by what it calls them
    """

    name: str
    question: str
    where: str
    settings: tuple[str, ...]
    make: Callable[[int], Scenario]
    mechanisms: dict[str, Mechanism]
    reader: Reader = field(default_factory=Reader)

    def mechanism(self, text: str) -> tuple[str, Mechanism]:
        """The mechanism that a text names, one of its own or any of the library, and what to call it."""
        if text in self.mechanisms:
            return text, self.mechanisms[text]
        made = self.read("mechanism", text, Mechanism)
        return short_label(made), made

    def strategy(self, text: str, owners: Iterable[OwnerProfile]) -> Strategy:
        """The strategy that a text names: one that an owner has, or any of the library."""
        for owner in owners:
            if strategy_word(owner.strategy) == text:
                return owner.strategy
        return self.read("strategy", text, Strategy)

    def read(self, what: str, text: str, kind: type) -> Any:
        """What a text says, of the library only: whoever can open a link must not name files to be run."""
        value = value_of(what, text.strip(), kind)
        if any(":" in part for part in _texts(value)):
            raise InputError(f"{what} {text!r} names a file or module; the page takes names, give it to fedabm live")
        return self.reader.read(what, value, kind)

    def rules(self) -> list[str]:
        """Names of mechanisms to choose from: its own, then those of the library that fit the kind of models it has."""
        apart = any(isinstance(one, Personalised) for one in self.mechanisms.values())
        known = choices(Mechanism).items()
        fitting = [name for name, made in known if _is_personalised(made) == apart and name != "payment_rule"]
        return [*self.mechanisms, *sorted(fitting)]


def source_of(given: str | Path | Scenario, settings: Sequence[str] = (), more: Sequence[str] = ()) -> RunChoice:
    """What a name, a file or a scenario stands for; `more` are mechanisms to choose from beside its own."""
    if isinstance(given, Scenario):
        return _made(given)
    text = str(given)
    source = _from_toml(text, settings) if text.endswith(".toml") else _from_script(find(text), tuple(settings))
    read = [
        source.reader.read("--mechanism", value_of("--mechanism", one, Mechanism), Mechanism)
        for one in more
        if one not in source.mechanisms
    ]
    source.mechanisms.update({short_label(one): one for one in read})
    return source


def strategy_word(strategy: Strategy) -> str:
    """How a strategy is written."""
    return text_of(strategy)


def strategy_words(owners: Iterable[OwnerProfile]) -> list[str]:
    """Strategies to choose from: those that owners have, then those of the library that need no parameters."""
    own = [strategy_word(owner.strategy) for owner in owners]
    usual = [name for name, made in choices(Strategy).items() if _needs_nothing(made)]
    return list(dict.fromkeys([*own, *sorted(usual)]))


def accuracy_words() -> list[str]:
    """Closed forms to choose from: those of the library that need no parameters."""
    return sorted(name for name, made in choices(Oracle).items() if _needs_nothing(made))


def _made(scenario: Scenario) -> RunChoice:
    check_kind("what is to be watched", scenario, Scenario)
    own = {short_label(scenario.mechanism): scenario.mechanism}
    return RunChoice(scenario.name, "What do these owners make of it?", "", (), lambda seed: scenario, own)


def _from_toml(path: str, settings: Sequence[str]) -> RunChoice:
    """A study, or a game whose owners then best-respond."""
    if settings:
        raise InputError(f"{path} has no parameters to set, got {settings[0]!r}; change the file")
    where = str(Path(path).resolve())
    if isinstance(read_toml(path).get("owners"), dict):
        game = read_game(path)
        scenario = _played(game)
        own = {short_label(game.mechanism): game.mechanism}
        return RunChoice(
            Path(path).stem, "What do best responders make of this game?", where, (), lambda _: scenario, own
        )
    written = read_study(path)
    own = written.mechanisms if isinstance(written.mechanisms, dict) else labelled(written.mechanisms)
    reader = Reader((Path(path).resolve().parent,))
    return RunChoice(Path(path).stem, written.question, where, (), _writing(written), dict(own), reader)


def _writing(written: Written) -> Callable[[int], Scenario]:
    own = written.mechanisms
    first = next(iter(own.values())) if isinstance(own, dict) else own[0]

    def make(seed: int) -> Scenario:
        people = written.people(generator(seed, "population"))
        return Scenario(tuple(people), written.accuracy, first, written.activation, written.steps)

    return make


def _from_script(script: Script, settings: tuple[str, ...]) -> RunChoice:
    """The first run of a script, with the mechanisms of all that it would run on the same owners."""
    parameters = script.parameters(settings)

    @lru_cache(maxsize=4)
    def heard(seed: int) -> list[PlannedRuns]:
        return planned_runs(script.name, script.run, parameters, seed, _MOST_RUNS)

    def make(seed: int) -> Scenario:
        return _as_scenario(heard(seed)[0].what)

    first = make(0)
    runs = [one for one in heard(0) if isinstance(one.what, Game) or one.what.owners == first.owners]
    own: dict[str, Mechanism] = {}
    for run in runs:
        if run.what.mechanism not in own.values():
            own[run.label or short_label(run.what.mechanism)] = run.what.mechanism
    reader = Reader((Path.cwd(),), (script.module,))
    return RunChoice(script.name, script.question, script.where, settings, make, own, reader)


def _as_scenario(what: Scenario | Game) -> Scenario:
    return what if isinstance(what, Scenario) else _played(what)


def _played(game: Game) -> Scenario:
    """A game played by best responders."""
    sizes = [float(one) for one in game.capacities]
    people = tuple(OwnerProfile(single(game.costs, row), size) for row, size in enumerate(sizes))
    return Scenario(people, game.accuracy, game.mechanism)


def _needs_nothing(made: Any) -> bool:
    return not isinstance(made, EntryPointKind) and all(
        one.default is not one.empty for one in parameters_of(made).values()
    )


def _is_personalised(made: Any) -> bool:
    return isinstance(made, type) and issubclass(made, Personalised)


def _texts(value: Any) -> list[str]:
    """All texts inside a TOML value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in _texts(one)]
