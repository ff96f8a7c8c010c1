"""How large must a subsidy be before owners give all their data and the model is as good as with honest owners?

Figure 1, middle column, of Doshi et al. 2025: welfare (the sum of accuracies r_i - loss_i) against the subsidy beta.
Costs per sample are uniform in [0, 1] and owners start in the middle third of their data.  FedAvg has honest owners;
under UPBReD owners follow the numerical derivative of eq. (10) while the model learns; under FedAvgStrategic they
settle first; 2P-UPBReD pays the subsidy until everybody contributes everything, and then learns.

In phase 1 weights are frozen, and owners measure by a local step what their own data bring them.  That is little beside
costs of up to 1 per sample: an owner whose cost exceeds beta falls, the others rise to everything.  So the largest cost
is the threshold, below the zeta + tau of Lemma 1.  FedAvgStrategic as printed stops as soon as nobody wants to give
more, which is at once: owners stay near their start.  r_i = log(classes), which the paper leaves open.  Owners are
dealt random parts of CIFAR-10, MNIST, ... or Sent140, or they are the writers of FEMNIST or MNIST.

Where everybody gives everything, 2P-UPBReD trains on the same data as FedAvg, bit for bit: that both are equal there is
no evidence of anything.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import run_script
from fedabm.checks import check_positive
from fedabm.figures import LINES, dress, focus, panels, protocol_looks, seeds_of, shared_legend
from fedabm.learning import AnswerCache
from fedabm.papers import Protocol, Sizes, doshi2025, fed_avg, spread
from fedabm.study import Study

_SUBSIDIES = {
    "quick": (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
    "decisive": (0.0, 0.5, 1.0, 2.0),
    "paper": (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
}
_FLAT = ("FedAvg", "UPBReD", "FedAvgStrategic", "FedAvgStrategic as printed")
#: protocols by the names that `protocols` takes; with 2P-UPBReD go the subsidies
Named = Literal["FedAvg", "UPBReD", "FedAvgStrategic", "as_printed", "2P-UPBReD"]


def run(
    study: Study,
    preset: Sizes = "quick",
    data: doshi2025.Data = "auto",
    subsidies: tuple[float, ...] = (),
    seeds: int = 0,
    protocols: tuple[Named, ...] = (),
) -> None:
    """All protocols on the same owners, data and seeds; no `subsidies` and `seeds` = 0 take the preset's.

    The decisive preset has four subsidies on CIFAR-10.  On other sets it has none and the paper's 2, and leaves out
    FedAvgStrategic, since 2P-UPBReD without a subsidy is the same game.

    preset     size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
               sizes
    data       which data set (auto: the preset's own, or digits where its files are not at hand)
    subsidies  money for each sample above the mean of the others, each a point of the picture (none: as the preset
               says)
    seeds      how often it is repeated with new draws (0: as often as the preset says)
    protocols  which are run besides FedAvg, that they are held against (none: all; as_printed is FedAvgStrategic as
               printed)

    Takes some minutes with preset=quick.
    """
    brief = preset == "decisive" and data != "cifar10"
    wanted = ("FedAvg", *protocols) if protocols else _all(brief=brief)
    subsidies = subsidies or ((0.0, 2.0) if brief else _SUBSIDIES[preset])
    check_positive("subsidies", subsidies, zero=True)
    chosen, dataset = doshi2025.setting(preset, data, study.note)
    known = AnswerCache(study.scratch, "rounds")
    for seed in chosen.series(study.seed, seeds):
        parts = doshi2025.owners_of(data, chosen.size.owners)
        case = doshi2025.Doshi.of(chosen, dataset, seed, study.steps, partition=parts, known=known)
        for name, rule in _flat(case).items():
            if name in wanted:
                study.simulate(case.scenario(rule), rule.name, seed)
        for beta in subsidies if "2P-UPBReD" in wanted else ():
            study.simulate(case.scenario(case.two_phase(beta)), f"2P-UPBReD, {beta:g}", seed)
    table = _table(study)
    owners = f"{dataset.name}, {chosen.size.owners} owners"
    title = f"{owners}: total accuracy, without costs, in the last round, mean over seeds"
    study.table(doshi2025.without_costs(table), title)
    order = doshi2025.compared(doshi2025.welfare_by_seed(study.frames))
    if len(order):
        study.table(order, "Does the authors' order hold? Paired over seeds", "order")
    if {"UPBReD", "2P-UPBReD"} <= set(table["protocol"]):
        study.note(_threshold(table))
    study.picture(_figure(table, dataset.name), "welfare_by_subsidy")


def _all(*, brief: bool) -> tuple[str, ...]:
    """The names of all protocols; in short without FedAvgStrategic, which 2P-UPBReD without a subsidy is, too."""
    return tuple(name for name in get_args(Named) if not (brief and name == "FedAvgStrategic"))


def _flat(case: doshi2025.Doshi) -> dict[str, Protocol]:
    """Those that no subsidy changes, by name."""
    return {
        "FedAvg": fed_avg(),
        "UPBReD": doshi2025.upbred(case.preset.gamma),
        "FedAvgStrategic": case.strategic(),
        "as_printed": case.strategic(as_printed=True),
    }


def _table(study: Study) -> pd.DataFrame:
    """One row per protocol and subsidy; welfare is the sum of accuracies, as in the paper."""
    frames = study.frames
    final = doshi2025.last_rows(frames)
    budget = frames.owners.groupby(["run", "step"])["payment"].sum().abs().groupby("run").max()
    by_run = final.groupby("run").agg(
        welfare=("accuracy", "sum"), data=("contribution", "sum"), all=("capacity", "sum")
    )
    by_run["budget"], by_run["rising"] = budget, frames.owners.groupby("run").apply(_rising, include_groups=False)
    by_run["label"] = frames.runs.set_index("run")["label"]
    honest = by_run.loc[by_run["label"] == "FedAvg", "welfare"].to_numpy()
    rows = []
    for label, runs in by_run.groupby("label", sort=False):
        (welfare, width), (gap, gap_width) = spread(runs["welfare"]), spread(runs["welfare"].to_numpy() - honest)
        name, _, beta = str(label).partition(", ")
        rows.append(
            {
                "protocol": name,
                "subsidy": float(beta) if beta else np.nan,
                "seeds": len(runs),
                "welfare": welfare,
                "+-": width,
                "less FedAvg": gap,
                "gap +-": gap_width,
                "data used %": 100 * float((runs["data"] / runs["all"]).mean()),
                "all contribute all": bool((runs["data"] == runs["all"]).all()),
                "largest |sum of payments|": float(runs["budget"].max()),
                "payments rise with contribution": bool(runs["rising"].all()),
            }
        )
    return pd.DataFrame(rows)


def _rising(owners: pd.DataFrame) -> bool:
    """Whether in no step somebody contributed more than another and was paid less."""
    ordered = owners.sort_values(["step", "reported_contribution"])
    later = ordered["step"].to_numpy()[1:] == ordered["step"].to_numpy()[:-1]
    return bool(np.all(np.diff(ordered["payment"].to_numpy())[later] >= -1e-9))


def _threshold(table: pd.DataFrame) -> str:
    """From which subsidy on everything is contributed, and what that does to welfare."""
    full = table[(table["protocol"] == "2P-UPBReD") & table["all contribute all"]]
    if full.empty:
        return "At no subsidy of this list all owners contribute everything."
    beta = full["subsidy"].min()
    beyond = full[full["subsidy"] >= beta]
    gap, width = beyond["less FedAvg"].abs().max(), table.set_index("protocol").loc["FedAvg", "+-"]
    joint = table.set_index("protocol").loc["UPBReD"]
    return (
        f"From beta = {beta:g} on all owners contribute everything; 2P-UPBReD's welfare then differs from FedAvg's by "
        f"at most {gap:.3g} (FedAvg's own spread over seeds is +-{width:.3g}); "
        f"UPBReD's is {-joint['less FedAvg']:.3g} +- {joint['gap +-']:.2g} lower."
    )


def _figure(table: pd.DataFrame, data: str) -> Figure:
    """Welfare and data used against the subsidy."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    two = table[table["protocol"] == "2P-UPBReD"]
    flat = {name: rows.iloc[0] for name, rows in table.groupby("protocol") if name in _FLAT}
    highest = two["subsidy"].max() if len(two) else 1.0
    looks = protocol_looks([*_FLAT, "2P-UPBReD"])
    for panel, column, width in ((left, "welfare", "+-"), (right, "data used %", None)):
        error = None if width is None else two[width].fillna(0.0)
        for turn, name in ((turn, name) for turn, name in enumerate(_FLAT) if name in flat):
            look = {"color": looks[name].colour, "linestyle": LINES[turn]}
            panel.axhline(flat[name][column], label=name, **look)
            if width is not None and np.isfinite(flat[name][width]):  # beside the last subsidy, one after the other
                place = highest * (1.06 + 0.04 * turn)
                panel.errorbar(place, flat[name][column], flat[name][width], color=look["color"], capsize=3)
        style = {"color": looks["2P-UPBReD"].colour, "linestyle": LINES[4], "marker": "o", "label": "2P-UPBReD"}
        if len(two):
            panel.errorbar(two["subsidy"], two[column], error, capsize=3, **style)
    ends = {row.protocol: row.welfare for row in table.itertuples() if row.protocol in _FLAT}
    ends |= {f"2P-UPBReD at {row.subsidy:g}": row.welfare for row in two.itertuples()}
    focus(left, ends, table["+-"].fillna(0.0).median())
    seeds = seeds_of(int(table["seeds"].max()), "95% intervals")
    dress(left, f"total accuracy on {data} ({seeds})", r"subsidy $\beta$ per sample", "sum of accuracies")
    dress(right, "data used in the last round", r"subsidy $\beta$ per sample", "% of all samples")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
