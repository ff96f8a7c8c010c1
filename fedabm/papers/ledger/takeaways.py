"""What a reviewer takes away from the ledger: five sentences, each with the rows that it rests on.

A sentence states which verdicts it needs.  Where a row has another one now, the page says so beside the sentence, so
that no sentence outlives its evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fedabm.papers.ledger.rows import Result, Verdict

__all__ = ["TAKEAWAYS", "Takeaway", "outlived"]


@dataclass(frozen=True)
class Takeaway:
    """A sentence, and by verdict the rows that must have it."""

    sentence: str
    rests_on: Mapping[Verdict, str]

    @property
    def rows(self) -> dict[str, Verdict]:
        """The verdict that every row must have, by id."""
        return {id: verdict for verdict, ids in self.rests_on.items() for id in ids.split()}


TAKEAWAYS = (
    Takeaway(
        "The theory stands: existence of equilibria, budget balance, rationality and reciprocity hold on every game "
        "that was tried, many of them only after a correction of the printed statement, which each row names.",
        {
            "reproduced": "D01 D03 D04 M01 M04 M07 R07 R11 R12 K04 P01 P03",
            "reproduced after correction": "D20 M02 M03 M05 R01 R08 R10 R13 K03 K05 P05 P06",
        },
    ),
    Takeaway(
        "Some printed statements are wrong: the rest point of Example 1 in Doshi et al. is none, the market of iPFL "
        "does not make owners tell the truth about everything, and one of its lies pays in a recorded market.",
        {"not reproducible": "D02 P04 P26"},
    ),
    Takeaway(
        "The digits of the reciprocity tables of Murhekar et al. 2025 belong to costs and runs that the text does not "
        "give: shares, gains and weights come out elsewhere, while the theorem behind them holds.",
        {"not reproducible": "R15 R16 R17 R18 R21", "reproduced": "R11"},
    ),
    Takeaway(
        "Two phases beat one in total accuracy on CIFAR-10, at this stage of training; that sum leaves out what owners "
        "pay for data, and with costs the order is reversed.",
        {"reproduced in part": "D07 D08 D09"},
    ),
    Takeaway(
        "Most claims about accuracies of trained models are open: what they turn on is within the spread over seeds, "
        "or needs the paper's length on a GPU, or data that may not be passed on; each row says which.",
        {"undecided": "D10 D13 M12 P08 P09 P10 P14 P15 P16 P22 P23 P24"},
    ),
)


def outlived(takeaway: Takeaway, results: Iterable[Result]) -> list[str]:
    """The rows that no longer have the verdict that a sentence rests on, each with the one it has."""
    found = {one.id: one.verdict for one in results}
    return [f"{id}: {found[id]}" for id, wanted in takeaway.rows.items() if id in found and found[id] != wanted]
