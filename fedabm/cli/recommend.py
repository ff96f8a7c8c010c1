"""`fedabm recommend STUDY.toml`: which rule to adopt, with which parameters, and how sure that is."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from fedabm.advice.board import write_board
from fedabm.advice.cells import candidate_cells, owner_cells
from fedabm.advice.progress import FoundSteps
from fedabm.advice.recommendation import recommend
from fedabm.cli.tables import as_table
from fedabm.common.console import wide_console
from fedabm.common.errors import InputError, Interrupted
from fedabm.common.files import new_folder
from fedabm.common.texts import visible
from fedabm.comparison.written import read_study

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Search, print the answer, and write the board's report."""
    if not options.study.endswith(".toml"):
        raise InputError(
            f"recommend takes a study in TOML, got {options.study!r}; write one with fedabm init study.toml"
        )
    written = read_study(options.study)
    if options.draws is not None:
        written = replace(written, recommend=replace(written.recommend, draws=options.draws))
    folder = options.out or Path("results") / f"{Path(options.study).stem}-recommendation"
    question = hashlib.sha256(f"{written!r} {options.seed} {options.audits}".encode()).hexdigest()
    with new_folder(folder, "give another --out DIR"):
        progress = FoundSteps(folder / "progress.json", question)
        try:
            found = recommend(written, seed=options.seed, audits=options.audits, progress=progress)
        except KeyboardInterrupt:
            print(visible(f"fedabm: interrupted; repeat the command to go on from {folder}"), file=sys.stderr)
            raise Interrupted from None
        files = write_board(found, folder, written.question)
    if options.json:
        print(json.dumps({"answer": found.sentence, "candidates": json.loads(found.table().to_json(orient="records"))}))
        return
    console = wide_console()
    console.print(Text(visible(found.sentence), style="bold"))
    console.print(as_table(candidate_cells(found).drop(columns="broken", errors="ignore").to_dict("records")))
    for line in found.reasons:
        console.print(Text(visible(line)))
    if found.best is not None:
        console.print(as_table(owner_cells(found).to_dict("records")))
    console.print(Text(visible(f"Written: {', '.join(map(str, files))}")), soft_wrap=True)
