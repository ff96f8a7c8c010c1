"""Runs a scenario once at a size that decides and keeps what it found; `fedabm record` does this.

    fedabm record welfare_by_subsidy --set preset=decisive --set data=cifar10

writes `analysis/recorded/welfare_by_subsidy-decisive-cifar10/` (see `records`; with `--seed 10` the name ends in
-from10, so that parts of a long study are records of their own).  A record names the commit that made
it, so that uncommitted changes are refused, and so is data=auto, which may be another set tomorrow.  When the run is
done it is replayed in short (two steps of one seed, or as `short` says), and it becomes a record, by its manifest, only
if the replay gives its first rounds; until then all that was saved on the way stays.  Rounds are those of the study's
frames; a scenario without frames may keep a table named "rounds" with the columns label, seed, step and numbers.  A
recording that was killed goes on by the same command, on the same commit, which changes nothing once all is there.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fedabm.common.errors import FedabmError, InputError
from fedabm.common.files import clear_drafts, new_folder, write
from fedabm.learning.oracles.memory import recalled
from fedabm.papers.ledger.records import MANIFEST, ROUNDS, RecordedRun, home
from fedabm.papers.ledger.replays import replay, rounds_of
from fedabm.results.frames import versions
from fedabm.results.seals import sealed
from fedabm.study import resume
from fedabm.study.library import find
from fedabm.study.study import Study

__all__ = ["clean_commit", "machine_words", "make_record", "seal_record"]

#: steps of a replay, unless a record says otherwise
_STEPS = 2
_DIGITS = "%.9g"
_WENT_ON = "it was broken off and went on from what it had saved; the seconds are those since then"
#: after how many seconds a run is saved while it goes on
_SAVE_EVERY = 60.0


def make_record(
    scenario: str,
    settings: Sequence[str],
    seed: int = 0,
    short: Sequence[str] = (),
    steps: int = _STEPS,
    folder: Path | None = None,
    *,
    quiet: bool = False,
) -> RecordedRun:
    """Run, write into a new folder and replay; `short` and `steps` are the settings that make the replay short."""
    script, commit = find(scenario), clean_commit()
    parameters = script.parameters(settings)
    if "auto" in parameters.values():
        raise InputError(f"a record names its data, got auto; add --set data=... to the settings of {scenario}")
    place = (folder or home()) / _name(script.name, settings, seed)
    command = _command("record", script.name, settings, seed)
    at_work = f"{command} (commit {commit[:7]})"
    if resume.tidied(place, at_work) or _is_made_by(place, command, commit):  # killed when all was there
        return RecordedRun(place)
    begun_before = resume.left(place) is not None
    if place.exists() and not begun_before and not resume.is_begun(place):
        raise InputError(f"{place} is there already; remove it if it is to be made anew")
    study = Study(script.name, seed, None, quiet=quiet)
    remembers = study.scratch is not None
    given = [*short, *(["seeds=1"] if "seeds" in parameters and not _sets("seeds", short) else [])]
    manifest: dict[str, Any] = {
        "scenario": script.name,
        "settings": list(settings),
        "seed": seed,
        "command": command,
        "commit": commit,
        "seconds": 0.0,
        "machine": machine_words(),
        "versions": {**versions(), "torch": version("torch")},
        "short": {"settings": given, "steps": steps},
    }
    if begun_before:
        manifest["went_on"] = _WENT_ON
    with new_folder(place), resume.unfinished(place, at_work, study, _SAVE_EVERY) as running:
        begun = time.perf_counter()
        with recalled() as known:
            script.run(study, **parameters)
        manifest["seconds"] = round(time.perf_counter() - begun, 1)
        if remembers and known.answers:
            seconds = round(known.seconds, 1)
            manifest["remembered"] = {"answers": known.answers, "seconds": seconds, "untimed": known.untimed}
        study.close()
        trouble = _keep(place, running / place.name, study, manifest)
    if trouble is not None:
        study.note(f"Not kept as a record: {trouble}. Its tables stay in {place}, without a manifest.")
        raise trouble
    return RecordedRun(place)


def _is_made_by(place: Path, command: str, commit: str) -> bool:
    """Whether a folder holds the record that this command makes on this commit."""
    if not (place / MANIFEST).exists():
        return False
    made = RecordedRun(place).manifest
    return bool(made["command"] == command and made["commit"] == commit)


def _keep(place: Path, draft: Path, study: Study, manifest: dict[str, Any]) -> FedabmError | None:
    """Replay what was found and put it in place, the manifest last; without one, and with the reason, if that fails."""
    tables = {**study.tables, ROUNDS: rounds_of(study)}
    _write(draft, tables)
    write(draft / MANIFEST, sealed(manifest))
    try:
        manifest["short"] |= {"seconds": round(replay(RecordedRun(draft), 1e-6, exact=True).seconds, 1)}
    except FedabmError as error:
        _write(place, tables)
        return error
    _write(place, tables)
    write(place / MANIFEST, sealed({**manifest, "files": RecordedRun(place).digests()}))
    return None


def seal_record(record: RecordedRun, landed: str | None = None) -> None:
    """Put digests into the manifest of a record that has none, or the commit that it `landed` as.

    Raises
    ------
    InputError
        If it is not what was sealed before, or has no tables.
    """
    manifest = record.manifest | ({} if landed is None else {"landed": landed})
    if not record.tables:
        raise InputError(f"{record.folder} has no tables; make it anew with fedabm record")
    write(record.folder / MANIFEST, sealed({**manifest, "files": record.digests()}))


def _write(place: Path, tables: dict[str, Any]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    clear_drafts(place)
    for name, table in tables.items():
        write(place / f"{name}.csv", table.to_csv(index=False, float_format=_DIGITS))


def _name(scenario: str, settings: Sequence[str], seed: int) -> str:
    """The folder of a record: scenario, what was set, and the first seed if it is not 0."""
    words = [scenario, *(text.split("=", 1)[1] for text in settings)]
    return "-".join([*words, f"from{seed}"] if seed else words)


def _command(word: str, name: str, settings: Sequence[str], seed: int) -> str:
    chosen = "".join(f" --set {setting}" for setting in settings)
    return f"fedabm {word} {name}{chosen}" + (f" --seed {seed}" if seed else "")


def _sets(name: str, settings: Sequence[str]) -> bool:
    return any(setting.split("=", 1)[0] == name for setting in settings)


def clean_commit() -> str:
    """The commit of the code that runs; it must be all of the code."""
    root = str(home().parent)
    try:
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ":/")
        commit = _git(root, "rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        raise InputError(
            f"{root} is under no version control, so that a record could not name its code; clone the "
            "project and record there"
        ) from None
    if changed:
        raise InputError(
            f"uncommitted changes ({changed.split()[1]}); a record names the commit that made it, so commit"
        )
    return commit


def _git(root: str, *words: str) -> str:
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True).stdout.strip()


def machine_words() -> dict[str, Any]:
    """What kind of machine this is, not which one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
    return {"system": platform.system(), "processor": model or platform.machine(), "cores": os.cpu_count()}
