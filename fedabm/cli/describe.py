"""`fedabm describe SCENARIO|study.toml [--odd] [--set KEY=VALUE] [--seed N] [--write FILE ...]`."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.common.texts import visible
from fedabm.report.odd.protocol import Described, elements
from fedabm.report.odd.text import latex, markdown
from fedabm.simulation.scenario import Scenario
from fedabm.specs.words import text_of
from fedabm.study.dry_run import planned_runs
from fedabm.study.library import Script, find
from fedabm.study.parameters import meanings_of

__all__ = ["described", "of_runs", "run"]

#: as many runs of a study are looked at; more of them are the same again with other numbers
_MOST = 50


def run(options: argparse.Namespace) -> None:
    """Print the description as Markdown, or write it to files: LaTeX for `.tex`, else Markdown."""
    for file in options.write:
        if file.is_dir() or not file.parent.is_dir():
            raise InputError(f"cannot write {str(file)!r}: no such folder, or a folder itself; give a file name")
    script = _script(options.scenario)
    model = described(script, options.set, options.seed)
    title, sections = f"{script.name}: ODD protocol", elements(model)
    for file in options.write:
        write(file, latex(title, sections) if file.suffix == ".tex" else markdown(title, sections))
        print(f"Description: {file}")
    if not options.write:
        print(visible(markdown(title, sections)), end="")


def _script(name: str) -> Script:
    if not name.endswith(".toml"):
        return find(name)
    from fedabm.comparison.written import script_of  # imports Matplotlib

    return script_of(name)


def described(script: Script, settings: list[str], seed: int = 0) -> Described:
    """What a script would run with these settings, and what is claimed of it.

    Parameters
    ----------
    script : Script
        A scenario of the library, of a file, or of a study in TOML.
    settings : list of str
        Parameters to change, `key=value` each.
    seed : int
        The seed that owners are drawn with.

    Returns
    -------
    Described
        Ready for `elements`.
    """
    chosen = script.parameters(settings)
    runs = planned_runs(script.name, script.run, chosen, seed, _MOST)
    scenarios = [(one.label or "run", one.what) for one in runs if isinstance(one.what, Scenario)]
    if not scenarios:
        raise InputError(f"{script.name} simulates no federation, got games only; describe a scenario that does")
    model = of_runs(script, chosen, seed, scenarios)
    return replace(model, patterns=_patterns(script.name), more=len(runs) == _MOST)


def of_runs(
    script: Script,
    chosen: dict[str, Any],
    seed: int,
    runs: Sequence[tuple[str, Scenario]],
) -> Described:
    """What was run.

    Parameters
    ----------
    script : Script
        The scenario, which says what it asks.
    chosen : dict
        Its parameters with their values.
    seed : int
        The seed that owners were drawn with.
    runs : sequence of (str, Scenario)
        What was simulated, by label.

    Returns
    -------
    Described
        Ready for `elements`.
    """
    meanings = meanings_of(script.run)
    rows = tuple((key, _shown(value, script), meanings.get(key, "")) for key, value in chosen.items())
    text = inspect.getdoc(script.module) if script.question in (inspect.getdoc(script.module) or "") else ""
    return Described(text or script.question, rows, seed, tuple(runs))


def _shown(value: object, script: Script) -> str:
    return str(text_of(value, script.module))


def _patterns(name: str) -> tuple[str, ...]:
    """The claims of the papers that this scenario shows, by their rows of the ledger."""
    from fedabm.papers.ledger.runner import ledger  # imports PyTorch

    shown = (row for row in ledger() if row.preset.split()[:3] == ["fedabm", "run", name])
    return tuple(f"{row.id} of the reproduction ledger: {row.claim}" for row in shown)
