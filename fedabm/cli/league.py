"""`fedabm league [STUDY.toml] [--quick]`: all mechanisms against all deviations."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from rich.console import Console

from fedabm.auditing.behaviours import FEW_STEPS
from fedabm.auditing.definitive import alike, definitive, printed
from fedabm.auditing.league import BEST, League, league
from fedabm.auditing.parts import TITLES
from fedabm.auditing.pictures import attacks_picture, league_picture
from fedabm.auditing.recording import read_league
from fedabm.auditing.study_league import league_of_study
from fedabm.auditing.survival import apart, sentences, survival
from fedabm.cli.tables import show_whole
from fedabm.common.console import wide_console
from fedabm.common.cores import cores
from fedabm.common.errors import InputError, check_count
from fedabm.common.files import clear_drafts, draft, new_folder
from fedabm.common.texts import readable
from fedabm.comparison.written import Written, read_study, rules_of
from fedabm.mechanisms import Mechanism
from fedabm.papers.ledger.records import home
from fedabm.results.tables import write_table
from fedabm.specs.values import Reader

__all__ = ["run"]

#: what is said of rules without a parameter
_UNTUNED = "no parameter"
_REMEDY = "give another --out DIR"


def run(options: argparse.Namespace) -> None:
    """Play the league, print its tables, and write them if a folder is given."""
    seeds = (3 if options.quick else 10) if options.seeds is None else options.seeds
    owners = (4 if options.quick else 6) if options.owners is None else options.owners
    workers = cores() if options.workers is None else options.workers
    for name, number, least in (("seeds", seeds, 1), ("owners", owners, 2), ("workers", workers, 1)):
        check_count(name, number, least)
    with contextlib.nullcontext() if options.out is None else new_folder(options.out, _REMEDY):
        _play(options, seeds, owners, workers)


def _play(options: argparse.Namespace, seeds: int, owners: int, workers: int) -> None:
    names = options.rules.split(",") if options.rules else None
    console = wide_console(quiet=options.json)
    if options.study is not None:
        _of_study(options, console, seeds, workers)
        return
    if options.attacks:
        _attacks(options, console, owners)
        return
    if options.recorded:
        _recorded(options, console)
        return
    tuning = (6 if options.quick else 30) if options.tuning is None else options.tuning
    found = league(seeds, owners, names, questions=40 if options.quick else 200, workers=workers, tuning=tuning)
    console.print(f"{owners} owners, {seeds} populations; in units of what an owner has", highlight=False)
    _show_rules(console, found, "populations")
    leagues = {"league": found}
    if not options.closed:
        from fedabm.auditing.trained import trained_league  # PyTorch is slow to import, so only when it is wanted

        trainings = 2 if options.quick and options.seeds is None else seeds
        leagues["trained"] = trained_league(trainings, max(owners, 3), names, workers, tuning)
        _show(console, leagues["trained"].table("gain"), "Trained models: what the deviator gains")
        _show(console, leagues["trained"].table("loss"), "Trained models: what each of the others loses")
        _show_definitive(console, leagues["trained"])
    _kept(options, console, leagues)


def _of_study(options: argparse.Namespace, console: Console, seeds: int, workers: int) -> None:
    """The league of a study in TOML."""
    for name in ("owners", "attacks", "tuning"):
        if getattr(options, name):
            raise InputError(f"{options.study} has owners and rules of its own; leave --{name} out")
    written = read_study(options.study)
    drawn = bool(written.unknown)
    seeds = seeds if drawn else 1
    found = league_of_study(written, _named(options, written), seeds, 40 if options.quick else 200, workers)
    console.print(f"The owners and rules of {options.study}; in units of what an owner has", highlight=False)
    if drawn:
        words = f"Not known exactly: {', '.join(written.unknown)}; {seeds} draws"
    else:
        words = "Nothing in the study is drawn, so there is one population and no interval"
    console.print(words, highlight=False, markup=False)
    _show_rules(console, found, "draws" if drawn else "the study")
    _kept(options, console, {"league": found})


def _named(options: argparse.Namespace, written: Written) -> dict[str, Mechanism] | None:
    """The rules that --rules names: of the study by what they are called there, or of the package by their kinds."""
    if not options.rules:
        return None
    mine, reader = rules_of(written), Reader((Path(options.study).resolve().parent,))
    names = options.rules.split(",")
    return {name: mine[name] if name in mine else reader.read("--rules", name, Mechanism) for name in names}


def _show_rules(console: Console, found: League, over: str) -> None:
    """What deviations bring and do, and what rules achieve."""
    _show(console, found.table("gain"), "What the deviator gains")
    _show(console, found.table("loss").drop(columns="best lie", errors="ignore"), "What the others lose")
    _show_paired(console, found.paired())
    title = f"If nobody deviates: welfare net of money from outside, and that money (means over {over})"
    _show(console, found.money().set_index("rule"), title)
    _show_definitive(console, found)


def _kept(options: argparse.Namespace, console: Console, leagues: dict[str, League]) -> None:
    """What is asked for beside the tables: JSON, and files."""
    if options.json:
        print(json.dumps({name: _rows(one) for name, one in leagues.items()}, indent=1))
    if options.out is not None:
        for name, one in leagues.items():
            for path in _write(one, options.out, name):
                console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


def _attacks(options: argparse.Namespace, console: Console, owners: int) -> None:
    """Attacks x defences x payment rules."""
    from fedabm.auditing.attacks import attack_league, same_defences

    seeds = (1 if options.quick else 5) if options.seeds is None else options.seeds
    owners = 6 if options.owners is None else owners  # so that two attack
    found = attack_league(seeds, owners, options.rules.split(",") if options.rules else None)
    console.print(
        "lost: accuracy of each of the others; gain: utility of an attacker; success of a backdoor; precision and "
        "recall of detectors, over rounds; · means nothing there, or nobody was caught",
        highlight=False,
    )
    many = f"{seeds} seed{'s' if seeds > 1 else ''}"
    title = f"Attacks by {owners // 3} of {owners} owners x defences, by payment rule; means over {many}"
    show_whole(console, _attack_table(found), title, sections=True)
    console.print(f"little is enough, min-max: {FEW_STEPS}", highlight=False, soft_wrap=True)
    for words in same_defences(found):
        console.print(words, highlight=False, soft_wrap=True)
    if options.json:
        print(found.to_json(orient="records"))
    if options.out is not None:
        writers: dict[str, Callable[[Path], Any]] = {"attacks.csv": partial(write_table, found)}
        for kind in ("png", "pdf"):
            writers[f"attacks.{kind}"] = partial(_draw, attacks_picture(found), kind)
        for path in _put_all(options.out, writers):
            console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


def _attack_table(found: pd.DataFrame) -> pd.DataFrame:
    """Attacks and defences down, payment rules across, as text."""
    rows = found.groupby(["attack", "defence"], sort=False)
    wide = found.pivot_table(
        index=["attack", "defence"], columns="rule", values=["accuracy lost", "gain"], sort=False, dropna=False
    )
    wide.columns = [f"{'lost' if what == 'accuracy lost' else 'gain'}: {rule}" for what, rule in wide.columns]
    wide = wide.assign(**{name: rows[name].mean() for name in ("success", "precision", "recall")})
    return wide.map(lambda value: "·" if value != value else "0" if abs(value) < 5e-3 else f"{value:.2f}")


def _recorded(options: argparse.Namespace, console: Console) -> None:
    """What is recorded: three sentences, verdicts, what is missing; page, figures and tables if a folder is given."""
    from fedabm.auditing.league_page import commits, write_league

    found = read_league(home() / "league")
    for sentence in sentences(found.worlds):
        console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)
    for name, one in found.worlds.items():
        table, other = survival(one).replace("", "·"), apart(one)
        named = table.rename(index={rule: f"{rule} ({why})" for rule, why in other.items()})
        show_whole(console, named, f"Which rule survives, {TITLES.get(name, name)}")
        for scheme in one.achieved["scheme"].unique()[:1]:
            words = _tuned(one, scheme)
            console.print(f"As tuned, on the first seed: {words}", highlight=False, soft_wrap=True)
    for line, _ in commits(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for part in found.missing:
        console.print(f"Missing: {part.command}, about {part.hours:g} core-hours", highlight=False)
    if options.json:
        print(json.dumps({name: _rows(one) for name, one in found.worlds.items()}, indent=1))
    if options.out is not None:
        for path in write_league(found, options.out):
            console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)


def _show_definitive(console: Console, found: League) -> None:
    """What rules achieve, with intervals, by scheme; and which rules did the same."""
    table = definitive(found)
    for scheme in table["scheme"].unique():
        mine = table[table["scheme"] == scheme]
        shared = mine[~mine["measure"].str.contains(": ")]
        text, columns = printed(shared, scheme), shared["measure"].unique()
        marks = "± half of the 95% interval, ~ wide: few seeds; · means nothing there"
        show_whole(console, text[columns], f"What rules achieve, {scheme} ({marks})")
        for group in alike(found, scheme):
            console.print(f"The same in every number here: {', '.join(group)}", highlight=False)
        words = _tuned(found, scheme)
        if words:
            console.print(f"Tuned on other populations or the measured curve: {words}", highlight=False, soft_wrap=True)
        notes = mine[mine["note"] != ""].groupby("note", sort=False)["measure"].unique()
        for note, measures in notes.items():
            console.print(f"· {', '.join(dict.fromkeys(measures))}: {note}", highlight=False)


def _tuned(found: League, scheme: str) -> str:
    """What parameters rules have, on the first seed."""
    rows = found.achieved[(found.achieved["scheme"] == scheme) & (found.achieved["tuned"] != "")]
    first = rows.drop_duplicates("rule")
    return "; ".join(f"{one.rule}: {one.tuned}" for one in first.itertuples() if _UNTUNED not in one.tuned)


def _show(console: Console, table: pd.DataFrame, title: str) -> None:
    show_whole(console, table.map(_number), title)


def _show_paired(console: Console, table: pd.DataFrame) -> None:
    title = "The best lie: mean gain, and what it gains more than without payments on the same populations (95%)"
    shown = table.set_index("rule")[["gain", "difference", "low", "high"]]
    show_whole(console, shown.rename(columns={"low": "from", "high": "to"}).map(_number), title)


def _number(value: float) -> str:
    return "·" if value != value else "0" if abs(value) < 5e-4 else readable(value, 3)


def _rows(found: League) -> list[dict[str, Any]]:
    """All rows as plain data."""
    return json.loads(found.rows.to_json(orient="records"))


def _write(found: League, folder: Path, name: str) -> list[Path]:
    writers: dict[str, Callable[[Path], Any]] = {
        f"{name}.csv": partial(write_table, found.rows),
        f"{name}.json": lambda path: path.write_text(json.dumps(_rows(found), indent=1), "utf-8"),
    }
    if len(found.achieved):
        file = "definitive.csv" if name == "league" else f"definitive-{name}.csv"
        writers[file] = partial(write_table, definitive(found))
    if BEST in found.table():
        writers["paired.csv"] = partial(write_table, found.paired())
    for kind in ("png", "pdf"):
        writers[f"{name}.{kind}"] = partial(_draw, league_picture(found), kind)
    return _put_all(folder, writers)


def _put_all(folder: Path, writers: dict[str, Callable[[Path], Any]]) -> list[Path]:
    """Write files, and say where."""
    clear_drafts(folder, writers)
    for file, writer in writers.items():
        with draft(folder / file, _REMEDY) as path:
            writer(path)
    return [folder / file for file in writers]


def _draw(figure: Figure, kind: str, path: Path) -> None:
    figure.savefig(path, format=kind, dpi=150, facecolor="white")
