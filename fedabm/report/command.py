"""`fedabm report DIR [--html FILE]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command `report`."""
    parser = commands.add_parser("report", help="one HTML page of a run or sweep, to read and to pass on")
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `fedabm run` or `fedabm sweep` has written")
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to write (default: DIR/report.html)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Write the page and say where it is."""
    from fedabm.report.page import write_report  # slow to import: figures

    print(f"Report: {write_report(options.folder, options.html)}")
