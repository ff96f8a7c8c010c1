"""Murhekar et al. 2023: the rows that need training, M12 and M13."""

from __future__ import annotations

from functools import partial

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


def decided(found: Tables, *fresh: Tables, data: str, reason: str) -> Finding:
    """The same at the decisive size: every neighbouring pair at p = 1 by its paired interval, of fresh seeds if any.

    Seeds of one record share a public curve, so that records must agree in the sign of a difference that decides.
    """
    studies = fresh or (found,)
    gains = [_gains(one) for one in studies]
    parts = [_pair(pair, [one[pair] for one in gains]) for pair in _NEIGHBOURS]
    ours, _ = _compared(found, data)
    if fresh:
        means = ", ".join(f"{name} {value:.4g}" for name, value in pd.concat(map(_utilities, fresh)).mean().items())
        ours = f"{_NAMES[data]}, fresh seeds, mean of {sum(map(len, gains))}: {means}; earlier: {ours}"
    return joined(ours, parts, reason, every=True)


def _utilities(found: Tables) -> pd.DataFrame:
    """Mean utilities at p = 1, by seed and protocol."""
    return found["seeds"].query("p == 1").pivot(index="seed", columns="protocol", values="normalised")


def _gains(found: Tables) -> pd.DataFrame:
    """Differences of neighbours by seed."""
    means = _utilities(found)
    return pd.DataFrame({(better, worse): means[better] - means[worse] for better, worse in _NEIGHBOURS})


def _pair(pair: tuple[str, str], gains: list[pd.Series]) -> ClaimPart:
    """One pair over all seeds; what decides must have the same sign in every record."""
    name = " > ".join(pair)
    every = pd.concat(gains)
    gap, width = spread(every.to_numpy())
    each = ", ".join(f"{one.mean():+.3g} +- {spread(one.to_numpy())[1]:.2g}" for one in gains)
    why = f"{gap:+.3g} +- {width:.2g} over {len(every)} seeds" + (f"; by record {each}" if len(gains) > 1 else "")
    if not abs(gap) > width:
        return ClaimPart(name, "undecided", why, more_seeds(gap, width, len(every)), (gap, width))
    if len({one.mean() > 0 for one in gains}) > 1:
        curves = "records with more public curves: these two, one each, disagree in the sign"
        return ClaimPart(name, "undecided", why, curves, (gap, width))
    return ClaimPart(name, "reproduced" if gap > 0 else "not reproducible", why, interval=(gap, width))


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


_DECISIVE = {
    "mnist": (Play.of("p_mean_table", preset="decisive", data="mnist"),),
    "cifar10": (Play.of("p_mean_table", preset="decisive", data="cifar10", interval=50, seeds=3),),
}
#: planned before they were looked at, see `analysis/recorded/PLAN.md`
_PLANNED = {
    "mnist": tuple(Play.of("p_mean_table", preset="decisive", data="mnist", seeds=14, seed=first) for first in (6, 20))
}


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
            decide=partial(decided, data=data, reason=reason),
            length=Length(50, (10, 10 if data == "mnist" else 100)),
        )


_table_1()
