"""`fedabm record NAME [--set KEY=VALUE]`: run a scenario and keep what it found for the ledger.

`--check` replays what is recorded, and `--seal` puts digests where none are, so that damage is noticed.
"""

from __future__ import annotations

import argparse
import re

from fedabm.common.errors import FedabmError, InputError, nearest
from fedabm.papers.ledger.recording import make_record, seal_record
from fedabm.papers.ledger.records import RecordedRun, records
from fedabm.papers.ledger.replays import replay

__all__ = ["record"]


def record(options: argparse.Namespace) -> None:
    """RecordedRun, or replay in short or seal what is recorded."""
    if options.check:
        _check(options.name)
        return
    if options.seal:
        _seal(options.name, options.landed)
        return
    if options.name is None:
        raise InputError("record what? got no scenario; give one of `fedabm list`, --check or --seal")
    steps = {} if options.short_steps is None else {"steps": options.short_steps}
    made = make_record(options.name, options.set, options.seed, options.short, folder=options.out, **steps)
    print(f"{made.folder}: {made.origin}")


def _check(name: str | None) -> None:
    """Replay every record, or those of one name or scenario; one that fails keeps no other from its replay."""
    chosen = _chosen(name)
    failed = [one.name for one in chosen if not _replayed(one)]
    if failed:
        names = ", ".join(failed)
        raise InputError(f"{len(failed)} of {len(chosen)} records were not replayed: {names}; see why above")


def _seal(name: str | None, landed: str | None) -> None:
    """Seal what has no seal yet, and one record that landed as another commit than it names."""
    if landed is not None and (name is None or not re.fullmatch("[0-9a-f]{40}", landed)):
        raise InputError(f"--landed takes the 40 digits of a commit, and --seal one record; got {landed} and {name}")
    chosen = _chosen(name)
    unsealed = [one for one in chosen if landed is not None or "files" not in one.manifest]
    for one in unsealed:
        seal_record(one, landed)
        print(f"{one.name}: sealed")
    print(f"{len(unsealed)} of {len(chosen)} records were sealed now, the others before")


def _chosen(name: str | None) -> list[RecordedRun]:
    """Every record, or those of one name or scenario."""
    known = records()
    chosen = [one for one in known if name in (None, one.name, one.manifest["scenario"])]
    if not chosen:
        raise InputError(f"no record {name!r}; {nearest(str(name), [one.name for one in known])}")
    return chosen


def _replayed(record: RecordedRun) -> bool:
    """Whether the first rounds came as recorded; a line says so, or why not."""
    try:
        found = replay(record)
    except FedabmError as reason:
        print(f"{record.name}: {reason}", flush=True)
        return False
    but = f", but for rounding that training has magnified to {found.rounding:.1g}" if found.rounding else ""
    print(f"{record.name}: first rounds as recorded{but} ({found.seconds:.0f} s)", flush=True)
    return True
