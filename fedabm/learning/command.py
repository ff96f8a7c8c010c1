"""What `fedabm data list` and `fedabm data get NAME` do."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from fedabm.learning.datasets import Row, download, status

__all__ = ["get", "list_rows"]


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
