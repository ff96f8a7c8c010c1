"""What `fedabm calibrate` does: a pilot becomes an accuracy with draws, invoices become costs with intervals."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.text import Text

from fedabm.calibration.calibration import Calibration, calibrate
from fedabm.calibration.costs import MeasuredCost, calibrate_costs
from fedabm.cli.tables import as_table, rounded
from fedabm.common.console import wide_console
from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.common.sheet import read_sheet
from fedabm.common.texts import readable, visible

__all__ = ["calibrate_file"]


def calibrate_file(options: argparse.Namespace) -> None:
    """`fedabm calibrate FILE.csv`: by its columns a pilot (accuracy) or invoices (cost)."""
    columns = read_sheet(options.file).columns
    if {"accuracy", "cost"} <= set(columns):
        raise InputError(f"{options.file} has both accuracy and cost; give a file for each")
    if "cost" in columns:
        _costs(options)
    else:
        _accuracy(options)


def _accuracy(options: argparse.Namespace) -> None:
    found = calibrate(options.file, owner=options.owner, split=options.split, draws=options.draws, seed=options.seed)
    place = options.out or Path(options.file.stem)
    files = found.save(place)
    if options.json:
        print(json.dumps(_as_dict(found, files), indent=2))
        return
    console = wide_console()
    pilot = found.pilot
    sizes = f"{readable(pilot.sizes.min())} to {readable(pilot.largest)} samples"
    points = f"{len(pilot.sizes)} points, {sizes}; accuracy is {pilot.unit}"
    console.print(Text(visible(f"Pilot {pilot.source}: {points}"), style="bold"))
    console.print(as_table(rounded(found.table())))
    console.print(as_table(rounded(found.parameters())))
    console.print(as_table(rounded(found.outlook())))
    console.print(
        f"trusted up to {readable(found.trusted)} samples, {found.trusted / pilot.largest:.3g} times the largest"
    )
    for line in found.doubts:
        console.print(Text(visible(f"doubtful: {line}")))
    console.print(Text(f"Written: {', '.join(map(str, files))}"), soft_wrap=True)


def _as_dict(found: Calibration, files: list[Path]) -> dict:
    return {
        "families": found.table(),
        "parameters": found.parameters(),
        "outlook": found.outlook(),
        "trusted": found.trusted,
        "doubts": list(found.doubts),
        "files": [str(one) for one in files],
    }


def _costs(options: argparse.Namespace) -> None:
    if options.split is not None:
        raise InputError(f"invoices have no split, got {options.split!r}; leave --split out")
    found = calibrate_costs(options.file, owner=options.owner)
    place = options.out or Path(options.file.stem)
    file = write(
        place.with_name(f"{place.name}.costs.toml"), "".join(f"# {one.owner}\n{one.toml()}\n" for one in found)
    )
    if options.json:
        print(json.dumps({"costs": [_row(one) for one in found], "files": [str(file)]}, indent=2))
        return
    console = wide_console()
    console.print(as_table(rounded(_row(one) for one in found)))
    for line in (line for one in found for line in one.doubts):
        console.print(Text(visible(f"doubtful: {line}")))
    console.print(Text(f"Written: {file}"), soft_wrap=True)


def _row(one: MeasuredCost) -> dict:
    return {"owner": one.owner, "cost": one.rate, "low": one.low, "high": one.high, "invoices": float(one.invoices)}
