"""`fedabm report DIR [--html FILE]`."""

from __future__ import annotations

import argparse

from fedabm.report.page import write_report

__all__ = ["report"]


def report(options: argparse.Namespace) -> None:
    """Write the page and say where it is."""
    print(f"Report: {write_report(options.folder, options.html)}")
