"""Murhekar et al. 2023: the rows that need training, M12 and M13."""

from __future__ import annotations

from functools import partial

from fedabm.papers.ledger.rows import Finding, Play, undecided
from fedabm.papers.ledger.training import Tables, paper, too_small, trained
from fedabm.papers.murhekar2023.rows import TABLE_1, impossible_rows
from fedabm.papers.presets import more_seeds

__all__ = ["decided", "ordered"]

_NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
_PAIRS = ("FedBR-BG >= FedBR", "FedBR >= MWFed", "FedBR >= FedAvg", "MWFed >= FedAvg")


def ordered(found: Tables, data: str, reason: str, command: str) -> Finding:
    """Table 1 of Murhekar 2023 in a quick run: the numbers, which decide nothing."""
    ours, _ = _compared(found, data)
    return too_small(ours, f"a small part of the set and a small network do not decide; {reason}", command)


def decided(found: Tables, data: str, reason: str) -> Finding:
    """The same at the decisive size: every neighbouring pair in order for every p, beyond the spread over seeds."""
    ours, verdicts = _compared(found, data)
    against = [pair for pair, words in verdicts.items() if "does not hold" in words]
    doubtful = [pair for pair, words in verdicts.items() if words != {"holds"} and pair not in against]
    if against:
        return Finding(
            ours, "not reproducible", f"beyond the spread over seeds against: {', '.join(against)}; {reason}"
        )
    if doubtful:
        why = f"not beyond the spread over seeds: {', '.join(doubtful)}; {reason}"
        return undecided(ours, why, "; ".join(f"{pair}: {_remedy(found, pair)}" for pair in doubtful))
    return Finding(ours, "reproduced", reason)


def _compared(found: Tables, data: str) -> tuple[str, dict[str, set[str]]]:
    """Means with their shares of data in words, and what holds for each pair at all powers."""
    details, order = found["details"].set_index("protocol"), found["order"]
    means, used = details["utility"], details["data used %"]
    shown = ", ".join(f"{name} {means[name]:.4g} ({used[name]:.0f} % of the data)" for name in TABLE_1["mnist"])
    many = found["rounds"]["seed"].nunique()
    ours = f"{_NAMES[data]}, 10 owners, p = 1, mean over {many} seeds and owners: {shown}"
    gaps = "; ".join(
        f"{pair.replace(' >= ', ' - ')} = {order[pair.replace(' >= ', ' - ')].iloc[-1]}" for pair in _PAIRS
    )
    return f"{ours}; paired: {gaps}", {pair: set(order[pair]) for pair in _PAIRS}


def _remedy(found: Tables, pair: str) -> str:
    """How many seeds would tell the difference of a pair for p = 1, as the table words it."""
    words = str(found["order"][pair.replace(" >= ", " - ")].iloc[-1])
    if " +- " not in words:
        return words
    gap, width = (float(part.split()[0].replace(",", "")) for part in words.split(" +- "))
    return more_seeds(gap, width, found["rounds"]["seed"].nunique())


def _table_1() -> None:
    for id, data in (("M12", "mnist"), ("M13", "cifar10")):
        printed = ", ".join(f"{name} {values[-1]:g}" for name, values in TABLE_1[data].items())
        command, many = paper("p_mean_table", data=data), 2 if data == "cifar10" else 3
        needs = "VGG-11 for 10 to 100 owners takes a GPU; "
        reason = impossible_rows(data) if data == "mnist" else needs + impossible_rows(data)
        trained(
            id,
            f"Table 1, {_NAMES[data]}: FedBR-BG > FedBR > MWFed > FedAvg in p-mean welfare",
            f"p = 1: {printed}",
            (Play.of("p_mean_table", data=data, seeds=many),),
            partial(ordered, data=data, reason=reason, command=command),
            command,
            decisive=(Play.of("p_mean_table", preset="decisive", data=data),),
            decide=partial(decided, data=data, reason=reason),
        )


_table_1()
