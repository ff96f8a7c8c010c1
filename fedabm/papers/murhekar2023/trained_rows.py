"""Murhekar et al. 2023: the rows that need training, M12 and M13."""

from __future__ import annotations

from fedabm.papers.ledger.rows import Finding, Play
from fedabm.papers.ledger.training import Tables, judged, paper, trained, undecided
from fedabm.papers.murhekar2023.rows import TABLE_1, impossible_rows

__all__ = ["ordered"]

_NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}


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


_table_1()
