"""Records the league part by part, so that what was broken off goes on by the same command, and reads what is there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.auditing.league import League, league
from fedabm.auditing.parts import CLOSED, OWNERS, QUESTIONS, TUNING, Part, parts
from fedabm.common.errors import InputError, in_one_line
from fedabm.common.files import new_folder, read_json, write
from fedabm.results.seals import digest_of_file, read_sealed, sealed

__all__ = ["RecordedLeague", "RecordedPart", "read_league", "record_part", "states"]

MANIFEST = "manifest.json"
#: what is kept of a part that is not finished
_UNFINISHED = ".unfinished"
_DIGITS = "%.9g"


@dataclass(frozen=True)
class RecordedPart:
    """One recorded part: its manifest and its league."""

    part: Part
    manifest: Mapping[str, Any]
    found: League

    @property
    def origin(self) -> str:
        """Command, commit and seconds in one line."""
        return f"{self.part.command} (commit {self.manifest['commit'][:7]}, {self.manifest['seconds']:,.0f} s)"


@dataclass(frozen=True)
class RecordedLeague:
    """All parts that are there, and those that are missing."""

    there: Sequence[RecordedPart]
    missing: Sequence[Part]

    @property
    def worlds(self) -> dict[str, League]:
        """The league of each world of which anything is recorded."""
        names = dict.fromkeys(one.part.world for one in self.there)
        return {name: self._joined(name) for name in names}

    def _joined(self, world: str) -> League:
        mine = [one.found for one in self.there if one.part.world == world]
        return League(pd.concat([one.rows for one in mine]), pd.concat([one.achieved for one in mine]))


def record_part(part: Part, home: Path, made_by: Mapping[str, Any], say: Callable[[str], None]) -> Path:
    """Play a part and keep it, a unit at a time; on another commit what was begun is begun anew.

    Parameters
    ----------
    part : Part
        What is played.
    home : Path
        Where parts are kept, one folder each.
    made_by : Mapping
        Commit, machine and versions, for the manifest.
    say : Callable
        Where lines about progress go.

    Returns
    -------
    Path
        The folder of the part.
    """
    place = home / part.name
    if (place / MANIFEST).exists():
        raise InputError(f"{place} is there already; remove it if it is to be made anew")
    draft = place / _UNFINISHED
    with new_folder(place), new_folder(draft):
        done = [_unit(part, unit, draft, made_by["commit"], say) for unit in part.units]
        tables = {name: pd.DataFrame([row for one in done for row in one[name]]) for name in ("rows", "achieved")}
        for name, table in tables.items():
            write(place / f"{name}.csv", table.to_csv(index=False, float_format=_DIGITS))
        manifest = {
            "part": part.name,
            "command": part.command,
            **made_by,
            "seconds": round(sum(one["seconds"] for one in done), 1),
            "settings": {"owners": OWNERS, "questions": QUESTIONS, "tuning": TUNING, "seeds": list(part.seeds)},
            "files": _digests(place),
        }
        write(place / MANIFEST, sealed(manifest))
    for file in draft.glob("*.json"):
        file.unlink()
    draft.rmdir()
    return place


def _unit(
    part: Part, unit: tuple[str, tuple[int, ...]], draft: Path, commit: str, say: Callable[[str], None]
) -> dict[str, Any]:
    """One unit: read if this commit has played it before, else played and kept; seconds are those of a core."""
    rule, seeds = unit
    file = draft / f"{rule}-{seeds[0]}.json"
    if file.exists() and (kept := read_json(file))["commit"] == commit:
        return kept
    begun = time.process_time()
    found = _played(part, rule, seeds)
    seconds = time.process_time() - begun
    rows = {name: json.loads(table.to_json(orient="records", double_precision=15)) for name, table in found.items()}
    write(file, json.dumps({"commit": commit, "seconds": seconds, **rows}))
    say(f"{part.name}: {rule}, seed{'s' if len(seeds) > 1 else ''} {_span(seeds)}: {seconds:.0f} s")
    return {"commit": commit, "seconds": seconds, **rows}


def _played(part: Part, rule: str, seeds: Sequence[int]) -> dict[str, pd.DataFrame]:
    if part.world == CLOSED:
        found = league(seeds, OWNERS, [rule], QUESTIONS, tuning=TUNING)
    else:
        from fedabm.auditing.arena import WORLDS  # PyTorch is slow to import
        from fedabm.auditing.trained import trained_league

        found = trained_league(seeds, OWNERS, [rule], tuning=TUNING, world=WORLDS[part.world])
    return {"rows": found.rows, "achieved": found.achieved}


def _span(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _digests(place: Path) -> dict[str, str]:
    return {path.name: digest_of_file(path) for path in sorted(place.glob("*.csv"))}


def read_league(home: Path) -> RecordedLeague:
    """What is recorded, and what is missing.

    Parameters
    ----------
    home : Path
        Where parts are kept, one folder each.

    Returns
    -------
    RecordedLeague
        Parts that are there, and those that are not.
    """
    there, missing = [], []
    for part in parts():
        if (home / part.name / MANIFEST).exists():
            there.append(_read(part, home / part.name))
        else:
            missing.append(part)
    return RecordedLeague(there, missing)


def _read(part: Part, place: Path) -> RecordedPart:
    """A part whose tables are what was recorded."""
    try:
        manifest = read_sealed(place / MANIFEST)
        if manifest["files"] != _digests(place):
            raise ValueError("its tables are not as recorded")
        rows, achieved = (_table(place / f"{name}.csv") for name in ("rows", "achieved"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        again = f"take it from version control, or remove it and run {part.command}"
        raise InputError(f"cannot read the recorded part {place}: {in_one_line(error)}; {again}") from None
    return RecordedPart(part, manifest, League(rows, achieved))


def _table(path: Path) -> pd.DataFrame:
    """A table with empty words as empty text."""
    words = dict.fromkeys(("note", "words", "tuned"), str)
    found = pd.read_csv(path, dtype=words)
    return found.fillna({name: "" for name in words if name in found})


def states(home: Path) -> Iterator[tuple[Part, str]]:
    """Every part, and whether it is recorded, begun or missing."""
    for part in parts():
        place = home / part.name
        kept = len(list((place / _UNFINISHED).glob("*.json"))) if (place / _UNFINISHED).exists() else 0
        begun = f"begun: {kept} of {len(part.units)}" if kept else "missing"
        yield part, "recorded" if (place / MANIFEST).exists() else begun
