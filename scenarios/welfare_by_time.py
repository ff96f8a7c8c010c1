"""How long does a protocol take to learn, if owners must first be brought to contribute?

Figure 1, right column, of Doshi et al. 2025: welfare (the sum of accuracies r_i - loss_i) against the seconds that the
protocol has taken, for FedAvg, UPBReD, FedAvgStrategic and 2P-UPBReD.  The first phase of 2P-UPBReD only moves numbers,
so that it costs almost no time.  Data: CIFAR-10 dealt at random, handwritten digits by writer (FEMNIST, or MNIST with
its writers), or Sent140 by account, which is what the paper's three rows show.

Seconds are those of local training, judging and averaging on this machine and differ from run to run, unlike everything
else.  A round that another protocol has trained before, on the same data and bit for bit, counts with the seconds it
took then.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Federation, run_script
from fedabm.checks import check_positive
from fedabm.figures import LINES, dress, focus, panels, protocol_looks, seeds_of, shared_legend
from fedabm.learning import AnswerCache
from fedabm.papers import Sizes, doshi2025, spread
from fedabm.study import Study

#: rounds of training in `quick`: a path needs more of them than the end results that the other figures show
_ROUNDS = 60


def run(
    study: Study,
    preset: Sizes = "quick",
    data: doshi2025.Data = "auto",
    subsidy: float = 2.0,
    seeds: int = 0,
) -> None:
    """The four protocols on the same owners; `seeds` = 0 takes the preset's number.

    The decisive preset leaves out FedAvgStrategic on other sets than CIFAR-10.

    preset   size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
             sizes
    data     which data set (auto: the preset's own, or digits where its files are not at hand)
    subsidy  money for each sample above the mean of the others
    seeds    how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_positive("subsidy", subsidy, zero=True)
    chosen, dataset = doshi2025.setting(preset, data, study.note)
    if preset == "quick" and data != "sent140":
        chosen = replace(chosen, rounds=_ROUNDS)
    known = AnswerCache(study.scratch, "rounds")
    rows = []
    for seed in chosen.series(study.seed, seeds):
        parts = doshi2025.owners_of(data, chosen.size.owners)
        case = doshi2025.Doshi.of(chosen, dataset, seed, study.steps, partition=parts, known=known)
        for rule in case.protocols(subsidy, strategic=preset != "decisive" or data == "cifar10"):
            made = study.simulate(case.scenario(rule), rule.name, seed)
            rows.append(_path(made, rule.name, seed))
    table = pd.concat(rows, ignore_index=True)
    title = f"{dataset.name}, subsidy {subsidy:g}: end of the run, mean over seeds"
    study.table(doshi2025.without_costs(_summary(table)), title)
    title = "Does the order hold? Paired over seeds"
    study.table(doshi2025.compared(doshi2025.welfare_by_seed(study.frames)), title, "order")
    study.picture(_figure(table, dataset.name), "welfare_by_time")


def _path(made: Federation, name: str, seed: int) -> pd.DataFrame:
    """Welfare and seconds after each step in which something was trained or tried."""
    kept = made.datacollector.model_vars
    welfare = np.multiply(kept["accuracy"], kept["present"])
    spent = np.cumsum(made.learned.spent)[: len(welfare)]
    steps = np.arange(1, len(spent) + 1)
    columns = {"protocol": name, "seed": seed, "step": steps, "seconds": spent, "welfare": welfare[: len(spent)]}
    return pd.DataFrame(columns)


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


def _held(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row per step and a column per seed; who has ended stays where it is, so that every mean is over all seeds."""
    return runs.pivot(index="step", columns="seed", values=column).ffill()


def _figure(table: pd.DataFrame, data: str) -> Figure:
    """Welfare against seconds and against steps: means over seeds, with bands of their 95% intervals."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    ends = {}
    looks = protocol_looks(table["protocol"].unique())
    for turn, (name, runs) in enumerate(table.groupby("protocol", sort=False)):
        style = {"color": looks[name].colour, "linestyle": LINES[turn]}
        welfare, seconds = _held(runs, "welfare"), _held(runs, "seconds").mean(axis=1)
        bands = pd.DataFrame(map(spread, welfare.to_numpy()), welfare.index, ["mean", "width"])
        for panel, x in ((left, seconds), (right, welfare.index)):
            panel.plot(x, bands["mean"], label=name, **style)
            low, high = bands["mean"] - bands["width"], bands["mean"] + bands["width"]
            panel.fill_between(x, low, high, color=looks[name].colour, alpha=0.15, linewidth=0)
        ends[str(name)] = float(bands["mean"].min())
    seeds = seeds_of(table["seed"].nunique(), "means with 95% bands")
    dress(left, f"total accuracy on {data} ({seeds})", "seconds on this machine", "sum of accuracies")
    dress(right, "the same by step", "step (first phases count)", "sum of accuracies")
    for panel in (left, right):
        focus(panel, ends | {"highest": table["welfare"].max()})
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
