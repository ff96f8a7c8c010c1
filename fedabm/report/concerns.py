"""What a reader should know before trusting the numbers: failures, unrest, unbalanced money, losses, lost updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

import fedabm
from fedabm.analysis.rows import last_step
from fedabm.common.texts import readable
from fedabm.report.folder import ResultFolder

__all__ = ["Concern", "concerns"]

#: gaps, losses and budgets below this share of what is at stake are rounding
#: what runs are called in which nobody moves any more
_RESTED = ("converged", "at rest", "ended")
_SMALL = 1e-6


@dataclass(frozen=True)
class Concern:
    """One warning: how grave, in one sentence, with the runs or errors it is about."""

    level: Literal["problem", "warning", "note"]
    text: str
    details: tuple[str, ...] = field(default=())


def concerns(source: ResultFolder) -> list[Concern]:
    """All warnings, the gravest first; none means that everything is as it should be."""
    found = [one for check in _ALWAYS for one in check(source)]
    if source.federated:
        found += [one for check in _FEDERATED for one in check(source)]
    return sorted(found, key=lambda one: ("problem", "warning", "note").index(one.level))


def _failed(source: ResultFolder) -> Iterator[Concern]:
    lost = source.failed
    if len(lost):
        reasons = lost["error"].fillna("no reason recorded") if "error" in lost else pd.Series("unknown", lost.index)
        counts = reasons.astype(str).str.split("\n").str[0].value_counts()
        lines = tuple(f"{count} x {reason}" for reason, count in counts.items())
        yield Concern(
            "problem",
            f"{len(lost)} of {_many(len(source.frames.runs), 'run')} failed; what failed is left out below.",
            lines,
        )


def _unfinished(source: ResultFolder) -> Iterator[Concern]:
    if source.manifest.get("complete") is False:
        yield Concern("problem", "The study was interrupted; only what was recorded until then is shown.")
    if source.kind == "sweep":
        wanted = int(source.manifest.get("jobs", 0))
        have = int(source.frames.runs["job"].nunique()) if "job" in source.frames.runs else wanted
        if have < wanted:
            yield Concern(
                "problem", f"{wanted - have} of {_many(wanted, 'job')} not done yet; run the sweep again to go on."
            )


def _versions(source: ResultFolder) -> Iterator[Concern]:
    runs = source.frames.runs
    written = sorted({str(one) for one in runs["fedabm"].dropna()}) if "fedabm" in runs else []
    others = [one for one in written if one != fedabm.__version__]
    if others:
        text = (
            f"Written by fedabm {', '.join(others)}, drawn by {fedabm.__version__}: columns may have changed meaning."
        )
        yield Concern("note", text)


def _unread(source: ResultFolder) -> Iterator[Concern]:
    if source.unread:
        yield Concern("note", "Some tables beside the frames cannot be read and are left out.", source.unread)


def _restless(source: ResultFolder) -> Iterator[Concern]:
    runs = source.done[~source.done["status"].isin(_RESTED)]
    if len(runs):
        text = (
            f"{len(runs)} of {_many(len(source.done), 'run')} did not come to rest: actions, reports or models still "
            "changed when the steps were used up."
        )
        yield Concern("warning", text, _names(runs, "gap"))


def _gaps(source: ResultFolder) -> Iterator[Concern]:
    """At rest and yet no equilibrium: somebody does not maximise, or nothing is proven."""
    rested = source.done[source.done["status"].isin(_RESTED)]
    gap = rested["gap"].astype(float)
    regretful, unproven = rested[(gap > 1e-6) & np.isfinite(gap)], rested[np.isinf(gap)]
    if len(regretful):
        text = f"{_many(len(regretful), 'run')} came to rest away from equilibrium: an owner could gain by changing."
        yield Concern("note", text, _names(regretful, "gap"))
    if len(unproven):
        yield Concern(
            "note", f"{_many(len(unproven), 'run')} without a certified gap: nothing is proven about equilibrium."
        )


def _budget(source: ResultFolder) -> Iterator[Concern]:
    ends = source.ends.merge(source.done[["run", "label"]], on="run")
    moved = source.frames.steps.groupby("run")["transferred"].sum().reindex(ends["run"]).to_numpy()
    loose = ends[ends["server_balance"].abs().to_numpy() > _SMALL * np.maximum(moved, _SMALL)]
    if len(loose):
        text = (
            f"The budget is not balanced in {len(loose)} of {_many(len(ends), 'run')}: the server pays or keeps money."
        )
        yield Concern("warning", text, _names(loose, "server_balance"))


def _losses(source: ResultFolder) -> Iterator[Concern]:
    final = last_step(source.frames.owners)
    losers = final[final["utility"].astype(float) < -_SMALL]
    if len(losers):
        worst = losers.loc[losers["utility"].astype(float).idxmin()]
        text = (
            f"{len(losers)} of {_many(len(final), 'owner')} with negative utility at the end: better to stay away. "
            f"The worst has {readable(worst['utility'])} ({_whose(source, worst)})."
        )
        counts = losers["strategy"].astype(str).value_counts()
        yield Concern("warning", text, tuple(f"{count} x {name}" for name, count in counts.items()))


def _whose(source: ResultFolder, owner: pd.Series) -> str:
    """An owner by its name and its run's, or by numbers where there are no names."""
    labels = source.done.set_index("run")["label"]
    label = str(labels.get(owner["run"], "") or f"run {owner['run']}")
    name = owner.get("name")
    who = str(name) if isinstance(name, str) and name else f"owner {owner['owner']}"
    return f"{label}: {who}, {owner['strategy']}"


def _dropped(source: ResultFolder) -> Iterator[Concern]:
    steps = source.frames.steps
    if "rejected" in steps and steps["rejected"].sum() > 0:
        some = steps[steps["rejected"] > 0]
        text = f"{_many(int(steps['rejected'].sum()), 'report')} or model updates unusable and dropped"
        yield Concern("warning", f"{text}, in {_many(len(some), 'step')} of {_many(some['run'].nunique(), 'run')}.")


def _leavers(source: ResultFolder) -> Iterator[Concern]:
    ends = source.ends.merge(source.done[["run", "label", "owners"]], on="run")
    gone = ends.assign(left=ends["owners"] - ends["present"])
    gone = gone[gone["left"] > 0]
    if len(gone):
        yield Concern("note", f"{_many(int(gone['left'].sum()), 'owner')} left the federation.", _names(gone, "left"))


def _broken(source: ResultFolder) -> Iterator[Concern]:
    values = last_step(source.frames.owners)[["accuracy", "cost", "payment", "utility"]].astype(float)
    count = int((~np.isfinite(values)).any(axis=1).sum())
    if count:
        yield Concern(
            "problem", f"{_many(count, 'owner')} with numbers that are not finite at the end; figures leave them out."
        )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _number(value: float) -> str:
    return "not certified" if np.isinf(value) else readable(value)


def _names(runs: pd.DataFrame, column: str, most: int = 8) -> tuple[str, ...]:
    """Which runs, with a number each; at most this many."""
    words = column.replace("_", " ")
    rows = zip(runs["run"], runs["label"], runs[column], strict=True)
    lines = [f"run {run}, {label}: {words} {_number(value)}" for run, label, value in rows]
    return (*lines[:most], f"and {len(lines) - most} more") if len(lines) > most else tuple(lines)


_ALWAYS: tuple[Callable[[ResultFolder], Iterator[Concern]], ...] = (_failed, _unfinished, _versions, _unread)
_FEDERATED: tuple[Callable[[ResultFolder], Iterator[Concern]], ...] = (
    *(_broken, _restless, _budget, _losses, _dropped),
    *(_gaps, _leavers),
)
