"""What `fedabm solve` does: the equilibria of a game, their certificates, and which one is the answer."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from fedabm.cli.tables import as_table
from fedabm.common.console import wide_console
from fedabm.common.texts import readable, visible
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.several import Equilibria, solve_all
from fedabm.specs.games import read_game

__all__ = ["solve_game"]

#: this many equilibria and contributions of each are shown; --json has all
_SHOWN = 12
#: this many owners are shown; --json has all
_OWNERS = 200


def solve_game(options: argparse.Namespace) -> None:
    """`fedabm solve SPEC.toml`: the equilibrium with its certificate, and whether there are others."""
    game = read_game(options.spec, options.mechanism)
    found = solve_all(game, starts=options.starts, time_limit=options.time_limit)
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
        return
    console = wide_console()
    console.print(Text(visible(f"Equilibrium under {game.mechanism}"), style="bold"))
    rows = found.answer.rows()
    console.print(as_table(rows[:_OWNERS]))
    if len(rows) > _OWNERS:
        console.print(f"and {len(rows) - _OWNERS:,} more owners; --json prints all", highlight=False)
    console.print(_certificate(found.answer), highlight=False)
    total, method = found.answer.profile.sum(), found.answer.method
    console.print(f"total data {total:.8g}; method {method}", highlight=False)
    console.print(_money(found.answer), highlight=False)
    if found.answer.converged:
        console.print(_number(found), highlight=False)
    if len(found.every) > 1:
        console.print(as_table(_lines(found)))


def _money(answer: Equilibrium) -> str:
    """Welfare, and how much of it is money from outside."""
    outside = answer.outside_money
    if outside == 0:
        return f"welfare {answer.net_welfare:.8g}; no money from outside"
    way = "pays owners" if outside > 0 else "keeps"
    words = f"welfare {answer.net_welfare + outside:.8g}, net of outside money {answer.net_welfare:.8g}"
    return f"{words}: somebody outside {way} {readable(abs(outside))}"


def _certificate(answer: Equilibrium) -> str:
    """How sure it is."""
    if answer.converged:
        return f"certified; nobody gains more than {answer.gap:.2g} by a change of its own"
    late = "; time was up" if answer.time_up else ""
    if answer.verdict == "found":
        return f"found, NOT certified; no gain above {answer.gain:.2g} was found, {_unproven(answer)}{late}"
    if math.isinf(answer.gain):
        return f"NOT certified; there was no time to look who gains by a change of its own{late}"
    verdict = "no equilibrium: best responses cycle" if answer.verdict == "cycle" else "NOT certified"
    return f"{verdict}; somebody gains {answer.gain:.2g} by a change of its own{late}"


def _unproven(answer: Equilibrium) -> str:
    """Why there is no certificate."""
    if answer.standard_errors is not None:
        worst = float(answer.standard_errors.max())
        return f"nothing is proven: orders are sampled, standard errors of payments are up to {worst:.2g}"
    if math.isinf(answer.gap):
        return "nothing is proven: no shape is promised"
    return f"proven is {answer.gap:.2g}"


def _number(found: Equilibria) -> str:
    """Whether it is the only one."""
    if found.unique is None:
        return f"unique or not is open: {found.reason}"
    return f"{'unique' if found.unique else 'NOT the only equilibrium'}: {found.reason}"


def _lines(found: Equilibria) -> Iterable[Mapping[str, Any]]:
    """One line per equilibrium, most data first."""
    for one in found.every[:_SHOWN]:
        given = ", ".join(f"{value:.6g}" for value in one.profile[:_SHOWN])
        yield {
            "equilibrium": "the answer" if found.is_answer(one) else "another",
            "total data": float(one.profile.sum()),
            "welfare": float(one.utilities.sum()),
            "net welfare": one.net_welfare,
            "contributions": given + (", ..." if len(one.profile) > _SHOWN else ""),
        }
