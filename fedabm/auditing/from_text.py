"""What to audit, from words: a game or a study in a TOML file, or the first run of a scenario script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedabm.common.errors import InputError
from fedabm.common.log import LOG
from fedabm.common.random import generator
from fedabm.comparison.written import read_study, rules_of
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.specs.adopted import rule_written
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
    rules = rules_of(study)
    if mechanism is None and len(rules) != 1:
        names = f"{', '.join(map(repr, rules))}, or any other" if rules else "its kind, or a recommendation.json"
        raise InputError(f"{source} has {len(rules) or 'no'} mechanisms; choose one with --mechanism: {names}")
    if mechanism is None or mechanism in rules:
        rule = rules[mechanism] if mechanism else next(iter(rules.values()))
    else:
        reader = Reader((Path(source).resolve().parent,))
        rule = reader.read("--mechanism", rule_written("--mechanism", mechanism, Path.cwd()), Mechanism)
    people = study.people(generator(seed, "population"))
    if study.unknown:
        LOG.warning(f"not known exactly: {', '.join(study.unknown)}; audited is the draw of seed {seed}")
    return Scenario(tuple(people), study.world(generator(seed, "population", 1)), rule), rule
