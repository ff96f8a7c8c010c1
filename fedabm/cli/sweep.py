"""`fedabm sweep SPEC.toml --out DIR`."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from fedabm.common.cores import cores
from fedabm.common.errors import InputError
from fedabm.sweep.preview import preview
from fedabm.sweep.spec import read_sweep

__all__ = ["sweep"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def sweep(options: argparse.Namespace) -> int:
    """Run the sweep; the exit code says whether runs failed."""
    plan = read_sweep(options.spec)
    if options.device is not None:
        plan = replace(plan, device=options.device)
    folder = options.out or Path("results") / options.spec.stem
    if options.dry_run:
        workers = 1 if options.executor == "serial" else options.workers or cores()
        preview(plan, folder, workers, options.time_limit, retry_failed=options.retry_failed)
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
    for name in ("workers", "device", "address", "gpus", "time_limit", "memory_limit", "checkpoint"):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value != usual.get(name) else []
    words += ["--retry-failed"] if options.retry_failed else []
    return shlex.join(words)
