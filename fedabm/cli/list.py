"""`fedabm list [NAME]`."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from fedabm.study.library import find, names, question

__all__ = ["show"]


def show(options: argparse.Namespace) -> None:
    """Print the scenarios and their questions, or the parameters of one."""
    console = Console()
    if options.name:
        script = find(options.name)
        console.print(f"{script.name}: {script.question}", highlight=False)
        for key, value in script.defaults.items():
            console.print(f"  --set {key}={_plain(value)}", highlight=False)
        return
    table = Table("scenario", "question", box=None)
    for name in names():
        table.add_row(name, question(name))
    console.print(table)


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
