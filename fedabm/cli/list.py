"""`fedabm list [NAME | path/to/my_study.py | mechanisms | strategies | accuracies | costs | datasets]`."""

from __future__ import annotations

import argparse
import inspect
import json
import pkgutil
import shlex
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedabm.specs.hints import parameters_of
from fedabm.specs.kinds import choices
from fedabm.specs.words import text_of
from fedabm.study.library import find, names, question

__all__ = ["KINDS", "show"]

#: families of classes that go by name in TOML and on the command line, and where their base is
KINDS = {
    "mechanisms": "fedabm.mechanisms:Mechanism",
    "strategies": "fedabm.strategies:Strategy",
    "accuracies": "fedabm.games.accuracy:Accuracy",
    "costs": "fedabm.games.costs:Cost",
}


def show(options: argparse.Namespace) -> None:
    """Print the scenarios and their questions, the parameters of one, or the names of one family of classes."""
    name = options.name or "scenarios"
    if name in KINDS or name in ("scenarios", "datasets"):
        first, rows = _rows(name)
        if options.json:
            print(json.dumps([dict(zip(("name", first), row, strict=True)) for row in rows], indent=2))
        else:
            _print(rows)
        return
    script = find(name)
    shown = {key: _word(key, value, script.module) for key, value in script.defaults.items()}
    if options.json:
        said = {"name": script.name, "question": script.question, "parameters": shown}
        print(json.dumps(said, indent=2))
        return
    console = Console()
    console.print(f"{script.name}: {script.question}", highlight=False, markup=False)
    for text in shown.values():
        console.print(f"  --set {shlex.quote(text)}", highlight=False, markup=False, soft_wrap=True)


def _rows(family: str) -> tuple[str, list[tuple[str, str]]]:
    """What the second column is, and the rows."""
    if family == "scenarios":
        return "question", [(name, question(name)) for name in names()]
    if family == "datasets":
        from fedabm.data.datasets import status  # imports pandas

        return "what", [(row.name, f"{row.state}: {row.detail}") for row in status()]
    found = choices(pkgutil.resolve_name(KINDS[family]))
    return "what", [(name, _what(name, found[name])) for name in sorted(found)]


def _what(name: str, made: Callable[..., Any] | EntryPoint) -> str:
    """The first line of a class's docstring, and its parameters."""
    if isinstance(made, EntryPoint):
        return f"from {made.value}"
    words = (inspect.getdoc(made) or "").strip().partition("\n")[0]
    given = ", ".join(parameters_of(made))
    return f"{words} [{given}]" if given else words


def _word(key: str, value: Any, module: Any) -> str:
    return f"{key}=..." if value is inspect.Parameter.empty else f"{key}={text_of(value, module)}"


def _print(rows: list[tuple[str, str]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, words in rows:
        table.add_row(Text(name), Text(words))
    Console().print(table)
