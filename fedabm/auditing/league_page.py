"""The recorded league as one HTML page, with its figures and tables: what is there, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fedabm.auditing.achieved import MEANINGS
from fedabm.auditing.behaviours import described
from fedabm.auditing.definitive import alike, definitive, printed
from fedabm.auditing.league import BEST, PAIR, League
from fedabm.auditing.parts import CLOSED, TITLES
from fedabm.auditing.pictures import league_picture, survival_picture
from fedabm.auditing.recording import RecordedLeague
from fedabm.auditing.survival import TOLERATED, apart, same_as_baseline, sentences, survival
from fedabm.common.errors import InputError
from fedabm.common.files import clear_drafts, draft, new_folder, write
from fedabm.common.texts import readable
from fedabm.report.images import Inline, from_figure
from fedabm.report.tables import Shown, shown
from fedabm.report.templates import rendered
from fedabm.results.tables import write_table

__all__ = ["commits", "league_page", "write_league"]

_REMEDY = "give another --out DIR"
_MARKS = "± half of the 95% interval, ~ wide: few seeds; · means nothing there"
_ORDER = "By welfare, the best first. "
_CLOSED_OWNERS = "Owners respond to the rule as it is best for them. "
_TRAINED_OWNERS = (
    "Owners follow the slope of their own utility on the measured curve; but where a rule exchanges models or pays by "
    "scores of updates they give all (data 1), and where it asks for shares they give what it asks. Rules that "
    "exchange models, ModelMarket too, are judged without their payments, which are in a unit of their own: these "
    "count as 0 in utility and in what behaviours gain. "
)
#: an owner that is worse off than this is off the scale of accuracy
_OFF_SCALE = -10.0
#: how much larger than in a paper verdicts are shown on a screen
_LARGER = 1.35
_EACH = "each of the others loses"
#: half of the league
_TRAINED = "trained"
_BOUND, _GAIN, _HARM = "bound of the best lie", "gain: ", "harm: "
#: what columns mean that are made from deviations
_MORE_MEANINGS = {
    "best lie": MEANINGS["best lie"],
    _BOUND: "what no lie of one owner gains more than, where that is proven, in the same units",
}
_DIFFERENCES = "welfare", "accuracy", "data", "worst off", "budget", f"{_GAIN}{BEST}", f"{_GAIN}{PAIR}"


@dataclass(frozen=True)
class _World:
    """What the page shows of one world; `more` are tables that are opened."""

    title: str
    behaviours: Mapping[str, str]
    same: Sequence[str]
    tables: Sequence[Shown]
    more: Sequence[Shown]
    tuned: Shown


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
        worlds=[_world(name, one) for name, one in leagues.items()],
        commits=commits(recorded),
        missing=recorded.missing,
        hours=f"{sum(part.hours for part in recorded.missing):.1f}",
        there=recorded.there,
    )


def commits(recorded: RecordedLeague) -> list[tuple[str, bool]]:
    """By which commits each half was recorded, and whether these are several.

    Parameters
    ----------
    recorded : RecordedLeague
        The parts that are there.

    Returns
    -------
    list of (str, bool)
        For each half a line, and whether its parts are of different commits.
    """
    found = []
    for half in (CLOSED, _TRAINED):
        mine: dict[str, list[str]] = {}
        for one in recorded.there:
            if (one.part.world == CLOSED) == (half == CLOSED):
                mine.setdefault(one.manifest["commit"][:7], []).append(one.part.name)
        named = "Closed half" if half == CLOSED else "Trained half"
        if len(mine) == 1:
            found.append((f"{named}: all parts are of commit {next(iter(mine))}", False))
        elif mine:
            said = "; ".join(f"{commit} ({', '.join(parts)})" for commit, parts in mine.items())
            found.append((f"{named}: parts of {len(mine)} commits stand in the same means: {said}", True))
    return found


def _off_scale(leagues: dict[str, League]) -> list[str]:
    """Rules under which somebody is worse off than anything in units of accuracy."""
    found = []
    for name, one in leagues.items():
        worst = one.achieved[one.achieved["measure"] == "worst off"].groupby("rule")["value"].min()
        found += [f"{rule} {_where(name)} ({readable(value, 3)})" for rule, value in worst[worst < _OFF_SCALE].items()]
    return found


def _where(world: str) -> str:
    return "in closed form" if world == CLOSED else f"on {TITLES.get(world, world)}"


def _meanings(leagues: dict[str, League]) -> dict[str, str]:
    """What the columns of the tables mean, those that there are."""
    there = {measure for one in leagues.values() for measure in one.achieved["measure"]}
    return {name: words for name, words in MEANINGS.items() if name in there} | _MORE_MEANINGS


def _pictures(leagues: dict[str, League]) -> list[Inline]:
    """Verdicts of all worlds, then what is gained and lost in each."""
    found = []
    for name, one in leagues.items():
        title = TITLES.get(name, name)
        words = f"Which rule survives which behaviour, {title}"
        alt = f"{words}: a cell for every rule and behaviour says whether it pays, harms, both or neither."
        caption = (
            f"Survives: neither who behaves so gains nor each of the others loses more than {TOLERATED:.0%} of what an "
            "owner has, by 95% intervals. Cannot fail: the rule does not read it, so that nothing changes, in no seed. "
            "Rules that survive the most come first; those in brackets are counted apart."
        )
        judged = survival(one)
        empty = [name for name in dict.fromkeys(one.rows["deviation"]) if name not in judged]
        caption += f" Left out, as they mean nothing under any rule: {', '.join(empty)}." if empty else ""
        drawn = from_figure(survival_picture({title: one}), words, alt, caption)
        found.append(replace(drawn, width=round(_LARGER * drawn.width), height=round(_LARGER * drawn.height)))
    for name, one in leagues.items():
        words = f"What behaviours bring and cost, {TITLES.get(name, name)}"
        caption = (
            f"Orange: who behaves so gains, or {'all others together lose' if name == CLOSED else _EACH}; violet: the "
            "other way round. Colours end at all that an owner has, numbers do not; k is a thousand, M a million."
        )
        found.append(from_figure(league_picture(one), words, f"{words}: two heat maps, rules by behaviours.", caption))
    return found


def _world(name: str, found: League) -> _World:
    """What rules achieve, what behaviours bring and cost, differences, and rules as tuned."""
    table = definitive(found)
    first, *mixtures = table["scheme"].unique()
    shared = ~table["measure"].str.contains(": ") & (table["measure"] != _BOUND)
    order = _by_merit(table[table["scheme"] == first])
    tables = [_achieved(table[shared & (table["scheme"] == first)], name, str(first), order)]
    tables.append(_of_lies(table, _titled("What lies gain {}, in units of what an owner has", name), order))
    more = [_achieved(table[shared & (table["scheme"] == scheme)], name, str(scheme), order) for scheme in mixtures]
    harm = "What all others lose together" if name == CLOSED else "What each of the others loses"
    for start, words in ((_GAIN, "What who behaves so gains"), (_HARM, harm)):
        mine = table[table["measure"].str.startswith(start) & ~table["measure"].isin((_GAIN + BEST, _GAIN + PAIR))]
        if len(mine):
            mine = mine.assign(measure=mine["measure"].str.removeprefix(start))
            more.append(_made(mine, _titled(f"{words} {{}}, in units of what an owner has", name), order))
    more.append(_differences(table[table["scheme"] == first], found.baseline, name, order))
    said = described(survival(found).columns, closed=name == CLOSED)
    return _World(_titled("{}", name), said, _same(found), tables, more, _tuned(found, name, order))


def _by_merit(table: pd.DataFrame) -> list[str]:
    """Rules by what owners get together, the best first, then by name."""
    rules = sorted(table["rule"].unique())
    welfare = table[table["measure"] == "welfare"].set_index("rule")["mean"].reindex(rules)
    return list(welfare.sort_values(ascending=False, kind="stable").index)


def _made(table: pd.DataFrame, title: str, order: Sequence[str], note: str = "") -> Shown:
    """A table of one scheme as text, without columns that are empty, and with the reasons for what means nothing."""
    scheme = str(table["scheme"].iloc[0])
    filled = table[table.groupby("measure")["mean"].transform("count") > 0]
    wide = printed(filled, scheme).reindex(order).dropna(how="all").rename_axis("rule").reset_index()
    empty = table[table["note"] != ""].groupby("note", sort=False)["measure"].unique()
    notes = [f"{', '.join(measures)}: {str(why).removeprefix('skipped: ')}" for why, measures in empty.items()]
    lost = sorted(set(table["measure"]) - set(filled["measure"]))
    notes += [f"no column here, as no rule has a number: {', '.join(lost)}"] if lost else []
    return shown(wide, title, "; ".join([f"{note}{_MARKS}", *notes]) + ".", figures=[*wide][1:])


def _achieved(table: pd.DataFrame, world: str, scheme: str, order: Sequence[str]) -> Shown:
    """What rules achieve in a scheme."""
    mixture = scheme.removeprefix(_TRAINED).removeprefix(", ") or "nobody deviates"
    title = _titled("What rules achieve {}", world) + (f": {mixture}" if world != CLOSED else "")
    return _made(table, title, order, _ORDER + (_CLOSED_OWNERS if world == CLOSED else _TRAINED_OWNERS))


def _of_lies(table: pd.DataFrame, title: str, order: Sequence[str]) -> Shown:
    """The best lie beside its bound, and the best joint lie with its harm; without records, a word."""
    wanted = (_GAIN + BEST, _BOUND, _GAIN + PAIR, _HARM + PAIR)
    mine = table[table["measure"].isin(wanted)]
    if mine.empty:
        return Shown(title, ("rule",), (False,), (("No best lie is recorded here",),))
    return _made(mine, title, order)


def _differences(table: pd.DataFrame, baseline: str, world: str, order: Sequence[str]) -> Shown:
    """What rules do more or less than the rule without payments, on the same seeds."""
    mine = table[table["measure"].isin(_DIFFERENCES) & (table["rule"] != baseline)]
    apart = mine.assign(mean=mine["difference"], low=mine["from"], high=mine["to"])
    title = _titled(f"Differences to {baseline} {{}}, on the same seeds", world)
    return _made(apart, title, order, "Paired by seed, so that intervals are those of the difference; ")


def _tuned(found: League, world: str, order: Sequence[str]) -> Shown:
    """Rules with the parameters that they were judged with, and those that are another rule here."""
    reached = found.achieved[found.achieved["tuned"] != ""].drop_duplicates("rule").set_index("rule")["tuned"]
    other = apart(found)
    rows = [(rule, reached.get(rule, "no parameter is tuned"), other.get(rule, "")) for rule in order]
    frame = pd.DataFrame(rows, columns=["rule", "as tuned", "counted apart"])
    note = "Tuned on populations that nobody is judged on."
    if world != CLOSED:
        note = "Where a rule is tuned on the curve that each seed measures, parameters are those of the first seed."
    return shown(frame, _titled("Rules as they were tuned {}", world), note)


def _same(found: League) -> list[str]:
    """Rules that are the one without payments here, and groups of rules with the same numbers in every scheme."""
    idle = same_as_baseline(found)
    said = [f"Is {found.baseline} here, as tuned: {', '.join(idle)}"] if idle else []
    reached = found.achieved
    whole = replace(found, achieved=reached.assign(measure=reached["scheme"] + reached["measure"], scheme="all"))
    rest = [sorted({*group} - {found.baseline, *idle}) for group in alike(whole, "all")]
    return said + [f"The same in every number: {', '.join(group)}" for group in rest if len(group) > 1]


def _titled(text: str, world: str) -> str:
    """A title with where it holds."""
    made = text.format(_where(world))
    return made[0].upper() + made[1:]


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
