"""The ledger as a page that people read: a card per claim, filters, and what a reviewer takes away.

One HTML file that needs nothing else, without scripts: what is filtered out is hidden by style alone.  The page in
Markdown, `render.markdown`, has the same rows and stays the one for differences between versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fedabm.papers.ledger.explain import statements
from fedabm.papers.ledger.pictures import COLOURS, picture, stacked, words
from fedabm.papers.ledger.records import RecordedRun, record_of
from fedabm.papers.ledger.rows import PAPERS, VERDICTS, Paper, Result, Row
from fedabm.papers.ledger.standard import RULES
from fedabm.papers.ledger.takeaways import TAKEAWAYS, outlived
from fedabm.report.templates import rendered

__all__ = ["html"]

_KINDS = {"closed": "closed form", "trained": "needs training", "recorded": "recorded run"}


@dataclass(frozen=True)
class ClaimCard:
    """A claim with all that is shown of it."""

    result: Result
    row: Row

    @property
    def kind(self) -> str:
        """What its verdict rests on."""
        return "recorded" if self.records else "closed" if self.row.kind == "c" else "trained"

    @property
    def slug(self) -> str:
        """The verdict as a word of a style sheet."""
        return self.result.verdict.replace(" ", "-")

    @property
    def records(self) -> list[RecordedRun]:
        """The recorded runs that it reads."""
        found = [record_of(play) for play in (*self.row.decisive, *self.row.planned)]
        return [one for one in found if one is not None]

    @property
    def hours(self) -> float:
        """How long these take on one core, with what other studies had trained as far as that was counted."""
        return sum(one.alone for one in self.records) / 3600

    @property
    def ours(self) -> list[str]:
        """What was found, statement by statement."""
        return statements(self.result.ours)

    @property
    def reasons(self) -> list[str]:
        """Why the verdict follows, statement by statement; its records stand elsewhere."""
        return [words for words in statements(self.result.reason) if not words.startswith("recorded: ")]


def html(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """The page of these rows."""
    by_id = {one.id: one for one in rows}
    cards = [ClaimCard(one, by_id[one.id]) for one in results]
    return rendered(
        "fedabm.papers.ledger",
        "page.html",
        groups=[(paper, [one for one in cards if one.result.id[0] == paper.letter]) for paper in PAPERS],
        bars=[(paper, stacked(_counted(paper, results))) for paper in PAPERS],
        verdicts=[(one, one.replace(" ", "-"), _number(one, results)) for one in VERDICTS if _number(one, results)],
        kinds=_KINDS,
        colours=COLOURS,
        takeaways=[(one, outlived(one, results)) for one in TAKEAWAYS],
        picture=picture,
        words=words,
        rules=" ".join(RULES).replace("*", "").replace("`", ""),
        total=len(cards),
    )


def _number(verdict: str, results: Sequence[Result]) -> int:
    return sum(one.verdict == verdict for one in results)


def _counted(paper: Paper, results: Sequence[Result]) -> list[tuple[str, int]]:
    found = Counter(one.verdict for one in results if one.id[0] == paper.letter)
    return [(verdict, found[verdict]) for verdict in VERDICTS if found[verdict]]
