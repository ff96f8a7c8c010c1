"""`fedabm boxes SWEEP --where CONDITION [--seed N] [--out DIR]`."""

from __future__ import annotations

import argparse
import contextlib
import json

from rich.console import Console
from rich.text import Text

from fedabm.common.files import new_folder, write
from fedabm.common.texts import visible
from fedabm.results.store import load
from fedabm.sweep.breaking.found import Breaks, where_it_breaks

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Find the boxes, print them and the tree, and write both with a figure if a folder is given."""
    with contextlib.ExitStack() as how:
        if options.out is not None:  # before any work is done
            how.enter_context(new_folder(options.out, "give another --out DIR"))
        found = where_it_breaks(load(options.folder), options.where, options.seed)
        if options.json:
            print(json.dumps(_plain(found), indent=2))
        else:
            _show(found)
        if options.out is not None:
            _write(found, options)


def _plain(found: Breaks) -> dict[str, object]:
    table = json.loads(found.table.to_json(orient="records", double_precision=15))
    return {"condition": found.condition, "boxes": table, "tree": found.tree, "notes": list(found.notes)}


def _show(found: Breaks) -> None:
    from fedabm.study.tables import shown_table  # imports Rich tables

    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=160)
    share = f"{found.runs['breaks'].mean():.1%} of {len(found.runs):,} runs meet {found.condition!r}"
    console.print(Text(visible(f"{share}; judged on {int(found.runs['held_out'].sum()):,} that were held out")))
    for note in found.notes:
        console.print(Text(visible(note)))
    console.print(shown_table(found.table, "Boxes and tree, on runs that were held out"))
    if not found.boxes:
        console.print("No box is better than all runs together.")
    console.print(Text(visible(f"\nThe tree (breaks: the condition is met)\n{found.tree}")))


def _write(found: Breaks, options: argparse.Namespace) -> None:
    from fedabm.analysis.breaking import breaking_box  # imports Matplotlib
    from fedabm.results.tables import write_table

    write_table(found.table, options.out / "boxes.csv")
    write(options.out / "tree.txt", found.tree + "\n")
    figure = breaking_box(found).figure
    figure.savefig(options.out / "boxes.png", dpi=150, bbox_inches="tight")
    print(f"Written to {visible(str(options.out))}: boxes.csv, tree.txt, boxes.png")
