"""The page itself: everything a folder tells, put into one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fedabm.common.errors import InputError
from fedabm.common.files import clear_drafts, write
from fedabm.common.glossary import GLOSSARY
from fedabm.report.cards import audit_command, cards
from fedabm.report.concerns import concerns
from fedabm.report.facts import facts, parameters, question, repeat, specification
from fedabm.report.folder import ResultFolder, read
from fedabm.report.gallery import gallery
from fedabm.report.images import Inline, from_bytes
from fedabm.report.tables import Shown, by_strategy, headline, shown
from fedabm.report.templates import rendered
from fedabm.results.frames import COLUMNS

__all__ = ["page", "put_report", "write_report"]

_TRACEBACKS = 10
_OWN_ROWS = 40


@dataclass(frozen=True)
class Failure:
    """One failed run: where, why, and the traceback."""

    name: str
    error: str
    trace: str


def write_report(folder: str | Path, file: str | Path | None = None) -> Path:
    """Write the report of a folder (default: report.html in it) and return where it is.

    Parameters
    ----------
    folder : str | Path
        The folder of a run or a sweep.
    file : str | Path | None, optional
        Where the report goes; by default report.html in the folder.

    Returns
    -------
    Path
        The report.
    """
    return put_report(partial(page, folder), folder, file)


def put_report(made: Callable[[Path], str], folder: str | Path, file: str | Path | None = None) -> Path:
    """Write a page about a folder where it may be; `made` gives its text from the folder that it is written to."""
    target = Path(folder) / "report.html" if file is None else Path(file)
    if os.path.isfile(target) and not target.is_symlink() and not _is_report(target):
        raise InputError(f"{target} is no report of ours and is left alone; give another place with --html FILE")
    text = made(target.parent)
    if target.parent.is_dir():
        clear_drafts(target.parent, [target.name])
    return write(target, text, "give another --html FILE")


def _is_report(file: Path) -> bool:
    """Whether a file was written by us."""
    with file.open("rb") as content:
        return b'<meta name="generator" content="fedabm' in content.read(4096)


def page(folder: str | Path, home: Path | None = None) -> str:
    """The report of a run or sweep folder as HTML; the same folder gives the same text.

    `home` is where the page will be (default: in the folder), for links to what lies beside it.
    """
    source = read(Path(folder))
    own, unread = _own_pictures(source)
    source = replace(source, unread=(*source.unread, *unread))
    tables = [headline(source), by_strategy(source)]
    return rendered(
        "fedabm.report",
        "page.html",
        source=source,
        question=question(source),
        facts=facts(source),
        parameters=parameters(source),
        concerns=concerns(source),
        failures=_failures(source),
        tables=[one for one in tables if one is not None and one.rows],
        pictures=list(gallery(source)),
        own_tables=_own_tables(source),
        own_pictures=own,
        repeat=repeat(source),
        specification=specification(source),
        cards=cards(source.folder, home or source.folder),
        audit=audit_command(source),
        columns=COLUMNS,
        glossary=GLOSSARY,
    )


def _own_tables(source: ResultFolder) -> list[Shown]:
    """What the scenario printed, in its order and under its titles."""
    filled = {name: frame for name, frame in source.tables.items() if len(frame.columns)}
    return [shown(filled[name], source.title(name), most=_OWN_ROWS) for name in source.in_order(filled)]


def _own_pictures(source: ResultFolder) -> tuple[list[Inline], list[str]]:
    """What the scenario drew, and the names of files that are no pictures."""
    found, unread = [], []
    for name, data in source.pictures.items():
        try:
            alt = f"Picture {_words(name)!r}, drawn by the scenario {source.scenario} itself."
            found.append(from_bytes(data, _words(name), alt, "Drawn by the scenario itself."))
        except ValueError:
            unread.append(f"{name}.png")
    return found, unread


def _words(name: str) -> str:
    return name.replace("_", " ")


def _failures(source: ResultFolder) -> list[Failure]:
    """The first failed runs with their tracebacks."""
    rows = source.failed.head(_TRACEBACKS).to_dict("records")
    named = ((f"{row.get('cell') or row['label']}, seed {row['seed']}", row) for row in rows)
    return [Failure(name, str(row.get("error") or ""), str(row.get("traceback") or "")) for name, row in named]
