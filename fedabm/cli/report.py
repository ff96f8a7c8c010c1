"""`fedabm report DIR [--html FILE]`."""

from __future__ import annotations

import argparse
import os

from fedabm.report.gathered import gathered, has_tables_only
from fedabm.report.page import put_report, write_report

__all__ = ["report"]


def report(options: argparse.Namespace) -> None:
    """Write the page and say where it is; recommendations and audits have theirs already.

    Of a folder without a run all tables and pictures are put together.
    """
    for name in ("board.html", "card.html"):
        page = options.folder / name
        if options.html is None and os.path.isfile(page) and not os.path.exists(options.folder / "manifest.json"):
            print(f"Report: {page}")
            return
    if has_tables_only(options.folder):
        made = put_report(lambda _: gathered(options.folder), options.folder, options.html)
        print(f"Report: {made}")
        return
    print(f"Report: {write_report(options.folder, options.html)}")
