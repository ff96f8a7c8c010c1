"""How long does a protocol take to learn, if owners must first be brought to contribute?

Figure 1, right column, of Doshi et al. 2025: welfare (the sum of accuracies r_i - loss_i) against the seconds that the
protocol has taken, for FedAvg, UPBReD, FedAvgStrategic and 2P-UPBReD.  The first phase of 2P-UPBReD only moves numbers,
so that it costs almost no time.  Data: CIFAR-10 dealt at random, handwritten digits by writer (FEMNIST, or MNIST with
its writers), or Sent140 by account, which is what the paper's three rows show.

Under FedAvgStrategic almost nobody contributes: training on a handful of samples makes a model sure of wrong answers,
and welfare falls below 0, that of guessing.

Seconds are of this machine and differ from run to run, unlike everything else in the frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm.analysis.curves import COLOURS, LINES, dress, panels, shared_legend
from fedabm.cli import run_script
from fedabm.common.errors import check_positive
from fedabm.papers.doshi2025.data import Data, owners_of, setting
from fedabm.papers.doshi2025.settings import Doshi
from fedabm.papers.presets import spread
from fedabm.study.study import Study

#: rounds of training in `quick`: a path needs more of them than the end results that the other figures show
_ROUNDS = 60


def run(
    study: Study,
    preset: Literal["quick", "paper"] = "quick",
    data: Data = "auto",
    subsidy: float = 2.0,
    seeds: int = 0,
) -> None:
    """The four protocols on the same owners; `seeds` = 0 takes the preset's number."""
    check_positive("subsidy", subsidy, zero=True)
    chosen, dataset = setting(preset, data, study.note)
    if preset == "quick" and data != "sent140":
        chosen = replace(chosen, rounds=_ROUNDS)
    rows = []
    for seed in chosen.series(study.seed, seeds):
        case = Doshi.of(chosen, dataset, seed, study.steps, partition=owners_of(data, chosen.size.owners))
        for rule in case.protocols(subsidy):
            made = study.simulate(case.scenario(rule), rule.name, seed)
            kept = made.datacollector.model_vars
            welfare = np.multiply(kept["accuracy"], kept["present"])
            steps = np.arange(1, len(welfare) + 1)
            path = {"protocol": rule.name, "seed": seed, "step": steps, "seconds": made.seconds, "welfare": welfare}
            rows.append(pd.DataFrame(path))
    table = pd.concat(rows, ignore_index=True)
    study.table(_summary(table), f"{dataset.name}, subsidy {subsidy:g}: end of the run, mean over seeds")
    study.picture(_figure(table, dataset.name), "welfare_by_time")


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """When each protocol ended, and where; when it had 95% of FedAvg's progress."""
    goal = 0.95 * table[table["protocol"] == "FedAvg"].groupby("seed")["welfare"].last()
    rows = []
    for name, runs in table.groupby("protocol", sort=False):
        end = runs.groupby("seed").last()
        welfare, width = spread(end["welfare"])
        reached = [one.loc[one["welfare"] >= goal[seed], "seconds"].min() for seed, one in runs.groupby("seed")]
        row = {"protocol": name, "seeds": len(end), "steps": end["step"].mean(), "seconds": end["seconds"].mean()}
        rows.append(row | {"welfare": welfare, "+-": width, "seconds to 95% of FedAvg's": float(np.mean(reached))})
    return pd.DataFrame(rows)


def _figure(table: pd.DataFrame, data: str) -> Figure:
    """Welfare against seconds and against steps; thin lines are single seeds."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    for turn, (name, runs) in enumerate(table.groupby("protocol", sort=False)):
        for count, (_, one) in enumerate(runs.groupby("seed")):
            style = {
                "color": COLOURS[turn],
                "linestyle": LINES[turn],
                "label": name if count == 0 else None,
                "alpha": 0.75,
            }
            left.plot(one["seconds"], one["welfare"], **style)
            right.plot(one["step"], one["welfare"], **style)
    seeds = table["seed"].nunique()
    dress(left, f"welfare on {data} ({seeds} seeds, a line each)", "seconds on this machine", "sum of accuracies")
    dress(right, "the same by step", "step (first phases count)", "sum of accuracies")
    right.set_xscale("log")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
