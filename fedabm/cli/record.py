"""`fedabm record NAME [--set KEY=VALUE]`: run a scenario and keep what it found for the ledger.

`fedabm record league [--part NAME]` records the league part by part; `--plan` shows the parts.
`--check` replays what is recorded, and `--seal` puts digests where none are, so that damage is noticed.
"""

from __future__ import annotations

import argparse
import re
from importlib.metadata import version

from fedabm.common.errors import FedabmError, InputError, nearest
from fedabm.papers.ledger.recording import clean_commit, machine_words, make_record, seal_record
from fedabm.papers.ledger.records import RecordedRun, home, records
from fedabm.papers.ledger.replays import replay
from fedabm.results.frames import versions

__all__ = ["record"]

#: what is recorded part by part
LEAGUE = "league"


def record(options: argparse.Namespace) -> None:
    """RecordedRun, or replay in short or seal what is recorded."""
    if options.name == LEAGUE:
        _league(options)
        return
    if options.part is not None or options.plan:
        raise InputError(f"--part and --plan are of the league, got {options.name}; run fedabm record {LEAGUE}")
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


def _league(options: argparse.Namespace) -> None:
    """Show the parts of the league, or record one, or all that are missing, one after the other."""
    from fedabm.auditing.parts import part_named, parts
    from fedabm.auditing.recording import record_part, states

    if options.check or options.seal or options.set or options.short or options.seed:
        raise InputError("the league is recorded as planned, got other options; give --part, --plan or --out only")
    folder = (options.out or home()) / LEAGUE
    if options.plan:
        for part, state in states(folder):
            seeds = f"{len(part.seeds)} seed{'s' if len(part.seeds) > 1 else ''}"
            print(f"{part.command}: {len(part.rules)} rules, {seeds}, about {part.hours:g} core-hours; {state}")
        return
    if options.part is not None:
        chosen = [part_named(options.part, parts())]
    else:
        chosen = [part for part, state in states(folder) if state != "recorded"]
    made_by = {
        "commit": clean_commit(),
        "machine": machine_words(),
        "versions": {**versions(), "torch": version("torch")},
    }
    for part in chosen:
        print(f"{record_part(part, folder, made_by, lambda line: print(line, flush=True))}: recorded", flush=True)


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
