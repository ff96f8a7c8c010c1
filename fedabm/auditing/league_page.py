"""The recorded league as one HTML page, with its figures and tables: what is there, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fedabm.auditing.achieved import MEANINGS
from fedabm.auditing.definitive import definitive, printed
from fedabm.auditing.league import League
from fedabm.auditing.parts import CLOSED, TITLES
from fedabm.auditing.pictures import league_picture, survival_picture
from fedabm.auditing.recording import RecordedLeague
from fedabm.auditing.survival import TOLERATED, sentences, survival
from fedabm.common.errors import InputError
from fedabm.common.files import clear_drafts, draft, new_folder, write
from fedabm.common.texts import readable
from fedabm.report.images import Inline, from_figure
from fedabm.report.tables import Shown, shown
from fedabm.report.templates import rendered
from fedabm.results.tables import write_table

__all__ = ["league_page", "write_league"]

_REMEDY = "give another --out DIR"
_MARKS = "± half of the 95% interval, ~ wide: few seeds; · means nothing there"
#: an owner that is worse off than this is off the scale of accuracy
_OFF_SCALE = -10.0
#: why rules are off that scale; FACT was, as it was when it was recorded
_UNBOUNDED = "Payments or fines have no bound, and an attack makes them large"
_WHY_OFF_SCALE = {
    "FACT": "When it was recorded it fined by the square of how many samples an owner is off its own optimum (since "
    "then by the square of what these samples cost, which is on the scale of accuracy)"
}


def league_page(recorded: RecordedLeague) -> str:
    """The page; the same records give the same text."""
    leagues = recorded.worlds
    return rendered(
        "fedabm.auditing",
        "league.html",
        count=len({rule for one in leagues.values() for rule in one.rows["rule"]}),
        sentences=sentences(leagues),
        off_scale=_off_scale(leagues),
        meanings=_meanings(leagues),
        pictures=_pictures(leagues),
        tables=[table for name, one in leagues.items() for table in _tables(name, one)],
        missing=recorded.missing,
        hours=f"{sum(part.hours for part in recorded.missing):.1f}",
        there=recorded.there,
    )


def _off_scale(leagues: dict[str, League]) -> list[str]:
    """Rules under which somebody is worse off than anything in units of accuracy, by the reason."""
    found: dict[str, list[str]] = {}
    for name, one in leagues.items():
        worst = one.achieved[one.achieved["measure"] == "worst off"].groupby("rule")["value"].min()
        for rule, value in worst[worst < _OFF_SCALE].items():
            said = f"{rule} on {TITLES.get(name, name)} ({readable(value, 3)})"
            found.setdefault(_WHY_OFF_SCALE.get(str(rule), _UNBOUNDED), []).append(said)
    return [f"{reason}: {', '.join(said)}" for reason, said in found.items()]


def _meanings(leagues: dict[str, League]) -> dict[str, str]:
    """What the columns of the tables mean, those that there are."""
    there = {measure for one in leagues.values() for measure in one.achieved["measure"]}
    return {name: words for name, words in MEANINGS.items() if name in there}


def _pictures(leagues: dict[str, League]) -> list[Inline]:
    """Verdicts of all worlds, then what is gained and lost in each."""
    found = []
    for name, one in leagues.items():
        title = TITLES.get(name, name)
        words = f"Which rule survives which behaviour, {title}"
        alt = f"{words}: a cell for every rule and behaviour says whether it pays, harms, both or neither."
        caption = (
            f"Survives: neither who behaves so gains nor each of the others loses more than {TOLERATED:.0%} of what an "
            "owner has, by 95% intervals. Rules that survive the most come first."
        )
        empty = [name for name in dict.fromkeys(one.rows["deviation"]) if name not in survival(one)]
        caption += f" Left out, as they mean nothing under any rule: {', '.join(empty)}." if empty else ""
        found.append(from_figure(survival_picture({title: one}), words, alt, caption))
    for name, one in leagues.items():
        words = f"What behaviours bring and cost, {TITLES.get(name, name)}"
        caption = (
            "Orange: who behaves so gains, or each of the others loses; violet: the other way round. Colours end at "
            "all that an owner has, numbers do not; k is a thousand, M a million."
        )
        found.append(from_figure(league_picture(one), words, f"{words}: two heat maps, rules by behaviours.", caption))
    return found


def _tables(name: str, found: League) -> list[Shown]:
    """What rules achieve in every scheme of a world."""
    table, made = definitive(found), []
    for scheme in table["scheme"].unique():
        mine = table[(table["scheme"] == scheme) & ~table["measure"].str.contains(": ")]
        wide = printed(mine, scheme).reset_index()
        title = _titled(name, scheme)
        empty = mine[mine["note"] != ""].groupby("note", sort=False)["measure"].unique()
        notes = "; ".join(f"{', '.join(measures)}: {note}" for note, measures in empty.items())
        made.append(shown(wide, title, f"{_MARKS}. {notes}", figures=[*wide][1:]))
    return made


def _titled(world: str, scheme: str) -> str:
    """What a table is called."""
    if world == CLOSED:
        return "What rules achieve in closed form"
    mixture = scheme.removeprefix("trained").removeprefix(", ") or "everybody responds honestly"
    return f"What rules achieve on {TITLES.get(world, world)}: {mixture}"


def write_league(recorded: RecordedLeague, folder: Path) -> list[Path]:
    """Write page, figures and tables, and say where."""
    leagues = recorded.worlds
    if not leagues:
        raise InputError("nothing of the league is recorded yet; run fedabm record league")
    titled = {TITLES.get(name, name): one for name, one in leagues.items()}
    whole = pd.concat([definitive(one).assign(world=name) for name, one in leagues.items()])
    writers: dict[str, Callable[[Path], Any]] = {
        "league.html": partial(_put, league_page(recorded)),
        "definitive.csv": partial(write_table, whole),
    }
    for kind in ("png", "pdf"):
        writers[f"survival.{kind}"] = partial(_draw, lambda: survival_picture(titled), kind)
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
