"""`fedabm init` and `fedabm compare`."""

from __future__ import annotations

import argparse

from fedabm.cli.run import USUAL, run_scenario
from fedabm.common.errors import InputError
from fedabm.common.until import Until
from fedabm.comparison.example import GAME, write_example
from fedabm.study.command import command_word

__all__ = ["begin", "compare"]


def begin(options: argparse.Namespace) -> None:
    """Write the commented example, and say what to do with it."""
    if options.game:
        path, verb = write_example(options.file or "game.toml", GAME), "solve"
    else:
        path, verb = write_example(options.file or "study.toml"), "run"
    print(f"Written: {path}\n{verb.capitalize()} it:  {command_word()} {verb} {path}")


def compare(options: argparse.Namespace) -> None:
    """A study's owners under its own mechanisms or others, with more seeds and pictures to publish."""
    if not options.name.endswith(".toml"):
        raise InputError(f"compare takes a study in TOML, got {options.name!r}; write one with fedabm init study.toml")
    words = [text if text.lstrip().startswith("{") else f'"{text}"' for text in options.mechanisms]
    settings = [f"mechanisms=[{', '.join(words)}]"] if words else []
    seeds = options.seeds if options.seeds.isdigit() else f'"{Until.read(options.seeds)}"'
    settings += [f"noise={options.noise}"] if options.noise else []
    how = {"set": [f"seeds={seeds}", *settings], "format": ["pdf", "svg"]}
    run_scenario(argparse.Namespace(**USUAL | vars(options) | how))
