"""`fedabm live SCENARIO|STUDY.toml`."""

from __future__ import annotations

import argparse

from fedabm.common.device import check_written, on_device

__all__ = ["show"]


def show(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from fedabm.live import live  # needs the extra

    with on_device(check_written(options.device)):
        live(
            options.what,
            options.mechanism,
            settings=options.set,
            seed=options.seed,
            host=options.host,
            port=options.port,
            out=options.out,
            browser=not options.no_browser,
        )
