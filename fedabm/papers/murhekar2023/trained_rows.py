"""Murhekar et al. 2023: the rows that need training, M12 and M13."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from fedabm.papers.ledger.rows import Finding, Play
from fedabm.papers.ledger.standard import ClaimPart, Length, joined
from fedabm.papers.ledger.training import Tables, paper, too_small, trained
from fedabm.papers.murhekar2023.theory import TABLE_1, impossible_rows
from fedabm.papers.presets import more_seeds, spread

__all__ = ["decided", "ordered"]

_NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
_NEIGHBOURS = (("FedBR-BG", "FedBR"), ("FedBR", "MWFed"), ("MWFed", "FedAvg"))
_PAIRS = ("FedBR-BG >= FedBR", "FedBR >= MWFed", "FedBR >= FedAvg", "MWFed >= FedAvg")


def ordered(found: Tables, data: str, reason: str, command: str) -> Finding:
    """Table 1 of Murhekar 2023 in a quick run: the numbers, which decide nothing."""
    ours, _ = _compared(found, data)
    return too_small(ours, f"a small part of the set and a small network do not decide; {reason}", command)


def decided(*found: Tables, data: str, reason: str, first: int = 0) -> Finding:
    """The same at the decisive size: every neighbouring pair at p = 1 by its paired interval, over seeds from `first`.

    Seeds of one record share a public curve, so that records must agree in the sign of a difference that decides.
    """
    studies = [one for one in found if one["rounds"]["seed"].min() >= first] or list(found)
    earlier = [one for one in found if not any(one is other for other in studies)]
    gains = [_gains(one) for one in studies]
    parts = [replace(_pair(pair, [one[pair] for one in gains]), printed=_printed(pair, data)) for pair in _NEIGHBOURS]
    if len(studies) == 1:
        return joined(_compared(studies[0], data)[0], parts, reason, every=True)
    means = ", ".join(f"{name} {value:.4g}" for name, value in pd.concat(map(_utilities, studies)).mean().items())
    seeds, records = sum(map(len, gains)), len(studies)
    ours = f"{_NAMES[data]}, mean of {seeds} seeds from {first} on, {records} public curves: {means}"
    ours = "; earlier: ".join((ours, *(_compared(one, data)[0] for one in earlier)))
    return joined(ours, parts, reason, every=True)


def _printed(pair: tuple[str, str], data: str) -> float:
    """The difference in Table 1 at p = 1, as a mean: what is printed are sums over ten owners.

    >>> round(_printed(("FedBR-BG", "FedBR"), "mnist"), 4)
    0.0119
    """
    better, worse = (TABLE_1[data][name][-1] for name in pair)
    return (better - worse) / 10


def _utilities(found: Tables) -> pd.DataFrame:
    """Mean utilities at p = 1, by seed and protocol."""
    return found["seeds"].query("p == 1").pivot(index="seed", columns="protocol", values="normalised")


def _gains(found: Tables) -> pd.DataFrame:
    """Differences of neighbours by seed."""
    means = _utilities(found)
    return pd.DataFrame({(better, worse): means[better] - means[worse] for better, worse in _NEIGHBOURS})


def _pair(pair: tuple[str, str], gains: list[pd.Series]) -> ClaimPart:
    """One pair over all seeds, or over means of records where these disagree in the sign.

    What decides must have the same sign in every record: seeds of one share a curve, so that records are clusters.
    """
    name, means = " > ".join(pair), np.array([one.mean() for one in gains])
    every = np.concatenate(gains)
    gap, width = spread(every)
    why = f"{gap:+.3g} +- {width:.2g} over {len(every)} seeds"
    if len(gains) > 1:
        why += f"; by record {', '.join(_by_record(one) for one in gains)}"
    if len(set(means > 0)) > 1:
        gap, width = spread(means)
        why += f"; records disagree in the sign, so that each counts once: {gap:+.3g} +- {width:.2g}"
        many = "two tell no number" if len(means) < 3 else more_seeds(gap, width, len(means), unit="records")
        return ClaimPart(name, "undecided", why, f"more public curves, a record each: {many}", (gap, width))
    if not abs(gap) > width:
        unit = "records" if len(every) == len(gains) > 1 else "seeds"
        return ClaimPart(name, "undecided", why, more_seeds(gap, width, len(every), unit=unit), (gap, width))
    return ClaimPart(name, "reproduced" if gap > 0 else "not reproducible", why, interval=(gap, width))


def _by_record(gains: pd.Series) -> str:
    """A record's mean, with its interval if it has more seeds than one."""
    mean, width = spread(gains.to_numpy())
    return f"{mean:+.3g}" if len(gains) < 2 else f"{mean:+.3g} +- {width:.2g}"


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


#: those of CIFAR-10 were planned before they were looked at and have a public curve each
_DECISIVE = {
    "mnist": (Play.of("p_mean_table", preset="decisive", data="mnist"),),
    "cifar10": tuple(
        Play.of("p_mean_table", seed=seed, preset="decisive", data="cifar10", interval=50, seeds=1) for seed in range(3)
    ),
}
#: planned before they were looked at, see `analysis/recorded/PLAN.md`
_PLANNED = {
    "mnist": tuple(Play.of("p_mean_table", preset="decisive", data="mnist", seeds=14, seed=first) for first in (6, 20))
}
#: the first seed that counts: those before it chose how many were to be run
_FRESH = {"mnist": 6, "cifar10": 0}


def _table_1() -> None:
    for id, data in (("M12", "mnist"), ("M13", "cifar10")):
        printed = ", ".join(f"{name} {values[-1]:g}" for name, values in TABLE_1[data].items())
        command, many = paper("p_mean_table", data=data), 2 if data == "cifar10" else 3
        reason = impossible_rows(data)
        trained(
            id,
            f"Table 1, {_NAMES[data]}: FedBR-BG > FedBR > MWFed > FedAvg in p-mean welfare",
            f"p = 1: {printed}",
            (Play.of("p_mean_table", data=data, seeds=many),),
            partial(ordered, data=data, reason=reason, command=command),
            command,
            decisive=_DECISIVE[data],
            planned=_PLANNED.get(data, ()),
            decide=partial(decided, data=data, reason=reason, first=_FRESH[data]),
            length=Length(50, (10, 10 if data == "mnist" else 100), fresh=True),
        )


_table_1()
