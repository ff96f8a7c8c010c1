"""What to audit, from words: a game in a TOML file, or the first run of a scenario script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedabm.common.errors import InputError
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game
from fedabm.specs.games import read_game
from fedabm.specs.values import Reader
from fedabm.specs.words import value_of
from fedabm.study.library import find
from fedabm.study.overheard import overheard

__all__ = ["read_audit"]


def read_audit(
    source: str, mechanism: str | None, settings: Sequence[str] = (), seed: int = 0
) -> tuple[Scenario | Game, Mechanism]:
    """The game of a TOML file or the first run of a scenario, and the rule to audit on it."""
    if source.endswith(".toml"):
        if settings:
            raise InputError(f"{source} is a game and has no parameters to set; change the file or use --mechanism")
        game = read_game(source, mechanism)
        return game, game.mechanism
    script = find(source)
    heard = overheard(script.name, script.run, script.parameters(settings), seed)[0].what
    if mechanism is None:
        return heard, heard.mechanism
    reader = Reader((Path.cwd(),), (script.module,))
    return heard, reader.read("--mechanism", value_of("--mechanism", mechanism, Mechanism), Mechanism)
