"""`fedabm sweep SPEC.toml --out DIR`."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console

from fedabm.errors import InputError

__all__ = ["add_parser"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_parser(commands: Any) -> None:
    """Add the command `sweep`."""
    parser = commands.add_parser("sweep", help="run a design of many runs; going on where it stopped")
    parser.add_argument("spec", type=Path, metavar="SPEC.toml", help="target, design and seeds")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: results/ and the spec's name)"
    )
    parser.add_argument("--executor", choices=("local", "ray", "serial"), default="local", help="where runs are done")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: one on this machine)")
    parser.add_argument("--gpus", type=float, default=0.0, metavar="SHARE", help="of a GPU for each run, with Ray")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds that a run may take")
    parser.add_argument("--memory-limit", metavar="SIZE", help="memory that a run may take, such as 2G")
    parser.add_argument("--checkpoint", type=float, default=60.0, metavar="S", help="save long runs every so often")
    parser.add_argument("--retry-failed", action="store_true", help="do again what failed")
    parser.add_argument("--resume", action="store_true", help="go on where it stopped; this is the default")
    parser.add_argument("--dry-run", action="store_true", help="show the design and an estimate, run nothing else")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(command=sweep)


def sweep(options: argparse.Namespace) -> int:
    """Run the sweep; the exit code says whether runs failed."""
    from fedabm.sweep.preview import preview
    from fedabm.sweep.spec import read_sweep

    plan, folder = read_sweep(options.spec), options.out or Path("results") / options.spec.stem
    if options.dry_run:
        workers = 1 if options.executor == "serial" else options.workers or os.cpu_count() or 1
        preview(plan, folder, workers, options.time_limit)
        return 0
    count = plan.run(
        folder,
        options.executor,
        options.workers,
        time_limit=options.time_limit,
        memory_limit=_bytes(options.memory_limit),
        checkpoint=options.checkpoint,
        retry_failed=options.retry_failed,
        quiet=options.quiet,
        repeat=_command(options, folder),
        address=options.address,
        gpus=options.gpus,
    )
    if not options.quiet:
        Console().print(f"Read it with fedabm.load({str(folder)!r})", highlight=False, soft_wrap=True)
    return 1 if count.failed else 0


def _bytes(text: str | None) -> int | None:
    """2G -> 2147483648."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if not match or not float(match[1]):
        raise InputError(f"--memory-limit must be a size, got {text!r}; write for instance 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _command(options: argparse.Namespace, folder: Path) -> str:
    """The command that goes on with this sweep."""
    words = ["fedabm", "sweep", str(options.spec), "--out", str(folder), "--executor", options.executor]
    usual = {"gpus": 0.0, "checkpoint": 60.0}
    for name in ("workers", "address", "gpus", "time_limit", "memory_limit", "checkpoint"):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value != usual.get(name) else []
    return shlex.join(words)
