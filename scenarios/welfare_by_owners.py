"""How does welfare grow with the number of owners, if they are honest, strategic, or subsidised?

Figure 1, left column, of Doshi et al. 2025: welfare (the sum of accuracies r_i - loss_i) of FedAvg, UPBReD,
FedAvgStrategic and 2P-UPBReD against the number of owners.  Every owner brings data of its own, so that welfare grows
with more owners in two ways: there are more to enjoy the model, and it learns from more data.  Owners are dealt random
parts of CIFAR-10, MNIST, ... or Sent140, or they are the writers of FEMNIST or MNIST.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fedabm import run_script
from fedabm.checks import check_positive
from fedabm.figures import LINES, dress, focus, panels, protocol_looks, seeds_of, shared_legend
from fedabm.learning import AnswerCache
from fedabm.papers import Sizes, doshi2025, spread
from fedabm.study import Study

#: how many owners in each preset; `welfare_by_subsidy` has ten where a preset is to decide
_COUNTS = {"quick": (5, 10, 20), "decisive": (5,), "paper": (10, 25, 50, 75, 100)}


def run(
    study: Study,
    preset: Sizes = "quick",
    data: doshi2025.Data = "auto",
    owners: tuple[int, ...] = (0,),
    subsidy: float = 2.0,
    seeds: int = 0,
) -> None:
    """The four protocols for each number of owners; `owners` and `seeds` = 0 take the preset's.

    The decisive preset leaves out FedAvgStrategic, about which the figure makes no claim.

    preset   size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
             sizes
    data     which data set (auto: the preset's own, or digits where its files are not at hand)
    owners   numbers of owners, each a point of the picture (a single 0: as the preset says)
    subsidy  money for each sample above the mean of the others
    seeds    how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_positive("subsidy", subsidy, zero=True)
    chosen, dataset = doshi2025.setting(preset, data, study.note)
    counts = owners if any(owners) else _COUNTS[preset]
    known = AnswerCache(study.scratch, "rounds")
    for seed in chosen.series(study.seed, seeds):
        for count in counts:
            parts = doshi2025.owners_of(data, count)
            case = doshi2025.Doshi.of(chosen, dataset, seed, study.steps, owners=count, partition=parts, known=known)
            for rule in case.protocols(subsidy, strategic=preset != "decisive"):
                study.simulate(case.scenario(rule), f"{rule.name}, {count}", seed)
    table = _table(study)
    title = f"{dataset.name}, subsidy {subsidy:g}: total accuracy, without costs, in the last round, mean over seeds"
    study.table(doshi2025.without_costs(table), title)
    title = f"Does the order hold for {counts[-1]} owners? Paired over seeds"
    study.table(doshi2025.compared(doshi2025.welfare_by_seed(study.frames)), title, "order")
    study.picture(_figure(table, dataset.name), "welfare_by_owners")


def _table(study: Study) -> pd.DataFrame:
    """One row per number of owners and protocol."""
    frames = study.frames
    final = doshi2025.last_rows(frames).merge(frames.runs[["run", "label"]], on="run")
    runs = final.groupby(["label", "run"], sort=False).agg(
        welfare=("accuracy", "sum"), data=("contribution", "sum"), all=("capacity", "sum")
    )
    rows = []
    for label, some in runs.groupby("label", sort=False):
        protocol, _, count = str(label).partition(", ")
        welfare, width = spread(some["welfare"])
        row = {"protocol": protocol, "owners": int(count), "seeds": len(some), "welfare": welfare, "+-": width}
        rows.append(
            row | {"per owner": welfare / int(count), "data used %": 100 * float((some["data"] / some["all"]).mean())}
        )
    return pd.DataFrame(rows).sort_values("owners", kind="stable")


def _figure(table: pd.DataFrame, data: str) -> Figure:
    """Welfare against the number of owners, in all and for each of them."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    looks = protocol_looks(table["protocol"].unique())
    for turn, (name, rows) in enumerate(table.groupby("protocol", sort=False)):
        look = looks[name]
        style = {"color": look.colour, "linestyle": LINES[turn], "marker": look.marker, "label": name, "capsize": 3}
        width = rows["+-"].fillna(0.0)
        left.errorbar(rows["owners"], rows["welfare"], width, **style)
        right.errorbar(rows["owners"], rows["per owner"], width / rows["owners"], **style)
    for panel, column in ((left, "welfare"), (right, "per owner")):
        named = (table["protocol"] + ", " + table["owners"].astype(str)).tolist()
        focus(panel, dict(zip(named, table[column], strict=True)))
        panel.set_xticks(sorted(table["owners"].unique()))
    seeds = seeds_of(int(table["seeds"].max()), "95% intervals")
    dress(left, f"total accuracy on {data} ({seeds})", "owners", "sum of accuracies")
    dress(right, "the same for each owner", "owners", r"mean of $\log$(classes) $-$ loss")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
