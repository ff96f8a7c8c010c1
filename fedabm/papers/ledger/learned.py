"""Rows that need training: Doshi 2025 (D07 to D16, D19), Murhekar 2023 (M12, M13) and 2025 (R19, R21, R23).

The quick runs take a small part of MNIST, CIFAR-10 or the digits of FEMNIST, 2 to 20 owners and small networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.papers.ledger.murhekar2023 import TABLE_1, impossible_rows
from fedabm.papers.ledger.rows import Finding, Play
from fedabm.papers.ledger.training import Tables, judged, paper, seeds, trained, undecided
from fedabm.papers.ledger.trials import numbers

__all__ = ["fitted", "ordered", "reciprocal", "rising", "stages", "strategic", "welfare"]

_RULES = ["M^0", "M^BG", "M^Shap"]
_NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10", "femnist_digits": "FEMNIST digits"}
#: the sets of Figure 1, by name; and what the quick runs take for each
_OWN = {"CIFAR-10": "cifar10", "FEMNIST": "femnist", "Twitter": "sent140"}
_PLAYED = {"CIFAR-10": "cifar10", "FEMNIST": "femnist_digits", "Twitter": "mnist"}


def _play(what: str, data: str) -> Play:
    """The quick run of one panel of Figure 1; MNIST stands for more than one set, so that it has more of everything."""
    few = data != "mnist"
    extra: dict[str, Any] = {"subsidies": (0.0, 0.5, 1.0, 1.5, 2.0)} if what == "subsidy" else {}
    extra |= {"owners": (5, 10)} if few and what == "owners" else {}
    return Play.of(f"welfare_by_{what}", data=data, **extra, seeds=1 if few else 2)


def welfare(found: Tables, against: str, data: str, why: str, command: str) -> Finding:
    """Figure 1: the four protocols at the end, and whether two phases equal honest owners and beat one phase."""
    table = found["summary"]
    if against == "owners":
        table = table[table["owners"] == table["owners"].max()]
    count = int(table["owners"].iloc[0]) if against == "owners" else 10
    ends = table.groupby("protocol", sort=False).last()["welfare"]
    equal = "equals" if abs(ends["2P-UPBReD"] - ends["FedAvg"]) <= 1e-9 else "does not equal"
    beats = "beats" if ends["2P-UPBReD"] > ends["UPBReD"] else "does not beat"
    shown = ", ".join(f"{name} {value:.4g}" for name, value in ends.items())
    ours = (
        f"{_NAMES[data]}, {count} owners, {seeds(table)}, beta = 2: welfare {shown}: "
        f"2P-UPBReD {equal} FedAvg and {beats} UPBReD"
    )
    return undecided(ours, why, command)


def _figure_1() -> None:
    against = {"owners": "number of owners", "subsidy": "beta", "time": "time"}
    for first, name in zip((7, 10, 13), _OWN, strict=True):
        for place, (what, words) in enumerate(against.items()):
            _panel(f"D{first + place:02d}", name, what, words)


def _panel(id: str, name: str, what: str, words: str) -> None:
    """One panel of Figure 1: on the set it is about as far as that is possible in a quick run."""
    played, command = _PLAYED[name], paper(f"welfare_by_{what}", data=_OWN[name])
    why = f"run on {_NAMES[played]}, not on {name}"
    if played == _OWN[name]:
        why = "a small part of the set and a small network do not decide"
    trained(
        id,
        f"Fig. 1, {name}: welfare against {words}",
        "2P-UPBReD equals FedAvg and beats UPBReD",
        (_play(what, played),),
        lambda found: welfare(found, what, played, why, command),
        command,
    )


def rising(found: Tables, command: str) -> Finding:
    """Figure 2: payments rise with contributions, and sum to zero, so that consumers pay contributors."""
    case = found["summary"].set_index("case").loc["without budgets"]
    rank, unbalanced, payers = (
        float(case[name])
        for name in (
            "rank correlation with contribution",
            "largest |sum of payments| in a step",
            "owners that pay %",
        )
    )
    ours = (
        f"MNIST, 10 owners of unequal size, {int(case['seeds'])} seeds: rank correlation of payment and contribution "
        f"{rank:.4g}, {payers:.0f} % of owners pay, sums of payments up to {unbalanced:.0e}"
    )
    note = f"a property of eq. (7) on any data; not individually rational (worst utility {case['worst utility']:.4g})"
    claim = rank >= 1 - 1e-9 and unbalanced <= 1e-9 and 0 < payers < 100
    return judged(ours, bool(claim), note, command)


def strategic(found: Tables, command: str) -> Finding:
    """Section 5: from which subsidy on everybody gives everything, and what strategic owners make of FedAvg."""
    table = found["summary"]
    full = table[(table["protocol"] == "2P-UPBReD") & table["all contribute all"].astype(bool)]
    least = f"{full['subsidy'].min():g}" if len(full) else "none"
    ends = table.set_index("protocol")["welfare"]
    ours = (
        f"MNIST, 10 owners, costs up to 1, {int(table['seeds'].max())} seeds: everything is given from beta = {least} "
        f"on (of 0, 0.5, 1, 1.5, 2); welfare FedAvg {ends['FedAvg']:.4g}, strategic {ends['FedAvgStrategic']:.4g}"
    )
    why = (
        "FedAvg is poor if owners are strategic; while weights stand still in phase 1 the largest cost is the limit, "
        "which lies below zeta + tau if tau > 0, but tau of a trained network is not known"
    )
    return undecided(ours, why, command)


def ordered(found: Tables, data: str, reason: str, command: str, decides: bool = True) -> Finding:
    """Table 1 of Murhekar 2023: every neighbouring pair in order for every p, beyond the spread over seeds."""
    details, order = found["details"].set_index("protocol"), found["order"]
    means, used = details["utility"], details["data used %"]
    doubtful = [pair for pair in _PAIRS if not (order[pair] == "holds").all()]
    if not means["MWFed"] > means["FedAvg"]:
        doubtful.append("MWFed >= FedAvg")
    shown = ", ".join(f"{name} {means[name]:.4g}" for name in TABLE_1["mnist"])
    ours = (
        f"{_NAMES[data]}, 10 owners, p = 1, mean over seeds and owners: {shown}; owners give {used['FedBR']:.0f} % of "
        f"their data under FedBR, {used['FedBR-BG']:.0f} % under FedBR-BG"
    )
    if not decides:
        return undecided(ours, f"a small part of the set and a small network do not decide; {reason}", command)
    if doubtful:
        why = f"not beyond the spread over seeds: {', '.join(doubtful)} (MWFed is not specified in the paper); {reason}"
        return undecided(ours, why, command)
    return judged(ours, True, reason, command)


_PAIRS = ("FedBR-BG >= FedBR", "FedBR >= MWFed", "FedBR >= FedAvg")


def _table_1() -> None:
    for id, data in (("M12", "mnist"), ("M13", "cifar10")):
        printed = ", ".join(f"{name} {values[-1]:g}" for name, values in TABLE_1[data].items())
        command, many = paper("p_mean_table", data=data), 2 if data == "cifar10" else 3
        trained(
            id,
            f"Table 1, {_NAMES[data]}: FedBR-BG > FedBR > MWFed > FedAvg in p-mean welfare",
            f"p = 1: {printed}",
            (Play.of("p_mean_table", data=data, seeds=many),),
            lambda found, data=data, command=command: ordered(
                found, data, impossible_rows(data), command, decides=data == "mnist"
            ),
            command,
        )


def reciprocal(found: Tables, command: str) -> Finding:
    """Table 1 of Murhekar 2025, quadratic: M^Shap takes most data, beats M^0, and it alone has reciprocity 1."""
    spread = found["spread"].pivot(index="mechanism", columns="measure", values="average").loc[_RULES]
    share, exact, ratio = (spread[name].to_numpy() for name in ("share %", "accuracy %", "reciprocity"))
    fair = found["summary"].set_index("mechanism")["1 within error"].astype(bool)
    ours = (
        f"quadratic, 2 owners, {seeds(found['summary'])}: share {numbers(share, 1)} %, "
        f"accuracy {numbers(exact, 1)} %, data gain {numbers(spread['data gain'], 2)}, reciprocity {numbers(ratio, 2)}"
    )
    most = share[2] > share[1] > share[0] and exact[2] > exact[0]
    claim = bool(most and fair["M^Shap"] and np.all(ratio[:2] < 1) and not fair[["M^0", "M^BG"]].any())
    said = "order of shares, accuracy above M^0's, only M^Shap has reciprocity 1 up to sampling"
    why = f"{'as' if claim else 'NOT as'} printed: {said}"
    return undecided(ours, f"the printed shares and gains belong to costs that are not given; {why}", command)


def fitted(found: Tables, command: str) -> Finding:
    """Appendix E: how well the group-weighted accuracy fits what was trained."""
    quality = found["summary"]["R^2"].iloc[0]
    ours = f"MNIST turned by 10, 90, 180 degrees, 6 owners, 2 seeds: the fit has R^2 = {quality:.3f}"
    return undecided(ours, "the printed weights belong to the paper's networks and sizes", command)


def stages(found: Tables, command: str) -> Finding:
    """Appendix F: payments of every stage sum to zero; whether an equilibrium is near is not certified."""
    table = found["summary"]
    first, last = table.iloc[0], table.iloc[-1]
    ours = (
        f"MNIST, 6 owners, 1 seed, {len(table)} stages: sums of payments up to {table['|sum of payments|'].max():.0e}; "
        f"an owner gives {first['samples of an owner']:.0f} samples in the first stage, "
        f"{last['samples of an owner']:.0f} in the last; accuracy {first['accuracy']:.2f}, then {last['accuracy']:.2f}"
    )
    return undecided(
        ours, "payments balance in each stage; nothing certifies that contributions are near equilibrium", command
    )


def _reciprocity() -> None:
    name = "reciprocity_table_trained"
    command = paper(name, data="quadratic")
    published = "share (3.3, 4, 99.6) %, data gain (1, 1.25, 31.18)"
    play = Play.of(name, data="quadratic")
    trained("R19", "Table 1: quadratic", published, (play,), lambda found: reciprocal(found, command), command)
    mnist = paper(name, data="mnist")
    claim, play = "Appendix E: fitted weights from training on rotated groups", Play.of(name, data="mnist")
    trained("R21", claim, "matrices of Appendix E", (play,), lambda found: fitted(found, mnist), mnist)
    claim = "Section 5.2, Appendix F: FedBR-Shap finds approximate equilibria while training and pays per stage"
    staged, play = paper("stage_payments", data="mnist"), Play.of("stage_payments", data="mnist", seeds=1)
    trained("R23", claim, "budget feasible payments per stage", (play,), lambda found: stages(found, staged), staged)


def _all() -> None:
    _figure_1()
    claim = "Fig. 2: payments non-decreasing in contribution; contributors are paid, consumers pay (FEMNIST)"
    command, play = paper("payments_by_contribution"), Play.of("payments_by_contribution", data="mnist", seeds=2)
    published = "payments rise with contribution"
    trained("D16", claim, published, (play,), lambda found: rising(found, command), command)
    claim = "Section 5: full contribution for beta below the theoretical threshold; FedAvg poor in strategic settings"
    full = paper("welfare_by_subsidy", data="cifar10")
    plays = (_play("subsidy", "mnist"),)
    trained("D19", claim, "thresholds below zeta + tau", plays, lambda found: strategic(found, full), full)
    _table_1()
    _reciprocity()


_all()
