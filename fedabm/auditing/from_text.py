"""What to audit, from words: a game or a study in a TOML file, or the first run of a scenario script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedabm.auditing.ranges import UncertainOwners
from fedabm.common.errors import InputError
from fedabm.common.log import LOG
from fedabm.common.random import generator
from fedabm.comparison.written import Written, drawn_curves, read_study, rules_of
from fedabm.games.costs import Cost, Linear, stack
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.solving.ranges import CostRanges
from fedabm.specs.adopted import rule_written
from fedabm.specs.games import is_study, read_game
from fedabm.specs.toml import read_toml
from fedabm.specs.uncertain import Uncertain, is_uncertain
from fedabm.specs.values import Reader
from fedabm.specs.words import value_of
from fedabm.study.dry_run import planned_runs
from fedabm.study.library import find

__all__ = ["read_audit", "read_unknown"]


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


def read_unknown(source: str, rule: Mechanism, seed: int = 0) -> UncertainOwners | None:
    """What a study does not know of its owners; None where everything is known, and for games and scenarios.

    Parameters
    ----------
    source : str
        What is audited, as for `read_audit`.
    rule : Mechanism
        The rule that is audited.
    seed : int, optional
        The seed of draws.

    Returns
    -------
    UncertainOwners or None
        Ranges of costs, or why there are none, and draws.
    """
    if not (source.endswith(".toml") and is_study(read_toml(source))):
        return None
    study = read_study(source)
    if not study.unknown:
        return None
    try:
        ranges, reason = _cost_ranges(study), ""
    except InputError as error:
        ranges, reason = None, str(error)

    def draw(number: int) -> Scenario:
        people = study.people(generator(seed + 1 + number, "population"))
        return Scenario(tuple(people), study.world(generator(seed + 1 + number, "population", 1)), rule)

    return UncertainOwners(", ".join(study.unknown), draw, ranges, reason)


def _cost_ranges(study: Written) -> CostRanges:
    """Between which ends the costs lie; refused where they have none, or more than costs is not known."""
    if drawn_curves(study.accuracy) is not None:
        raise InputError("the curve of accuracy is not known")
    low: list[Any] = []
    high: list[Any] = []
    everybody: list[tuple[Any, int]] = [(one, 1) for one in study.owners]
    everybody += [(one, one.count) for one in study.groups]
    for one, count in everybody:
        for name in ("data", "value"):
            if is_uncertain(getattr(one, name)):
                raise InputError(f"{name} of {one.name} is not known")
        if isinstance(one.cost, Uncertain) and one.cost.mean is not None:
            raise InputError(f"the normal distribution of the cost of {one.name} has no ends")
        ends = [float(one.cost.at(part)) for part in (0.0, 1.0)] if isinstance(one.cost, Uncertain) else [one.cost] * 2
        low += [ends[0]] * count
        high += [ends[1]] * count
    return CostRanges(*(stack([one if isinstance(one, Cost) else Linear(one) for one in part]) for part in (low, high)))


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
