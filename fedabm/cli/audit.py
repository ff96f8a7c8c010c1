"""`fedabm audit SPEC.toml | SCENARIO [--mechanism NAME]`: the card of a rule."""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from fedabm.audit.card import Card, Thoroughness, audit
from fedabm.audit.claims import STATUSES
from fedabm.audit.page import write_card
from fedabm.audit.search import Effort
from fedabm.audit.source import read_audit
from fedabm.common.device import check_written, on_device

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Audit, print the card, and write it if a folder is given."""
    full = Thoroughness(Effort(seed=options.seed))
    with on_device(check_written(options.device)):
        what, rule = read_audit(options.source, options.mechanism, options.set, options.seed)
        card = audit(what, rule, thoroughness=Thoroughness.quick(options.seed) if options.quick else full)
    if options.json:
        print(json.dumps(card.as_dict(), indent=2))
    else:
        show(card)
    if options.out is not None:
        for path in write_card(card, options.out):
            print(f"Written: {path}")


def show(card: Card) -> None:
    """Print a card: what is wrong first, then every claim, then the deviations."""
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=140)
    console.print(f"Audit of {card.rule}", style="bold", highlight=False, markup=False)
    console.print(f"{card.owners} owners, {card.accuracy}\n", highlight=False, markup=False)
    if not card.flaws:
        console.print("No flaw was found.", highlight=False)
    for place, claim in enumerate(card.flaws, 1):
        console.print(f"{place}. {claim.flaw}: {claim.words} ({claim.status})", highlight=False, markup=False)
    table = Table("claim", "holds", "status", "in words", title="\nEvery claim", title_justify="left")
    for claim in card.claims:
        holds = "-" if claim.holds is None else "yes" if claim.holds else "NO"
        status = f"{claim.status}: {claim.reference}" if claim.status == "theorem" else claim.status
        table.add_row(claim.name, holds, status, claim.words)
    console.print(table, highlight=False)
    kinds = Table(
        "deviation", "gain", "others lose", "at most", "how", title="\nThe best of each kind", title_justify="left"
    )
    for one in card.tried:
        most = f"{one.bound:.4g}" if one.bound < float("inf") else "not proven"
        kinds.add_row(one.kind, f"{one.gain:.4g}", f"{one.loss:.4g}", most, one.words)
    console.print(kinds, highlight=False)
    for kind, why in card.skipped.items():
        console.print(f"skipped {kind}: {why}", highlight=False, markup=False)
    console.print("\n" + "; ".join(f"{name} = {meaning}" for name, meaning in STATUSES.items()), highlight=False)
