"""`fedabm list [NAME | path/to/my_study.py]`."""

from __future__ import annotations

import argparse
import inspect
import shlex

from rich.console import Console
from rich.table import Table

from fedabm.specs.words import text_of
from fedabm.study.library import find, names, question

__all__ = ["show"]


def show(options: argparse.Namespace) -> None:
    """Print the scenarios and their questions, or the parameters of one."""
    console = Console()
    if options.name:
        script = find(options.name)
        console.print(f"{script.name}: {script.question}", highlight=False)
        for key, value in script.defaults.items():
            shown = f"{key}=..." if value is inspect.Parameter.empty else f"{key}={text_of(value, script.module)}"
            console.print(f"  --set {shlex.quote(shown)}", highlight=False, markup=False, soft_wrap=True)
        return
    table = Table("scenario", "question", box=None)
    for name in names():
        table.add_row(name, question(name))
    console.print(table)
