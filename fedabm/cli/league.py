"""`fedabm league [--quick]`: all mechanisms against all deviations."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from fedabm.audit.league import BEST, League, league
from fedabm.audit.pictures import league_picture
from fedabm.common.cores import cores
from fedabm.common.errors import check_whole

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Play the league, print its tables, and write them if a folder is given."""
    seeds = (3 if options.quick else 10) if options.seeds is None else options.seeds
    owners = (4 if options.quick else 6) if options.owners is None else options.owners
    workers = cores() if options.workers is None else options.workers
    for name, number, least in (("seeds", seeds, 1), ("owners", owners, 2), ("workers", workers, 1)):
        check_whole(name, number, least)
    names = options.rules.split(",") if options.rules else None
    found = league(seeds, owners, names, questions=40 if options.quick else 200, workers=workers)
    console = _console(quiet=options.json)
    console.print(f"{owners} owners, {seeds} populations; in units of what an owner has", highlight=False)
    _show(console, found.table("gain"), "What the deviator gains")
    _show(console, found.table("loss").drop(columns="best lie", errors="ignore"), "What the others lose")
    _show_paired(console, found.paired())
    leagues = {"league": found}
    if not options.closed:
        from fedabm.audit.trained import trained_league  # PyTorch is slow to import, so only when it is wanted

        leagues["trained"] = trained_league(seeds, max(owners, 3), names, workers)
        _show(console, leagues["trained"].table("gain"), "Trained models: what the deviator gains")
        _show(console, leagues["trained"].table("loss"), "Trained models: what each of the others loses")
    if options.json:
        print(json.dumps({name: _rows(one) for name, one in leagues.items()}, indent=1))
    if options.out is not None:
        for name, one in leagues.items():
            for path in _write(one, options.out, name):
                console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


def _console(*, quiet: bool) -> Console:
    terminal = Console(quiet=quiet)
    return terminal if terminal.is_terminal else Console(width=180, quiet=quiet)


def _show(console: Console, table: pd.DataFrame, title: str) -> None:
    shown = Table("mechanism", *table.columns, title=f"\n{title}", title_justify="left")
    for name, row in table.iterrows():
        shown.add_row(str(name), *(_number(value) for value in row))
    console.print(shown, highlight=False)


def _show_paired(console: Console, table: pd.DataFrame) -> None:
    title = "\nThe best lie: mean gain, and what it gains more than without payments on the same populations (95%)"
    shown = Table("mechanism", "gain", "difference", "from", "to", title=title, title_justify="left")
    for row in table.itertuples(index=False):
        shown.add_row(row.rule, *(_number(value) for value in (row.gain, row.difference, row.low, row.high)))
    console.print(shown, highlight=False)


def _number(value: float) -> str:
    return "·" if value != value else "0" if abs(value) < 5e-4 else f"{value:.3g}"


def _rows(found: League) -> list[dict[str, Any]]:
    """All rows as plain data."""
    return json.loads(found.rows.to_json(orient="records"))


def _write(found: League, folder: Path, name: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.csv", folder / f"{name}.json"]
    found.rows.to_csv(paths[0], index=False)
    paths[1].write_text(json.dumps(_rows(found), indent=1), encoding="utf-8")
    if BEST in found.table():
        paths.append(folder / "paired.csv")
        found.paired().to_csv(paths[-1], index=False)
    for kind in ("png", "pdf"):
        paths.append(folder / f"{name}.{kind}")
        league_picture(found).savefig(paths[-1], dpi=150, facecolor="white")
    return paths
