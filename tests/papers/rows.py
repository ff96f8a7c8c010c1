"""What the tests of the ledger share: ids, a small budget, and some rows run with it."""

from __future__ import annotations

from fedabm.papers.ledger.rows import Budget, Result
from fedabm.papers.ledger.runner import ledger, reproduce

TINY = Budget("quick", 4, trains=False)
#: how many artefacts each paper has; ids run from 01, and those in SPLIT have two rows: earnings, and accuracies
ARTEFACTS = {"D": 24, "M": 14, "R": 28, "K": 27, "P": 32, "S": 3, "G": 1, "A": 2, "F": 2}
SPLIT = ("P17", "P18", "P28")
NUMBERS = [f"{letter}{number:02d}" for letter, count in ARTEFACTS.items() for number in range(1, count + 1)]
IDS = [id for number in NUMBERS for id in ([f"{number}a", f"{number}b"] if number in SPLIT else [number])]
TRAINED = [*range(7, 17), 19, 24]


def run(*ids: str) -> dict[str, Result]:
    """These rows with few random instances."""
    return {result.id: result for result in reproduce([one for one in ledger() if one.id in ids], TINY)}


def verdicts(*ids: str) -> dict[str, str]:
    return {id: result.verdict for id, result in run(*ids).items()}
