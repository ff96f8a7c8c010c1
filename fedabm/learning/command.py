"""What `fedabm data list` and `fedabm data get NAME` do."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from fedabm.learning.datasets import Row, download, status

__all__ = ["add_parser", "get", "list_rows"]


def add_parser(commands: Any) -> None:
    """Add `data list` and `data get` to the command line."""
    data = commands.add_parser("data", help="real data sets: which are here, and how to get the others")
    actions = data.add_subparsers(required=True, metavar="ACTION")
    shown = actions.add_parser("list", help="every set, whether it is here, and what to put where")
    shown.set_defaults(command=_show)
    wanted = actions.add_parser("get", help="download a set, checked and resumable")
    wanted.add_argument("name", help="which set; see `fedabm data list`")
    wanted.set_defaults(command=lambda options: get(options.name, Console()) and None)


def _show(options: argparse.Namespace) -> None:
    table = Table("set", "state", "detail", box=None)
    for row in list_rows():
        table.add_row(row.name, row.state, row.detail)
    Console().print(table)


def list_rows() -> list[Row]:
    """One row per set: name, embedded / present / missing, and samples or what to put where."""
    return status()


def get(name: str, console: Console) -> Path:
    """Download a set with a progress bar per file; the folder it is in."""
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file)
            bars.update(tasks[file], completed=done, total=total)

        folder = download(name, progress=show)
    console.print(f"{name} is ready" + (f" in {folder}" if tasks else ""), highlight=False)
    return folder
