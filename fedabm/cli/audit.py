"""`fedabm audit SPEC.toml | SCENARIO [--mechanism NAME]`: the card of a rule."""

from __future__ import annotations

import argparse
import contextlib
import json

from rich.table import Table
from rich.text import Text

from fedabm.auditing.card import Card, Thoroughness, audit
from fedabm.auditing.claims import STATUSES
from fedabm.auditing.from_text import read_audit, read_unknown
from fedabm.auditing.page import write_card
from fedabm.auditing.search import SearchEffort
from fedabm.common.console import wide_console
from fedabm.common.device import check_written, on_device
from fedabm.common.files import new_folder
from fedabm.common.texts import readable, visible

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Audit, print the card, and write it if a folder is given."""
    full = Thoroughness(SearchEffort(seed=options.seed))
    with contextlib.ExitStack() as how:
        how.enter_context(on_device(check_written(options.device)))
        what, rule = read_audit(options.source, options.mechanism, options.set, options.seed)
        if options.out is not None:  # before any work is done
            how.enter_context(new_folder(options.out, "give another --out DIR"))
        unknown = read_unknown(options.source, rule, options.seed)
        card = audit(what, rule, None, Thoroughness.quick(options.seed) if options.quick else full, unknown)
        if options.json:
            print(json.dumps(card.as_dict(), indent=2))
        else:
            show(card)
        if options.out is not None:
            for path in write_card(card, options.out):
                print(f"Written: {path}")


def show(card: Card) -> None:
    """Print a card: what is wrong first, then every claim, then the deviations."""
    console = wide_console(140)
    console.print(_text(f"Audit of {card.title}"), style="bold")
    console.print(_text(f"{card.stage}\n"))
    if not card.flaws:
        console.print("No flaw was found.", highlight=False)
    for place, claim in enumerate(card.flaws, 1):
        console.print(_text(f"{place}. {claim.flaw}: {claim.words} ({claim.status})"))
    table = Table("claim", "holds", "status", "in words", title="\nEvery claim", title_justify="left")
    for claim in card.claims:
        holds = "-" if claim.holds is None else "yes" if claim.holds else "NO"
        status = f"{claim.status}: {claim.reference}" if claim.status == "theorem" else claim.status
        table.add_row(claim.name, holds, _text(status), _text(claim.words))
    console.print(table, highlight=False)
    kinds = Table(
        "deviation", "gain", "others lose", "at most", "how", title="\nThe best of each kind", title_justify="left"
    )
    for one in card.tried:
        most = readable(one.bound) if one.bound < float("inf") else "not proven"
        kinds.add_row(one.kind, readable(one.gain), readable(one.loss), most, _text(one.words))
    console.print(kinds, highlight=False)
    for kind, why in card.skipped.items():
        console.print(_text(f"skipped {kind}: {why}"))
    console.print("\n" + "; ".join(f"{name} = {meaning}" for name, meaning in STATUSES.items()), highlight=False)


def _text(words: str) -> Text:
    """Words that may be a user's: neither markup nor what a terminal would obey."""
    return Text(visible(words))
