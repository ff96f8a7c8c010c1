"""`fedabm report DIR [--html FILE]`."""

from __future__ import annotations

import argparse
import os

from fedabm.report.page import write_report

__all__ = ["report"]


def report(options: argparse.Namespace) -> None:
    """Write the page and say where it is; recommendations and audits have theirs already."""
    for name in ("board.html", "card.html"):
        page = options.folder / name
        if options.html is None and os.path.isfile(page) and not os.path.exists(options.folder / "manifest.json"):
            print(f"Report: {page}")
            return
    print(f"Report: {write_report(options.folder, options.html)}")
