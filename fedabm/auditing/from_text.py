"""What to audit, from words: a game or a study in a TOML file, or the first run of a scenario script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.comparison.comparison import labelled
from fedabm.comparison.written import read_study
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.specs.games import is_study, read_game
from fedabm.specs.toml import read_toml
from fedabm.specs.values import Reader
from fedabm.specs.words import value_of
from fedabm.study.dry_run import planned_runs
from fedabm.study.library import find

__all__ = ["read_audit"]


def read_audit(
    source: str, mechanism: str | None, settings: Sequence[str] = (), seed: int = 0
) -> tuple[Scenario | Game, Mechanism]:
    """The game of a TOML file, the owners of a study, or the first run of a scenario, and the rule to audit on it."""
    if source.endswith(".toml"):
        if settings:
            raise InputError(f"{source} is a game and has no parameters to set; change the file or use --mechanism")
        if is_study(read_toml(source)):
            return _of_study(source, mechanism, seed)
        game = read_game(source, mechanism)
        return game, game.mechanism
    script = find(source)
    heard = planned_runs(script.name, script.run, script.parameters(settings), seed)[0].what
    if mechanism is None:
        return heard, heard.mechanism
    reader = Reader((Path.cwd(),), (script.module,))
    return heard, reader.read("--mechanism", value_of("--mechanism", mechanism, Mechanism), Mechanism)


def _of_study(source: str, mechanism: str | None, seed: int) -> tuple[Scenario, Mechanism]:
    """The owners of a study, and one of its rules, by what it is called there, or another one."""
    study = read_study(source)
    given = study.mechanisms
    rules = dict(given) if isinstance(given, Mapping) else labelled(given)
    if mechanism is None and len(rules) > 1:
        names = ", ".join(map(repr, rules))
        raise InputError(f"{source} has {len(rules)} mechanisms; choose one with --mechanism: {names}, or any other")
    if mechanism is None or mechanism in rules:
        rule = rules[mechanism] if mechanism else next(iter(rules.values()))
    else:
        reader = Reader((Path(source).resolve().parent,))
        rule = reader.read("--mechanism", value_of("--mechanism", mechanism, Mechanism), Mechanism)
    people = study.people(generator(seed, "population"))
    return Scenario(tuple(people), study.accuracy, rule), rule
