"""Doshi et al. 2025, Figure 1 at the decisive size: whether two phases beat one, by the ledger's standard.

What the paper calls welfare is the sum of accuracies r_i - loss_i without the owners' costs: `total accuracy` here.
Recorded tables name it `welfare`, as they were made; their rounds have `welfare` with costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from fedabm.papers.doshi2025.order import PRINTED, TOTAL, without_costs
from fedabm.papers.doshi2025.settings import PRESETS
from fedabm.papers.ledger.rows import Finding
from fedabm.papers.ledger.standard import ClaimPart, Course, Length, joined, part_of
from fedabm.papers.ledger.training import Tables, seeds

__all__ = ["BIT_FOR_BIT", "COSTS", "NAMES", "decided", "gap_course", "length_of", "with_costs"]

NAMES = {
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "femnist_digits": "FEMNIST digits",
    "sent140": "Sent140 (for Twitter)",
}
BIT_FOR_BIT = (
    "at full data 2P-UPBReD trains on what FedAvg trains on, bit for bit, so that their equality is no evidence"
)
COSTS = "the paper's welfare, here total accuracy, leaves out costs"
#: the first seed of five owners that counts, by set: those before it chose how many were to be run
_FRESH = {"femnist_digits": 3, "sent140": 3}
_LOOKED = {
    "femnist_digits": "number of seeds chosen after the run: three seeds of five writers left 2.6 +- 3.1, so that "
    "three more were run; only those count",
    "sent140": "seeds of five owners from 3 on, planned beforehand",
}


def decided(*found: Tables, data: str, what: str = "time") -> Finding:
    """Figure 1 by a study of ten owners and, where the panel is about their number, fresh seeds of five."""
    few = [one for one in found if "owners" in one["summary"]]
    many = next(one for one in found if "owners" not in one["summary"])
    ours = f"{NAMES[data]}, {'; '.join([*(_order(one, 5) for one in few), _order(many, 10)])}"
    courses = {5: gap_course(few, 5, _FRESH.get(data, 0))} if few else {}
    courses[10] = gap_course([many], 10)
    share = length_of(data).share(many)
    parts = [part_of(f"beats UPBReD with {count} owners", course, share) for count, course in courses.items()]
    parts[-1] = replace(parts[-1], printed=PRINTED["2P-UPBReD"] - PRINTED["UPBReD"])  # ten owners of FEMNIST
    parts.append(ClaimPart("equals FedAvg", "no evidence", BIT_FOR_BIT))
    betas = many["summary"]["subsidy"].nunique() if what == "subsidy" else 3
    if betas < 3:
        parts.append(ClaimPart("a curve against beta", "no evidence", f"{betas} values of beta"))
    said = "; ".join(filter(None, (_LOOKED.get(data) if few else "", f"{COSTS}; {with_costs(many)}", _times(many))))
    return joined(ours, parts, said, every=True)


_PAIR = ("2P-UPBReD", "UPBReD")


def gap_course(found: Sequence[Tables], owners: int, first: int = 0, pair: tuple[str, str] = _PAIR) -> Course:
    """Total accuracy of one of a pair of protocols less the other's, by seed from `first` on and round of training."""
    gaps = pd.concat([_gaps(one["rounds"], owners, pair) for one in found])
    return Course(gaps[gaps.index >= first])


def _gaps(rounds: pd.DataFrame, owners: int, pair: tuple[str, str]) -> pd.DataFrame:
    protocols = rounds["label"].str.partition(", ")[0]
    length = int(rounds[protocols == "FedAvg"]["step"].max())
    better, worse = (_trained(rounds[protocols == name], length) for name in pair)
    return owners * (better - worse)


def _trained(rounds: pd.DataFrame, length: int) -> pd.DataFrame:
    """Mean accuracies by seed and round; of several runs of a protocol the last, without its first phase."""
    last = rounds[rounds["label"] == rounds["label"].iloc[-1]]
    wide = {seed: some.sort_values("step")["accuracy"].to_numpy()[-length:] for seed, some in last.groupby("seed")}
    return pd.DataFrame(wide, index=range(1, length + 1)).T


def with_costs(found: Tables) -> str:
    """Sums of accuracies less costs in the last round, mean over seeds; of several runs of a protocol the last."""
    rounds = found["rounds"]
    last = rounds[rounds["step"] == rounds.groupby(["label", "seed"])["step"].transform("max")]
    means = last.groupby("label", sort=False)["welfare"].mean()
    ends = means.groupby(means.index.str.partition(", ").get_level_values(0), sort=False).last()
    shown = ", ".join(f"{name} {value:,.4g}" for name, value in ends.items())
    order = "reversed" if ends["2P-UPBReD"] < ends["UPBReD"] else "the same"
    return f"less costs {shown}: the order of 2P-UPBReD and UPBReD is {order}"


def length_of(data: str) -> Length:
    """How long the decisive runs on a set are beside the paper's."""
    theirs = PRESETS["paper"]
    return Length(50 if data == "sent140" else theirs.rounds, (10, theirs.size.owners), theirs.seeds)


def _order(found: Tables, owners: int) -> str:
    """Total accuracies and their paired differences in words."""
    order = found["order"].set_index(["better", "worse"])
    ends = without_costs(found["summary"]).groupby("protocol", sort=False).last()[TOTAL]
    shown = ", ".join(f"{name} {value:.4g}" for name, value in ends.items())
    gaps = "; ".join(f"{a} - {b} = {_gap(row)}: {row['verdict']}" for (a, b), row in order.iterrows())
    gaps += "" if "printed" not in order else f"; in the authors' table (ten owners of FEMNIST) {_printed(order)}"
    return f"{owners} owners, {seeds(found['order'])}: total accuracy {shown}; paired: {gaps}"


def _printed(order: pd.DataFrame) -> str:
    """The same differences in the only numbers that the authors give."""
    known = order["printed"].dropna()
    return ", ".join(f"{a} - {b} = {gap:+.2g}" for (a, b), gap in known.items())


def _gap(row: pd.Series) -> str:
    return f"{row['ours']:+.3g} +- {row['+-']:.2g}"


def _times(found: Tables) -> str:
    """How the seconds of both compare, where they were measured."""
    table = found["summary"].set_index("protocol")
    if "seconds" not in table:
        return ""
    ratio = table.loc["2P-UPBReD", "seconds"] / table.loc["FedAvg", "seconds"]
    return f"2P-UPBReD takes {ratio:.2g} times FedAvg's seconds, trials of phase 1 included"
