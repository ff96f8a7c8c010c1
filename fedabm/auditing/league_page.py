"""The recorded league as one HTML page, with its figures and tables: what is there, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fedabm.auditing.definitive import definitive, printed
from fedabm.auditing.league import League
from fedabm.auditing.pictures import league_picture, survival_picture
from fedabm.auditing.recording import RecordedLeague
from fedabm.auditing.survival import TOLERATED, sentences
from fedabm.common.errors import InputError
from fedabm.common.files import clear_drafts, draft, new_folder, write
from fedabm.report.images import Inline, from_figure
from fedabm.report.tables import Shown, shown
from fedabm.report.templates import rendered
from fedabm.results.tables import write_table

__all__ = ["league_page", "write_league"]

_REMEDY = "give another --out DIR"
_MARKS = "± half of the 95% interval, ~ wide: few seeds; · means nothing there"


def league_page(recorded: RecordedLeague) -> str:
    """The page; the same records give the same text."""
    leagues = recorded.worlds
    return rendered(
        "fedabm.auditing",
        "league.html",
        count=len({rule for one in leagues.values() for rule in one.rows["rule"]}),
        sentences=sentences(leagues),
        pictures=_pictures(leagues),
        tables=[table for name, one in leagues.items() for table in _tables(name, one)],
        missing=recorded.missing,
        hours=f"{sum(part.hours for part in recorded.missing):.1f}",
        there=recorded.there,
    )


def _pictures(leagues: dict[str, League]) -> list[Inline]:
    """Verdicts of all worlds, then what is gained and lost in each."""
    found = []
    for name, one in leagues.items():
        words = f"Which rule survives which behaviour, {name}"
        alt = f"{words}: a cell for every rule and behaviour says whether it pays, harms, both or neither."
        caption = (
            f"Survives: neither who behaves so gains nor each of the others loses more than {TOLERATED:.0%} of what an "
            "owner has, by 95% intervals. Rules that survive the most come first."
        )
        found.append(from_figure(survival_picture({name: one}), words, alt, caption))
    for name, one in leagues.items():
        words = f"What behaviours bring and cost, {name}"
        found.append(from_figure(league_picture(one), words, f"{words}: two heat maps, rules by behaviours."))
    return found


def _tables(name: str, found: League) -> list[Shown]:
    """What rules achieve in every scheme of a world."""
    table, made = definitive(found), []
    for scheme in table["scheme"].unique():
        mine = table[(table["scheme"] == scheme) & ~table["measure"].str.contains(": ")]
        wide = printed(mine, scheme).reset_index()
        title = f"What rules achieve, {scheme}" if scheme == name else f"What rules achieve, {name}: {scheme}"
        empty = mine[mine["note"] != ""].groupby("note", sort=False)["measure"].unique()
        notes = "; ".join(f"{', '.join(measures)}: {note}" for note, measures in empty.items())
        made.append(shown(wide, title, f"{_MARKS}. {notes}", figures=[*wide][1:]))
    return made


def write_league(recorded: RecordedLeague, folder: Path) -> list[Path]:
    """Write page, figures and tables, and say where."""
    leagues = recorded.worlds
    if not leagues:
        raise InputError("nothing of the league is recorded yet; run fedabm record league")
    whole = pd.concat([definitive(one).assign(world=name) for name, one in leagues.items()])
    writers: dict[str, Callable[[Path], Any]] = {
        "league.html": partial(_put, league_page(recorded)),
        "definitive.csv": partial(write_table, whole),
    }
    for kind in ("png", "pdf"):
        writers[f"survival.{kind}"] = partial(_draw, lambda: survival_picture(leagues), kind)
        for name, one in leagues.items():
            writers[f"heat-{name}.{kind}"] = partial(_draw, partial(league_picture, one), kind)
    with new_folder(folder, _REMEDY):
        clear_drafts(folder, writers)
        for file, writer in writers.items():
            with draft(folder / file, _REMEDY) as path:
                writer(path)
    return [folder / file for file in writers]


def _put(text: str, path: Path) -> None:
    write(path, text)


def _draw(made: Callable[[], Figure], kind: str, path: Path) -> None:
    made().savefig(path, format=kind, dpi=200, facecolor="white", bbox_inches="tight")
