"""What was run at a size that decides, kept with the package in `analysis/recorded/NAME/` and read by the ledger.

    manifest.json    scenario, settings, seed, command, commit, versions, seconds, machine, how to replay it in short;
                     `remembered` where results of other studies were not trained again: how many, the seconds that they
                     had taken, and how many of them do not say so (before that was counted: a sentence);
                     `landed` where the commit that ran was rebased on others before it landed; `files`, the digests
                     of the tables, and `seal`, the digest of all that
    TABLE.csv        the tables of the study, by name
    rounds.csv       what every run had in every step: label, seed, step, contribution, accuracy, welfare

A row states in `trained(..., decisive=(Play.of("market_attacks", preset="decisive"),))` which runs decide it.  Once all
of them are recorded, its verdict is computed from their tables, without training.  `recording` makes records.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.common.errors import InputError, in_one_line
from fedabm.papers.ledger.rows import Play
from fedabm.results.seals import digest_of_file, read_sealed

__all__ = ["MANIFEST", "ROUNDS", "RecordedRun", "home", "record_of", "records", "records_of"]

MANIFEST = "manifest.json"
ROUNDS = "rounds"
#: what every manifest has
_ENTRIES = ("scenario", "settings", "seed", "command", "commit", "seconds", "short")


def home() -> Path:
    """Where records are kept: in the package of figures, installed or not."""
    spec = importlib.util.find_spec("fedabm.analysis")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("fedabm.analysis is not installed, got no folder for records; install fedabm whole")
    return Path(next(iter(spec.submodule_search_locations))) / "recorded"


@dataclass(frozen=True)
class RecordedRun:
    """One recorded run of a scenario."""

    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What made it."""
        try:
            found = read_sealed(self.folder / MANIFEST)
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from None
        absent = [entry for entry in _ENTRIES if entry not in found] if isinstance(found, dict) else _ENTRIES
        if absent:
            raise self._damaged(f"{MANIFEST} does not say {', '.join(absent)}")
        return found

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.folder.name

    @property
    def settings(self) -> dict[str, str]:
        """The parameters that were set, as text."""
        return dict(setting.split("=", 1) for setting in self.manifest["settings"])

    @property
    def size(self) -> str:
        """The preset that was run."""
        return self.settings.get("preset", "default")

    @property
    def origin(self) -> str:
        """Command, commit and seconds in one line."""
        known = self.manifest
        commit = known["commit"][:7]
        if "landed" in known:  # what ran was rebased before it landed: the same change on another base
            commit += f", landed as {known['landed'][:7]}"
        return f"recorded: {known['command']} (commit {commit}, {known['seconds']:,.0f} s{self._remembered})"

    @property
    def _remembered(self) -> str:
        """What other studies had trained before, and what the run would have cost alone, as far as it was counted."""
        found = self.manifest.get("remembered")
        if found is None:
            return ""
        if isinstance(found, str):
            return ", perhaps more alone: what other studies had left was not counted"
        least = "at least " if found["untimed"] else ""
        return f", {found['answers']:,} results of other studies remembered, alone {least}{self.alone:,.0f} s"

    @property
    def alone(self) -> float:
        """Seconds with those of what other studies had trained, as far as they were counted."""
        found = self.manifest.get("remembered")
        return float(self.manifest["seconds"]) + (float(found["seconds"]) if isinstance(found, dict) else 0.0)

    @property
    def is_counted(self) -> bool:
        """Whether `alone` is all."""
        found = self.manifest.get("remembered")
        return found is None or (isinstance(found, dict) and not found["untimed"])

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The study's tables by name, with the rounds, if they are what was recorded."""
        found = self.digests()
        known = self.manifest.get("files", found)
        wrong = sorted(name for name in known.keys() | found.keys() if known.get(name) != found.get(name))
        if wrong:
            raise self._damaged(f"{', '.join(wrong)} not as recorded")
        try:
            return {name.removesuffix(".csv"): pd.read_csv(self.folder / name) for name in sorted(found)}
        except (OSError, ValueError) as error:
            raise self._damaged(in_one_line(error)) from None

    def digests(self) -> dict[str, str]:
        """Of the tables that are there, by the names of their files."""
        return {path.name: digest_of_file(path) for path in sorted(self.folder.glob("*.csv"))}

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"cannot read the record {self.folder}: {why}; take it from version control, or make it anew with "
            "fedabm record"
        )

    @property
    def rounds(self) -> pd.DataFrame:
        """What every run had in every step."""
        return self.tables[ROUNDS]

    def answers(self, play: Play) -> bool:
        """Whether this is a run of that play."""
        known = self.manifest
        return (known["scenario"], self.settings, known["seed"]) == (play.scenario, play.settings, play.seed)


def records(folder: Path | None = None) -> list[RecordedRun]:
    """All records, in the order of their names."""
    return [RecordedRun(path.parent) for path in sorted((folder or home()).glob(f"*/{MANIFEST}"))]


def record_of(play: Play) -> RecordedRun | None:
    """The record of a play, None if there is none."""
    return next((one for one in records() if one.answers(play)), None)


def records_of(plays: Iterable[Play]) -> list[RecordedRun]:
    """The records of all of these plays; none unless each has one."""
    found = [record_of(play) for play in plays]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []
