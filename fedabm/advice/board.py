"""The board's report: question, answer, who gives and gains, what lies do, what could overturn it, what was assumed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.advice.cells import candidate_cells, owner_cells
from fedabm.advice.conditions import conditions_of
from fedabm.advice.picture import front_picture, owners_picture
from fedabm.advice.recommendation import Candidate, Recommendation
from fedabm.common.docstrings import head_of
from fedabm.common.files import clear_drafts, draft, new_folder
from fedabm.common.names import snake
from fedabm.common.texts import readable
from fedabm.mechanisms import Mechanism
from fedabm.report.images import from_figure
from fedabm.report.tables import shown
from fedabm.report.templates import rendered
from fedabm.results.tables import write_table

__all__ = ["board_page", "write_board"]

_REMEDY = "give another --out DIR"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class _Audit:
    """What a full audit says, in lines."""

    title: str
    lines: tuple[str, ...]


def board_page(found: Recommendation, question: str) -> str:
    """The report as one HTML page that needs nothing else; the same recommendation gives the same text."""
    wanted, best, several = found.wanted, found.best, found.consortium.draws > 1
    conditions = "; ".join(one.words for one in conditions_of(wanted.conditions)) or "none"
    asked = f"{len(found.consortium.names)} owners want {_GOAL_WORDS[wanted.goal]}. Conditions: {conditions}."
    owners = owner_cells(found)
    title = f"Under {best.label}" if best else ""
    words = "Numbers are means over draws of what is not known, and between what they lie in 95 of 100 draws."
    front = "Every kind of rule that fits, numbered as in the table"
    gains = (
        from_figure(owners_picture(found), "What each owner gains", "Bars, as in the table above.") if best else None
    )
    return rendered(
        "fedabm.advice",
        "board.html",
        question=question,
        asked=asked,
        sentence=found.sentence,
        works=_works(best.rule) if best else "",
        candidates=shown(_numbered(candidate_cells(found)), "All rules that fit", _NOTE),
        front=from_figure(front_picture(found), front, f"{front}: goal against the best lie and against money moved."),
        owners=shown(owners, title, words if several else "", figures=[*owners][1:]) if best else None,
        gains=gains,
        lies=_lies(found),
        audits=[_audit(label, card) for label, card in found.cards.items()],
        overturn=_overturn(found),
        assumed=_assumed(found),
    )


_NOTE = (
    "Best lie and pairs: the largest gain found, as a share of what an owner has on average, in all but one of twenty "
    "draws. Money moved changes hands between owners or comes from outside. Certified: the share of draws in which the "
    "outcome is proven to be an equilibrium."
)


#: what is wanted, in words
_GOAL_WORDS = {
    "welfare": "as much welfare as possible, net of money from outside",
    "data": "as much data in use as possible",
    "accuracy": "as accurate a model as possible",
    "least served": "to do as well as possible by whoever has least, net of money from outside",
}


def _works(rule: Mechanism) -> str:
    """How a rule works, in a sentence."""
    first = head_of(type(rule).__doc__ or "").split("\n\n")[0]
    return f"How it works: {' '.join(first.split())}"


def _numbered(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(rule=[f"{number} {name}" for number, name in enumerate(table["rule"], 1)])


def _lies(found: Recommendation) -> list[str]:
    best = found.best
    if best is None:
        return list(found.reasons)
    verified = " and ".join(found.wanted.verified) or "nothing"
    lines = [f"Verified: {verified}. Looked at: what owners use, claim and state, the others being honest."]
    for who, some, liars in (("One owner", "gains", best.alone), ("Two owners together", "gain", best.together)):
        if not len(liars.gains):
            lines.append(f"{who}: lies were not looked for.")
        elif liars.worst == 0:
            lines.append(f"{who}: no lie was found that brings anything.")
        else:
            share = f"{100 * liars.worst:.3g}% of what an owner has"
            lines.append(f"{who} {some} {share} by the best lie found: {liars.words}.")
    return lines


def _audit(label: str, card: dict[str, Any]) -> _Audit:
    lines = [f"{one['name']}: {one['words']} ({one['status']})" for one in card["claims"]]
    return _Audit(f"Audit of {label}, every number in the middle: all claims, also about what you verify", tuple(lines))


def _overturn(found: Recommendation) -> list[str]:
    """What would make another rule the answer."""
    best, lines = found.best, []
    if best is None:
        return ["Other conditions, or more that may be asked, verified, paid or degraded."]
    for one in found.kept[1:4]:
        often = f", and is better by more than the tolerance in {100 * found.better(one):.0f}% of draws"
        line = f"{one.label} brings {_against(one, best)} {found.wanted.goal} on average"
        lines.append(f"{line}{often if found.consortium.draws > 1 else ''}.")
    for one in [one for one in found.candidates if one.broken and one.mean > best.mean][:3]:
        lines.append(f"{one.label} would bring {_against(one, best)} on average, if not for: {', '.join(one.broken)}.")
    lines += [f"Under {label}: {words}." for label, words in found.equilibria.items()]
    return lines or ["No other rule that fits comes near."]


def _against(one: Candidate, best: Candidate) -> str:
    """How much more or less it brings."""
    more = one.mean - best.mean
    return f"{readable(abs(more))} {'more' if more > 0 else 'less'}"


def _assumed(found: Recommendation) -> list[str]:
    wanted, unknown = found.wanted, ", ".join(found.consortium.unknown)
    beyond = getattr(found.consortium.central.accuracy, "beyond", None)
    beyond = beyond or getattr(getattr(found.consortium.central.accuracy, "accuracy", None), "beyond", None)
    doubt = beyond(float(found.consortium.central.capacities.sum())) if callable(beyond) else ""
    asked, verified = " and ".join(wanted.ask) or "nothing", " and ".join(wanted.verified) or "nothing"
    degraded = "some may be handed less than the full model" if wanted.degraded else "all get the full model"
    return [
        f"Not known exactly: {unknown}; {found.consortium.draws} draws."
        if unknown
        else "All numbers are known exactly.",
        f"Owners may be asked for {asked}; {verified} can be verified; paid: {wanted.paid}; {degraded}.",
        "Every owner does what is best for itself by its own numbers, and knows what the others give.",
        f"Differences below {100 * wanted.tie:g}% of the goal are called ties.",
        *([f"Beyond the pilot: {doubt}."] if doubt else []),
        *(f"Out of the question: {name}, since {why}." for name, why in found.misfits.items()),
    ]


def write_board(found: Recommendation, folder: str | Path, question: str) -> list[Path]:
    """Everything in a folder: the page (and PDF, where Chromium is found), tables, JSON and pictures."""
    home = Path(folder)
    adopted = None if found.best is None else {"kind": snake(type(found.best.rule).__name__), **found.best.parameters}
    evidence: dict[str, Any] = {
        "sentence": found.sentence,
        "mechanism": adopted,
        "reasons": found.reasons,
        "equilibria": found.equilibria,
        "candidates": json.loads(found.table().to_json(orient="records")),
        "solved": found.solved,
    }
    writers: dict[str, Callable[[Path], Any]] = {
        "board.html": lambda path: path.write_text(board_page(found, question), "utf-8"),
        "recommendation.json": lambda path: path.write_text(json.dumps(evidence, indent=2), "utf-8"),
        "candidates.csv": partial(write_table, found.table()),
        "owners.csv": partial(write_table, found.owners()),
        "front.png": lambda path: front_picture(found).savefig(path, format="png", dpi=150, facecolor="white"),
    }
    with new_folder(home, _REMEDY):
        clear_drafts(home, writers)
        for name, writer in writers.items():
            with draft(home / name, _REMEDY) as path:
                writer(path)
    files = [home / name for name in writers]
    pdf = _printed(home / "board.html")
    return [*files, pdf] if pdf else files


def _printed(page: Path) -> Path | None:
    """The page as PDF, where a browser is found that prints."""
    browser = next((found for found in map(shutil.which, _BROWSERS) if found), None)
    if browser is None:
        return None
    target = page.with_suffix(".pdf")
    printing = f"--print-to-pdf={target.resolve()}"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", printing]
    try:
        subprocess.run([browser, *options, page.resolve().as_uri()], check=True, capture_output=True, timeout=60)
    except (subprocess.SubprocessError, OSError):
        return None
    return target if target.is_file() else None
