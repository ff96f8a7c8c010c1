"""`fedabm completion bash|zsh|tcsh`: what a shell needs to complete our words, names of scenarios and files.

    eval "$(fedabm completion bash)"        # in ~/.bashrc

The script is static, so that completing starts no Python; make it anew after an update.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shtab

from fedabm.cli.list import KINDS
from fedabm.cli.parsers import command_line
from fedabm.study.library import names

__all__ = ["complete"]

#: functions of the shells that offer names, and files of studies beside them
_PREAMBLE = {
    "bash": """
_fedabm_scenarios() {
  compgen -W "NAMES" -- "$1"
  compgen -f -X '!*.py' -- "$1"
  compgen -f -X '!*.toml' -- "$1"
  compgen -d -- "$1"
}
""",
    "zsh": """
_fedabm_scenarios() {
  compadd -- NAMES
  _files -g '*.(py|toml)'
}
""",
    "tcsh": "",
}


def complete(options: argparse.Namespace) -> None:
    """Print the script."""
    parser = command_line()
    for action in _actions(parser):
        _offer(action)
    words = " ".join([*names(), *KINDS, "attacks", "datasets"])
    preamble = _PREAMBLE[options.shell].replace("NAMES", words)
    print(shtab.complete(parser, shell=options.shell, preamble=preamble))


def _actions(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """All arguments of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


def _offer(action: Any) -> None:
    """Say what can stand in the place of an argument."""
    if action.metavar == "DIR":
        action.complete = shtab.DIRECTORY
    elif action.type is Path or ".toml" in str(action.metavar):
        action.complete = shtab.FILE
    elif action.dest == "name" and not action.choices:
        action.complete = {"bash": "_fedabm_scenarios", "zsh": "_fedabm_scenarios", "tcsh": "f"}
