"""How far round Shapley is from exact retraining, and what it costs: the tables of the page `docs/theory.md`, anew.

Five owners on digits, up to 80% of whose labels are wrong, ten rounds.  To print the tables:

    python -m tests.learning.knowledge.test_ranks_and_does_not_price
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fedabm.learning.knowledge.fed_sv import MOST_OWNERS
from tests.learning.knowledge.trajectories import Digits, pearson

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"
SEEDS = (0, 1)
UTILITIES = ("loss", "accuracy")
WAYS = ("FedSV", "GTGShapley", "ComFedSV, three of five a round", "FedSV, three of five a round")
MANY = (5, 10, 12)


@cache
def one(seed: int, utility: str) -> dict[str, tuple[float, float, float]]:
    """By the way of valuing: correlation with retraining, largest error by the mean share, models judged in a round."""
    digits = Digits(seed=seed)
    retrained = digits.retrained(utility)
    paid, selected, some = digits.completed(utility)
    found = zip(WAYS, (digits.exact(utility), digits.gtg(utility), (paid, some), (selected, some)), strict=True)
    return {
        way: (
            pearson(scores, retrained),
            float(np.abs(scores - retrained).max() / abs(retrained.mean())),
            judged / digits.rounds,
        )
        for way, (scores, judged) in found
    }


def row(way: str, utility: str) -> np.ndarray:
    """The mean over the seeds."""
    return np.mean([one(seed, utility)[way] for seed in SEEDS], axis=0)


def asked(owners: int) -> tuple[int, int]:
    """How many models are judged in the first round: by all coalitions, by truncated orders."""
    return 2**owners, Digits(owners=owners, rounds=1, network="logistic").gtg("loss")[1]


def table() -> list[str]:
    """The rows of the page."""
    lines = [
        "| values of rounds, judged by | with exact retraining | largest error | models in a round |",
        "|---|---|---|---|",
    ]
    for utility in UTILITIES:
        for way in WAYS:
            correlation, error, judged = row(way, utility)
            lines.append(f"| {way}: {utility} | {correlation:.2f} | {error:.2f} | {judged:.0f} |")
    lines += ["", "| owners | all coalitions of a round | truncated orders |", "|---|---|---|"]
    return lines + [f"| {owners} owners | {' | '.join(map(str, asked(owners)))} |" for owners in MANY]


def written(name: str) -> list[float]:
    """The numbers of a row as it stands on the page."""
    rows = (line.strip("| \n").split(" | ") for line in PAGE.read_text("utf-8").splitlines())
    (cells,) = (row[1:] for row in rows if row[0] == name)
    return [float(cell) for cell in cells]


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("way", WAYS)
def test_the_page_says_how_far_values_are_from_retraining(way, utility):
    """Rounding aside, which training magnifies on another machine."""
    assert row(way, utility) == pytest.approx(written(f"{way}: {utility}"), abs=0.06, rel=0.1)


@pytest.mark.parametrize("owners", MANY)
def test_the_page_says_how_many_models_are_judged(owners):
    assert owners <= MOST_OWNERS
    assert asked(owners) == pytest.approx(written(f"{owners} owners"), rel=0.1)


def test_the_loss_ranks_better_than_accuracy_and_neither_prices():
    for way in ("FedSV", "GTGShapley"):
        loss, accuracy = row(way, "loss"), row(way, "accuracy")
        assert loss[0] >= 0.98 > accuracy[0]
        assert min(loss[1], accuracy[1]) > 0.5


if __name__ == "__main__":
    print("\n".join(table()))
