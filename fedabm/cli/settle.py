"""What `fedabm settle` does: a study and a log become a statement, and a statement is verified."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fedabm.cli.tables import as_table
from fedabm.common.console import wide_console
from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.common.texts import visible
from fedabm.comparison.comparison import short_label
from fedabm.settlement.document import document, read_document, verify
from fedabm.settlement.statement import Statement, settle

__all__ = ["settle_log"]

#: this many rows of a table are shown; the files have all
_SHOWN = 40
#: columns of doubts, in this order
_COLUMNS = ("round", "owner", "doubt", "claimed", "instead", "worth")


def settle_log(options: argparse.Namespace) -> None:
    """`fedabm settle STUDY.toml LOG`: print and write what is due; `--verify STATEMENT.json`: settle it anew."""
    if options.verify is not None:
        if options.study is not None:
            raise InputError(f"--verify needs the statement alone, got {options.study}, too; leave study and log out")
        print(verify(read_document(options.verify), str(options.verify), options.verify.parent))
        return
    if options.study is None or options.log is None:
        raise InputError("settle needs a study and a log; give STUDY.toml LOG, or --verify STATEMENT.json")
    rule = options.mechanism
    rule = str(Path(rule).resolve()) if rule is not None and rule.endswith(".json") else rule
    made = settle(options.study, options.log, rule, options.experiment)
    text = document(made)
    files = _write(made, text, options.out or Path(_stem(options.log)))
    if options.json:
        print(json.dumps({**text, "files": [str(one) for one in files]}, indent=2))
        return
    _print(made, text["digest"], files)


def _stem(log: str) -> str:
    return "mlflow" if log.startswith("mlflow:") else Path(log).stem


def _write(made: Statement, text: dict[str, Any], place: Path) -> list[Path]:
    """All files, after everything is computed."""
    contents = {
        "statement.csv": made.frame().to_csv(index=False),
        "transfers.csv": made.transfers().to_csv(index=False),
        "statement.json": json.dumps(text, indent=2) + "\n",
    }
    return [write(place.with_name(f"{place.name}.{name}"), content) for name, content in contents.items()]


def _print(made: Statement, digest: str, files: list[Path]) -> None:
    console, contract = wide_console(), made.contract
    step, many = contract.terms.step, len(made.log.rounds)
    billed = "one bill for all" if len(made.bills) < many else "each by itself"
    steps = f"{many} {step}{'s' if many != 1 else ''}"
    console.print(Text(visible(f"Settled by {short_label(contract.mechanism)}: {steps}, {billed}"), style="bold"))
    totals = zip(contract.names, made.totals.tolist(), strict=True)
    console.print(as_table([{"owner": name, "gets in all": _money(total)} for name, total in totals][:_SHOWN]))
    if contract.uncertain:
        console.print(Text(visible(f"not known exactly, settled by the middle: {', '.join(contract.uncertain)}")))
    owed = made.transfers().to_dict("records")
    if owed:
        console.print(as_table([{**one, "amount": _money(one["amount"])} for one in owed[:_SHOWN]]))
    if made.outside:
        verb = "comes from" if made.outside > 0 else "goes"
        console.print(f"{_money(abs(made.outside))} {verb} outside the owners: the rule does not balance its budget")
    else:
        console.print("what is paid and what is received sum to zero")
    _print_doubts(console, made)
    console.print(f"digest {digest[:16]}; anybody verifies it: fedabm settle --verify {files[-1]}", soft_wrap=True)
    console.print(Text(f"Written: {', '.join(map(str, files))}"), soft_wrap=True)


def _print_doubts(console: Console, made: Statement) -> None:
    doubts = made.doubts
    if not doubts:
        console.print("no claim is doubtful")
        return
    rows = [{key: _shown(one[key], money=key == "worth") for key in _COLUMNS} for one in doubts]
    console.print(as_table(rows[:_SHOWN]))
    if len(rows) > _SHOWN:
        console.print(f"and {len(rows) - _SHOWN} more doubts; the JSON has all")


def _money(amount: float) -> str:
    """An amount as on an invoice; small ones, of other units, by the digits that count. Files have all digits."""
    return f"{amount:,.2f}" if abs(amount) >= 1 or amount == 0 else f"{amount:.4g}"


def _shown(value: Any, *, money: bool = False) -> Any:
    if isinstance(value, float | str):
        return _money(value) if money and isinstance(value, float) else value
    return "-" if value is None else str(value)
