"""Doshi et al. 2025: the rows that need training, D07 to D16, D19 and D24.

The quick runs take a small part of MNIST, CIFAR-10 or the digits of FEMNIST, 5 to 20 owners and small networks.  The
decisive ones have the paper's networks and ten owners with as much data as in the paper: CIFAR-10, the digits of
FEMNIST by writer, and tweets of Sent140 for Twitter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm.papers.doshi2025.order import TOTAL, without_costs
from fedabm.papers.doshi2025.panels import BIT_FOR_BIT, COSTS, NAMES, decided, gap_course, length_of, with_costs
from fedabm.papers.doshi2025.settings import PRESETS, doshi_facts
from fedabm.papers.ledger.rows import Finding, Play
from fedabm.papers.ledger.standard import ClaimPart, joined, part_of
from fedabm.papers.ledger.training import Tables, judged, paper, seeds, too_small, trained

__all__ = ["rising", "settled", "strategic", "welfare"]

#: the sets of Figure 1, by name; and what is run here for each
_OWN = {"CIFAR-10": "cifar10", "FEMNIST": "femnist", "Twitter": "sent140"}
_PLAYED = {"CIFAR-10": "cifar10", "FEMNIST": "femnist_digits", "Twitter": "sent140"}


#: runs that were planned before they were looked at, see `analysis/recorded/PLAN.md`
_PLANNED = {
    "D13": tuple(
        Play.of("welfare_by_owners", preset="decisive", data="sent140", seeds=18, seed=first) for first in (3, 21)
    ),
    "D19": (Play.of("welfare_by_subsidy", preset="decisive", data="cifar10", protocols="as_printed", seed=4),),
}
#: of the quick runs of Figure 2, in which a first phase without training comes on top
_QUICK = replace(length_of("mnist"), run=PRESETS["quick"].rounds)


def _play(what: str, data: str) -> Play:
    """The quick run of one panel of Figure 1; MNIST stands for more than one set, so that it has more of everything."""
    few = data != "mnist"
    extra: dict[str, Any] = {"subsidies": (0.0, 0.5, 1.0, 1.5, 2.0)} if what == "subsidy" else {}
    extra |= {"owners": (5, 10)} if few and what == "owners" else {}
    return Play.of(f"welfare_by_{what}", data=data, **extra, seeds=1 if few else 2)


def _decisive(what: str, data: str) -> Play:
    """The run that decides a panel."""
    more: dict[str, Any] = {"seeds": 6} if (what, data) == ("owners", "femnist_digits") else {}
    return Play.of(f"welfare_by_{what}", preset="decisive", data=data, **more)


def welfare(found: Tables, against: str, data: str, why: str, command: str) -> Finding:
    """Figure 1: the four protocols at the end, and whether two phases equal honest owners and beat one phase."""
    table = without_costs(found["summary"])
    if against == "owners":
        table = table[table["owners"] == table["owners"].max()]
    count = int(table["owners"].iloc[0]) if against == "owners" else 10
    ends = table.groupby("protocol", sort=False).last()[TOTAL]
    equal = "equals" if abs(ends["2P-UPBReD"] - ends["FedAvg"]) <= 1e-9 else "does not equal"
    beats = "beats" if ends["2P-UPBReD"] > ends["UPBReD"] else "does not beat"
    shown = ", ".join(f"{name} {value:.4g}" for name, value in ends.items())
    ours = (
        f"{NAMES[data]}, {count} owners, {seeds(table)}, beta = 2: total accuracy {shown}: "
        f"2P-UPBReD {equal} FedAvg and {beats} UPBReD"
    )
    return too_small(ours, f"{why}; {BIT_FOR_BIT}; {COSTS}", command)


def _figure_1() -> None:
    against = {"owners": "number of owners", "subsidy": "beta", "time": "time"}
    for first, name in zip((7, 10, 13), _OWN, strict=True):
        for place, (what, words) in enumerate(against.items()):
            _panel(f"D{first + place:02d}", name, what, words)


def _panel(id: str, name: str, what: str, words: str) -> None:
    """One panel of Figure 1: on the set it is about as far as that is possible in a quick run."""
    played, command = _PLAYED[name], paper(f"welfare_by_{what}", data=_OWN[name])
    why = f"run on {NAMES[played]}, not on {name}"
    if played == _OWN[name]:
        why = "a small part of the set and a small network do not decide"
    studies = ("owners", "subsidy") if what == "owners" else (what,)
    trained(
        id,
        f"Fig. 1, {name}: welfare (the sum of accuracies, without costs) against {words}",
        "2P-UPBReD equals FedAvg and beats UPBReD",
        (_play(what, played),),
        lambda found: welfare(found, what, played, why, command),
        command,
        decisive=tuple(_decisive(study, played) for study in studies),
        planned=_PLANNED.get(id, ()),
        decide=partial(decided, data=played, what=what),
        length=length_of(played),
    )


def rising(found: Tables, command: str, data: str = "MNIST, 10 owners of unequal size") -> Finding:
    """Figure 2: payments rise with contributions, and sum to zero, so that consumers pay contributors."""
    case = found["summary"].set_index("case").loc["without budgets"]
    rank = float(case["rank correlation with contribution"])
    unbalanced = float(case["largest |sum of payments| in a step"])
    payers = float(case["owners that pay %"])
    ours = (
        f"{data}, {int(case['seeds'])} seeds: rank correlation of payment and contribution "
        f"{rank:.4g}, {payers:.0f} % of owners pay, sums of payments up to {unbalanced:.0e}"
    )
    note = f"a property of eq. (7) on any data; not individually rational (worst utility {case['worst utility']:.4g})"
    claim = rank >= 1 - 1e-9 and unbalanced <= 1e-9 and 0 < payers < 100
    return judged(ours, bool(claim), note, command)


def strategic(found: Tables, command: str) -> Finding:
    """Section 5: from which subsidy on everybody gives everything, and what strategic owners make of FedAvg."""
    table = without_costs(found["summary"])
    full = table[(table["protocol"] == "2P-UPBReD") & table["all contribute all"].astype(bool)]
    least = f"{full['subsidy'].min():g}" if len(full) else "none"
    ends = table.set_index("protocol")[TOTAL]
    ours = (
        f"MNIST, 10 owners, costs up to 1, {int(table['seeds'].max())} seeds: everything is given from beta = {least} "
        f"on (of 0, 0.5, 1, 1.5, 2); total accuracy FedAvg {ends['FedAvg']:.4g}, "
        f"strategic {ends['FedAvgStrategic']:.4g}"
    )
    why = "small runs on another set; in phase 1 the largest cost is the limit, which lies below zeta + tau if tau > 0"
    return too_small(ours, why, command)


def settled(found: Tables, *fresh: Tables) -> Finding:
    """Section 5 at the decisive size: from which beta on everything is given, and what strategic owners cost FedAvg.

    The first is a property of phase 1, before the model learns.  Whether FedAvg is poor depends on which strategic
    owners are meant, which was chosen after the run: as printed, they stop at once; settled, they give next to nothing.
    Fresh seeds test that choice.
    """
    table = without_costs(found["summary"])
    full = table[(table["protocol"] == "2P-UPBReD") & table["all contribute all"].astype(bool)]
    least = float(full["subsidy"].min()) if len(full) else float("inf")
    tried = ", ".join(f"{beta:g}" for beta in table["subsidy"].dropna())
    rows = table.set_index("protocol")
    printed, rest = rows.loc["FedAvgStrategic as printed"], rows.loc["FedAvgStrategic"]
    ours = (
        f"CIFAR-10, 10 owners, costs uniform in [0, 1], {seeds(table)}: everything is given from beta = {least:g} on "
        f"(of {tried}); FedAvg loses {_loss(printed)} of {rows.loc['FedAvg', TOTAL]:.3g} in total accuracy by "
        f"strategic owners as printed, who give {printed['data used %']:.3g} % of their data, and {_loss(rest)} by "
        f"owners who have settled ({rest['data used %']:.2g} %)"
    )
    zeta = min(float(doshi_facts(np.full(10, 450.0), seed).costs.max()) for seed in set(found["rounds"]["seed"]))
    why = f"full from beta = {least:g} on, where the largest cost zeta is {zeta:.2g} or more; {_TAU}"
    below = ClaimPart("full contribution below zeta + tau", "reproduced" if least < zeta else "no evidence", why)
    poor = ClaimPart(_POOR, "no evidence", _AFTER)
    return joined(ours, (below, _poor(fresh[0]) if fresh else poor), f"{COSTS}; {with_costs(found)}")


def _poor(found: Tables) -> ClaimPart:
    """What FedAvg loses by strategic owners as printed, over fresh seeds."""
    course = gap_course([found], 10, pair=("FedAvg", "FedAvgStrategic as printed"))
    part = part_of(_POOR, course, length_of("cifar10").share(found))
    return replace(part, why=f"fresh seeds: it loses by strategic owners as printed {part.why}")


_POOR = "FedAvg poor in strategic settings"
_TAU = "tau, the most by which more data of one's own can hurt, was not measured"
_AFTER = (
    "that strategic owners as printed are meant is a criterion chosen after the run, in which those that have settled "
    "decide nothing: only fresh seeds can"
)


def _loss(row: pd.Series) -> str:
    return f"{-row['less FedAvg']:.3g} +- {row['gap +-']:.2g}"


def _all() -> None:
    _figure_1()
    claim = "Fig. 2: payments non-decreasing in contribution; contributors are paid, consumers pay (FEMNIST)"
    command, play = paper("payments_by_contribution"), Play.of("payments_by_contribution", data="mnist", seeds=2)
    published = "payments rise with contribution"
    trained("D16", claim, published, (play,), lambda found: rising(found, command), command, length=_QUICK)
    claim = "Fig. 2, FEMNIST, its own writers and 62 classes: payments rise with contribution, contributors are paid"
    writers = paper("payments_by_contribution", data="femnist")
    play = Play.of("payments_by_contribution", data="femnist", seeds=2)
    trained(
        "D24",
        claim,
        published,
        (play,),
        partial(rising, command=writers, data="FEMNIST, 10 writers"),
        writers,
        length=_QUICK,
    )
    claim = "Section 5: full contribution for beta below the theoretical threshold; FedAvg poor in strategic settings"
    full = paper("welfare_by_subsidy", data="cifar10")
    plays = (_play("subsidy", "mnist"),)
    trained(
        "D19",
        claim,
        "thresholds below zeta + tau",
        plays,
        lambda found: strategic(found, full),
        full,
        decisive=(_decisive("subsidy", "cifar10"),),
        planned=_PLANNED["D19"],
        decide=settled,
        length=length_of("cifar10"),
    )


_all()
