"""What does the best lie gain under each mechanism, and does it still pay once the others have answered it?

The best of all lies about contribution, size and cost of any owner, while the others tell the truth: they stand still,
best-respond to what they hear until they rest, or learn by regret matching.  Where the mechanism reads claims only, no
other lie gains more, and that is proven; elsewhere it is the best that was found.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Scenario, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.auditing import LieLimits, SearchEffort, Stage, after_answers, after_learning, best_lies
from fedabm.checks import check_positive
from fedabm.mechanisms import (
    ContributionSubsidy,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    ProportionalData,
    ShapleyShare,
    TullockContest,
)
from fedabm.study import Study

RULES: tuple[Mechanism, ...] = (
    NoPayments(),
    LeaveOneOut(),
    TullockContest(0.5),
    ShapleyShare(),
    ProportionalData(0.5),
    ContributionSubsidy(0.01),
)


def run(
    study: Study,
    costs: tuple[float, ...] = (0.02, 0.03, 0.05, 0.06),
    capacity: float = 20.0,
    largest_claim: float = 2.0,
    mechanisms: tuple[Mechanism, ...] = RULES,
) -> None:
    """Search, prove where that can be done, let the others answer, and draw it.

    costs          cost of one unit of data, one per owner
    capacity       data that every owner has
    largest_claim  an owner may claim up to this many times what it has
    mechanisms     the mechanisms to be lied to

    Takes seconds.
    """
    check_positive("capacity", capacity)
    limits, effort = LieLimits(claim=largest_claim), SearchEffort(seed=study.seed)
    rows = []
    for rule in study.track(mechanisms, "best lies"):
        stage = Stage.of(Scenario(population(list(costs), capacity), PowerLaw(), rule))
        best = best_lies(stage, limits, effort)[0]
        answered, learned = best.gain, best.gain
        if best.gain > 0:
            answered = after_answers(stage, best.owner, best.deviation)[0]
            learned = after_learning(stage, best.owner, best.deviation, study.seed, steps=study.steps or 60)
        bound = best.bound if best.certified else np.nan
        row = {"mechanism": type(rule).__name__, "gain": best.gain, "at most": bound, "answered": answered}
        rows.append({**row, "learned": learned, "lie": best.words})
    table = pd.DataFrame(rows)
    study.table(table, f"The best lie with claims up to {largest_claim:g} times the data")
    study.picture(_figure(table), "best_lie")


def _figure(table: pd.DataFrame) -> Figure:
    """Three bars for each mechanism."""
    figure = Figure(figsize=(7.5, 0.9 + 0.5 * len(table)), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(table))
    looks = (("gain", "others stand still", "#0b5a8f", ""), ("answered", "others answer", "#b26a00", "//"))
    for number, (column, label, colour, hatch) in enumerate((*looks, ("learned", "others learn", "#1a7f4b", ".."))):
        ax.barh(place + 0.26 * (number - 1), table[column], 0.24, label=label, color=colour, hatch=hatch, edgecolor="w")
    ax.set_yticks(place, table["mechanism"])
    ax.invert_yaxis()
    ax.set_xlabel("what the liar gains over honesty")
    ax.legend(frameon=False)
    return figure


if __name__ == "__main__":
    run_script(__file__)
