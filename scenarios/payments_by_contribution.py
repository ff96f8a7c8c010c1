"""Who pays and who is paid under a contribution subsidy, and what if an owner cannot pay?

Figure 2 of Doshi et al. 2025: payments and utilities of owners under 2P-UPBReD against their contributions, on owners
with unequal amounts of data.  Once everybody contributes everything, those with more data than the others are paid by
those with less.  The second part gives owners a budget, which the paper leaves to future work: nobody pays more than it
has left, and those who were to be paid share what came in (see `Treasury`), so that the sum stays zero.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from fedabm import Frames, Scenario, run_script
from fedabm.checks import check_number
from fedabm.data import SizeSkew
from fedabm.figures import dress, panels, protocol_looks, seeds_of
from fedabm.learning import AnswerCache
from fedabm.papers import Sizes, doshi2025
from fedabm.study import Study

_CASES = ("without budgets", "with budgets")


def run(
    study: Study,
    preset: Sizes = "quick",
    data: doshi2025.Data = "auto",
    subsidy: float = 1.5,
    budget: float = 2500.0,
    sigma: float = 0.5,
    seeds: int = 0,
) -> None:
    """2P-UPBReD without and with budgets; `seeds` = 0 takes the preset's number, twice that in `quick`.

    Owners have log-normal sizes with `sigma`; writers of FEMNIST, which the paper shows, or MNIST have what they have.

    preset   size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
             sizes
    data     which data set (auto: the preset's own, or digits where its files are not at hand)
    subsidy  money for each sample above the mean of the others
    budget   money that an owner has for the whole run, in the second part
    sigma    how unequal owners are in size: deviation of the logarithms
    seeds    how often it is repeated with new draws (0: as often as the preset says, quick twice that)

    Takes some minutes with preset=quick.
    """
    for name, value in (("subsidy", subsidy), ("budget", budget), ("sigma", sigma)):
        check_number(name, value)
    chosen, dataset = doshi2025.setting(preset, data, study.note)
    if preset == "quick":
        chosen = replace(chosen, seeds=2 * chosen.seeds)
    known = AnswerCache(study.scratch, "rounds")
    for seed in chosen.series(study.seed, seeds):
        count = chosen.size.owners
        parts = doshi2025.owners_of(data, count) or SizeSkew(count, sigma=sigma, minimum=20)
        case = doshi2025.Doshi.of(chosen, dataset, seed, study.steps, partition=parts, known=known)
        free = case.scenario(case.two_phase(subsidy))
        study.simulate(free, _CASES[0], seed)
        study.simulate(_poor(free, budget), _CASES[1], seed)
    frames = study.frames
    final = doshi2025.last_rows(frames).merge(frames.runs[["run", "label", "seed"]], on="run")
    study.table(_table(frames, final), f"{dataset.name}, subsidy {subsidy:g}: payments of 2P-UPBReD")
    study.picture(_figure(final, dataset.name, budget), "payments_by_contribution")


def _poor(scenario: Scenario, budget: float) -> Scenario:
    """The same owners with this much money each."""
    return replace(scenario, owners=tuple(replace(owner, budget=budget) for owner in scenario.owners))


def _table(frames: Frames, final: pd.DataFrame) -> pd.DataFrame:
    """Whether payments balance, rise with contributions and respect budgets, over all steps and seeds."""
    owners = frames.owners.merge(frames.runs[["run", "label"]], on="run")
    rows = []
    for label in _CASES:
        mine, end = owners[owners["label"] == label], final[final["label"] == label]
        ranks = end.groupby("seed").apply(_rank_correlation, include_groups=False)
        rows.append(
            {
                "case": label,
                "seeds": end["seed"].nunique(),
                "largest |sum of payments| in a step": mine.groupby(["run", "step"])["payment"].sum().abs().max(),
                "rank correlation with contribution": ranks.mean(),
                "owners that pay %": 100 * float((end["payment"] < 0).mean()),
                "owed but not paid, all steps": float((mine["payment"] - mine["owed"]).clip(lower=0).sum()),
                "least money left": mine["money"].min(),
                "worst utility": end["utility"].min(),
            }
        )
    return pd.DataFrame(rows)


def _rank_correlation(end: pd.DataFrame) -> float:
    """Of payments with contributions; none where all give or get the same."""
    varied = end["contribution"].nunique() > 1 and end["payment"].nunique() > 1
    return end["contribution"].corr(end["payment"], "spearman") if varied else math.nan


def _figure(final: pd.DataFrame, data: str, budget: float) -> Figure:
    """Payments and utilities against contributions, one dot per owner and seed."""
    figure, axes = panels(4, rows=2, width=4.4, height=2.9)
    colour = protocol_looks(["2P-UPBReD"])["2P-UPBReD"].colour
    for turn, label in enumerate(_CASES):
        rows = final[final["label"] == label]
        title = label if turn == 0 else f"with a budget of {budget:g} each"
        for panel, column, name in (
            (axes[turn], "payment", "payment received"),
            (axes[2 + turn], "utility", "utility"),
        ):
            panel.scatter(rows["contribution"], rows[column], s=18, color=colour, edgecolor="white", linewidth=0.4)
            if column == "payment" and turn:
                panel.scatter(
                    rows["contribution"],
                    rows["owed"],
                    s=14,
                    facecolor="none",
                    edgecolor="0.5",
                    label="owed by the rule",
                )
            panel.axhline(0.0, color="0.3", linewidth=0.8)
            legend = "upper left" if column == "payment" and turn else None
            dress(panel, f"{data}: {title}", "samples contributed", f"{name}, last round", legend)
    seeds = final["seed"].nunique()
    figure.suptitle(f"2P-UPBReD in the last round, one dot per owner and seed ({seeds_of(seeds)})")
    for panel in axes[2:]:
        panel.set_title("utility = accuracy - cost + payment")
    return figure


if __name__ == "__main__":
    run_script(__file__)
