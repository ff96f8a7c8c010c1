"""`fedabm list [NAME | path/to/my_study.py | FAMILY]`: scenarios, families of classes, or one of either by its name."""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import pkgutil
import shlex
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedabm.cli.members import LIGHT, UNNAMED, grouped, members_called, members_of
from fedabm.common.errors import FedabmError, InputError
from fedabm.specs.families import FAMILIES
from fedabm.specs.hints import hints_of, parameters_of
from fedabm.specs.kinds import EntryPointKind, choices
from fedabm.specs.words import text_of
from fedabm.study.library import Script, find, names, question
from fedabm.study.parameters import choices_of, duration_of, meanings_of

__all__ = ["KINDS", "show"]

#: families of classes that go by name in TOML and on the command line, and where their base is
KINDS = {**FAMILIES, "oracles": FAMILIES["accuracies"]}  # closed forms and training alike
#: other families
OTHERS = ("scenarios", "datasets", *UNNAMED)
#: more choices of a family than these are not shown here
_SHOWN = 8
#: spaces before a meaning
_INDENT = 6


def show(options: argparse.Namespace) -> None:
    """Print the scenarios and their questions, the parameters of one, or the names of one family of classes."""
    name = options.name or "scenarios"
    if name in KINDS or name in OTHERS:
        first, rows = _rows(name)
        if options.json:
            print(json.dumps([dict(zip(("name", first), row, strict=True)) for row in rows], indent=2))
        else:
            _print(grouped(name, rows))
        return
    is_script = name in names() or name.endswith((".py", ".toml"))
    members = members_called(name, quick=is_script)
    script = _script(name) if is_script or not members else None
    if options.json:
        scenario = [] if script is None else [_as_dict(script)]
        print(json.dumps((scenario + [one.as_dict() for one in members])[0], indent=2))
        return
    if script is not None:
        _explain(script)
    for one in members:
        print(one.text())


def _script(name: str) -> Script:
    if not name.endswith(".toml"):
        families = [*KINDS, *OTHERS]
        meant = difflib.get_close_matches(name, families, 1, 0.7)
        if meant and name not in names():
            raise InputError(f"no scenario and no family of classes is called {name!r}; did you mean {meant[0]!r}?")
        return find(name)
    from fedabm.comparison.written import script_of  # imports Matplotlib

    return script_of(name)


def _as_dict(script: Script) -> dict[str, Any]:
    """What there is to know of a script."""
    meanings = meanings_of(script.run)
    parameters = {
        key: {
            "usual": _usual(value, script.module),
            "meaning": meanings.get(key, ""),
            "choices": choices_of(script.run, key),
        }
        for key, value in script.defaults.items()
    }
    facts = {"name": script.name, "question": script.question, "takes": duration_of(script.run)}
    return {**facts, "parameters": parameters}


def _explain(script: Script) -> None:
    """Question and duration, then each parameter with its usual value, and below it what it means."""
    console = Console()
    known = _as_dict(script)
    console.print(f"{script.name}: {script.question}", highlight=False, markup=False)
    if known["takes"]:
        console.print(f"Takes {known['takes']}.", highlight=False, markup=False)
    for key, one in known["parameters"].items():
        setting = f"{key}={'...' if one['usual'] is None else one['usual']}"
        console.print(f"  --set {shlex.quote(setting)}", highlight=False, markup=False, soft_wrap=True)
        words = "; ".join(filter(None, [one["meaning"], _choices(one["choices"])]))
        for line in textwrap.wrap(words, max(console.width - _INDENT, 20)):
            console.print(" " * _INDENT + line, style="dim", highlight=False, markup=False, soft_wrap=True)


def _choices(words: list[str]) -> str:
    """What can be chosen; where that is much, who tells it."""
    if len(words) <= _SHOWN:
        return f"choices: {', '.join(words)}" if words else ""
    family = next((name for name in LIGHT if sorted(choices(pkgutil.resolve_name(KINDS[name]))) == words), None)
    return f"see fedabm list {family}" if family else f"choices: {', '.join(words)}"


def _rows(family: str) -> tuple[str, list[tuple[str, str]]]:
    """What the second column is, and the rows."""
    if family == "scenarios":
        return "question", [(name, question(name)) for name in names()]
    if family == "datasets":
        from fedabm.data.datasets import status  # imports pandas

        return "what", [(row.name, f"{row.state}: {row.detail}") for row in status()]
    if family in UNNAMED:
        return "what", [(one.name, one.first) for one in members_of(family)]
    found = choices(pkgutil.resolve_name(KINDS[family]))
    made = {hints_of(one).get("return") for one in found.values() if inspect.isfunction(one)}
    found = {name: one for name, one in found.items() if one not in made}  # whose makers are named instead
    return "what", [(name, _what(name, found[name])) for name in sorted(found)]


def _what(name: str, made: Callable[..., Any] | EntryPointKind) -> str:
    """The first line of a class's docstring, and its parameters."""
    if isinstance(made, EntryPointKind):
        return _offered(made)
    words = (inspect.getdoc(made) or "").strip().partition("\n")[0]
    given = ", ".join(parameters_of(made))
    return f"{words} [{given}]" if given else words


def _offered(made: EntryPointKind) -> str:
    """What another package says of a class of its own, or why it cannot be had."""
    try:
        words = _what(made.name, made.load())
    except FedabmError as error:
        words = str(error)
    return f"{words} (from {made.package}, {made.value})"


def _usual(value: Any, module: Any) -> str | None:
    """The word for a default; None where there is none."""
    return None if value is inspect.Parameter.empty else text_of(value, module)


def _print(groups: Mapping[str, list[tuple[str, str]]]) -> None:
    """Names and what they are, below the topic where there are several."""
    console = Console()
    width = max((len(name) for rows in groups.values() for name, _ in rows), default=0)
    for topic, rows in groups.items():
        if len(groups) > 1:
            console.print(Text(f"\n{topic}", style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(min_width=width)
        for name, words in rows:
            table.add_row(Text(name), Text(words))
        console.print(table)
