"""`fedabm sensitivity STUDY.toml|SCENARIO --of welfare,gap --over "rate=0.001:0.1:log, mechanism=a|b"`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

import pandas as pd
from rich.text import Text

from fedabm.cli.solve import as_table
from fedabm.common.console import wide_console
from fedabm.common.texts import visible
from fedabm.factors.indices import SensitivityIndices
from fedabm.factors.sensitivity import sensitivity
from fedabm.report.tables import text

__all__ = ["run"]

#: as many pairs are printed; all are in indices.csv
_PAIRS = 5


def run(options: argparse.Namespace) -> None:
    """Run what is not done yet, print the indices, and write tables and figures beside the runs."""

    found = sensitivity(
        options.target,
        options.over,
        options.of,
        method=options.method,
        n=options.n,
        runs=options.runs,
        seed=options.seed,
        one_seed=options.one_seed,
        pairs=not options.no_pairs,
        by=options.by,
        when=options.when,
        fixed=options.set,
        steps=options.steps,
        out=options.out,
        executor=options.executor,
        workers=options.workers,
        address=options.address,
        quiet=options.quiet,
        repeat=shlex.join(["fedabm", *sys.argv[1:]]),
    )
    files = found.save()
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
    elif not options.quiet:
        _show(found, files)


def _show(found: SensitivityIndices, files: list[Path]) -> None:
    console = wide_console(140)
    for outcome in found.outcomes:
        console.print(Text(visible(f"\n{outcome}"), style="bold"))
        console.print(as_table(_cells(found.table(outcome).drop(columns="outcome").dropna(axis=1, how="all"))))
    pairs = found.pairs()
    if len(pairs):
        console.print(Text("\nWhat two inputs explain only together, the largest", style="bold"))
        console.print(as_table(_cells(pairs.head(_PAIRS))))
    for note in found.notes:
        console.print(Text(visible(note)), soft_wrap=True)
    names = ", ".join(path.name for path in files)
    console.print(Text(visible(f"{found.runs:,} runs, tables and figures in {found.folder}: {names}")), soft_wrap=True)


def _cells(table: pd.DataFrame) -> list[dict[str, str]]:
    return [{name: text(value) for name, value in row.items()} for row in table.to_dict("records")]
