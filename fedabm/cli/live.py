"""`fedabm live SCENARIO|STUDY.toml`."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from fedabm.common.device import check_written, on_device
from fedabm.common.texts import visible

if TYPE_CHECKING:
    from fedabm.live.server import Served

__all__ = ["show"]

#: seconds that the page may take to say goodbye
_PATIENCE = 5.0


def show(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C, which ends it at once.

    Threads may be training: to wait for them takes long, and to take the interpreter from them aborts.
    """
    pages: list[Served] = []
    try:
        _serve(options, pages)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing more to interrupt
        print(f"fedabm: the page has ended; what was saved is in {visible(str(options.out))}", file=sys.stderr)
        for page in pages:
            page.stop(_PATIENCE)
        gc.collect()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


def _serve(options: argparse.Namespace, pages: list[Served]) -> None:
    """Until it ends; the page is put into the list."""
    from fedabm.live import live  # needs the extra

    with on_device(check_written(options.device)):
        served = live(
            options.what,
            options.mechanism,
            settings=options.set,
            seed=options.seed,
            host=options.host,
            port=options.port,
            out=options.out,
            browser=not options.no_browser,
            block=False,
        )
        pages.append(served)
        served.wait()
