"""How many owners can be simulated and trained, and what would a hundred million of them take?

Processor time per owner and step of every mechanism, from a hundred owners to a million or as far as the mechanism
goes; and per model of local training, from ten owners to ten thousand, beside the limit: as many samples through one
model in large batches.  The last table is computed, not measured: a step of 10^8 owners on the cores of a cluster if
every core does its part at the measured price, and what the cores then have to tell each other.

How one federation that trains is spread over workers of a cluster was measured before, by `python -m
tests.benchmarks.cluster`, and is only read here: seconds of a round, what goes over the wire, and from how many owners
on a second worker pays.

Times differ from machine to machine and from run to run; nothing else in this study does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from importlib import resources
from typing import Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from fedabm import FedabmError, Federation, Scenario, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import check_whole
from fedabm.data import FederatedData
from fedabm.figures import Look, mechanism_looks, strategy_looks
from fedabm.learning import Engine
from fedabm.mechanisms import (
    BanzhafShare,
    Clarke,
    ContributionSubsidy,
    CostSharing,
    Deposit,
    LeaveOneOut,
    Mechanism,
    MultiplicativeWeights,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    ShapleyShare,
    TullockContest,
    Verification,
)
from fedabm.strategies import GradientResponse
from fedabm.study import Study, generator
from fedabm.sweep import memory_limit

#: samples of an owner
_SAMPLES = 50
#: of a batch
_BATCH = 10
#: of a network 20-32-2
_INPUTS = 20
#: from this many owners on prices tell something about many more
_ENOUGH = 10_000
#: processor seconds that a coarse clock tells from none
_SEEN = 0.02
#: bytes a second of a slow network
_GIGABIT = 125e6
#: of tables that are only read
_BEFORE = "Measured before on two cores"
#: memory beyond which a size counts as out of reach
_MEMORY = 2 * 2**30


@dataclass(frozen=True)
class Size:
    """How far to go: the largest federation, the largest training, and the seconds that one step may take."""

    owners: int
    models: int
    patience: float


_SIZES = {"quick": Size(10_000, 1000, 0.3), "full": Size(1_000_000, 10_000, 60.0)}


#: what is no owner's and no mechanism's is black
_LIMIT = Look("#000000", "", (4, 1.5), "")


class Rule(NamedTuple):
    """A mechanism, and what the parts of a cluster would have to tell each other in a step."""

    mechanism: Mechanism
    exchange: str


_SUMS = "a few sums"
_RANKS = "the two largest of each part"
_NODES = "a sum per quadrature node"
_RULES = {
    "no payments": Rule(NoPayments(), _SUMS),
    "contribution subsidy": Rule(ContributionSubsidy(0.001), _SUMS),
    "cost sharing": Rule(CostSharing(0.3), _SUMS),
    "deposit": Rule(Deposit(), _SUMS),
    "verification": Rule(Verification(), _SUMS),
    "multiplicative weights": Rule(MultiplicativeWeights(0.9, 100.0), _SUMS),
    "leave one out": Rule(LeaveOneOut(), _SUMS),
    "proportional data": Rule(ProportionalData(0.5), _RANKS),
    "proportional value": Rule(ProportionalValue(0.5), _RANKS),
    "Tullock contest": Rule(TullockContest(0.1), _SUMS),
    "Shapley share": Rule(ShapleyShare(), _NODES),
    "partial reciprocity": Rule(PartialReciprocity(0.5), _NODES),
    "proportional Shapley": Rule(ProportionalShapley(0.5), _NODES),
    "Banzhaf share": Rule(BanzhafShare(), _NODES),
    "Clarke": Rule(Clarke(), _SUMS),
}


def run(
    study: Study,
    preset: Literal["quick", "full"] = "quick",
    owners: int = 100_000_000,
    cores: int = 1000,
    largest: int | None = None,
) -> None:
    """Measure, draw, and extrapolate.

    preset   quick: up to 10,000 owners and 1,000 models, in half a minute; full: a million and 10,000, in some minutes
    owners   of how many owners the last table is
    cores    on how many cores
    largest  no federation is larger than this (none: as large as the preset has it)

    Takes half a minute.
    """
    if largest is not None:
        check_whole("largest", largest, 100)
    check_whole("owners", owners)
    check_whole("cores", cores)
    size = _SIZES[preset]
    if largest is not None:
        size = replace(size, owners=min(size.owners, largest), models=min(size.models, largest))
    steps, ends = _steps(study, size)
    models = _models(study, size)
    study.table(_wide(steps, "mechanism"), "Microseconds of processor time per owner and step, by number of owners")
    study.table(ends, "Where a mechanism stops, and why", "ends")
    study.table(_wide(models, "training"), "Microseconds per sample of local training, by number of owners", "training")
    title = f"On paper: a step of {owners:,} owners on {cores:,} cores"
    study.table(_extrapolated(steps, owners, cores), title, "extrapolated")
    _show_spread(study)
    study.picture(_figure(steps, models), "scale_study")


def _steps(study: Study, size: Size) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Time per owner and step of every mechanism, and where each stops."""
    rows, ends = [], []
    for name, rule in study.track(list(_RULES.items()), "mechanisms"):
        before, end = np.inf, "the largest size asked for"
        owners = 100
        while owners <= size.owners:
            try:
                seconds = _step(rule.mechanism, owners, study.seed)
            except MemoryError:
                end = f"{owners:,} owners take more than {_MEMORY / 2**30:g} GiB"
                break
            except FedabmError as error:
                end = str(error).partition(";")[0]
                break
            rows.append((name, owners, 1e6 * seconds / owners))
            next_one = seconds * max(10.0, seconds / before)
            if owners < size.owners and next_one > size.patience:
                end = f"{10 * owners:,} owners would take about {next_one:.1g} s a step"
                break
            before, owners = seconds, 10 * owners
        ends.append((name, rows[-1][1] if rows and rows[-1][0] == name else 0, end))
    columns = ["mechanism", "owners", "microseconds"]
    return pd.DataFrame(rows, columns=columns), pd.DataFrame(ends, columns=["mechanism", "reached", "why no further"])


def _step(rule: Mechanism, owners: int, seed: int) -> float:
    """Processor seconds of one step after a first one, over as many as the clock needs to see them."""
    rates = generator(seed, "population").uniform(0.5, 1.5, owners) / owners
    people = population(rates, 10.0, GradientResponse(0.1), starts=5.0)
    model = Federation(Scenario(people, PowerLaw(), rule, record=None), seed)
    with memory_limit(_MEMORY):
        model.step()
        steps, began = 0, time.process_time()
        while (spent := time.process_time() - began) < _SEEN:
            model.step()
            steps += 1
    return spent / steps


def _models(study: Study, size: Size) -> pd.DataFrame:
    """Time per sample of local training, of all owners as one batch and of one model on all their samples."""
    rows = []
    counts = [10**k for k in range(1, 5) if 10**k <= size.models]
    for owners in study.track(counts, "trainings"):
        for name, split, batch in (("owners", owners, _BATCH), ("limit: one model", 1, 1000)):
            engine = Engine("tiny_mlp", _data(split, owners * _SAMPLES // split, study.seed), workers=0)
            start, given = engine.initial(study.seed), engine.data.capacities
            seconds = []
            for number in range(2):
                began = time.process_time()
                engine.train(start, given, epochs=1, batch=batch, seed=study.seed, round=number)
                seconds.append(time.process_time() - began)
            rows.append((name, owners, 1e6 * min(seconds) / (owners * _SAMPLES)))
    return pd.DataFrame(rows, columns=["training", "owners", "microseconds"])


def _show_spread(study: Study) -> None:
    """Tables of what was measured before, on one machine of two cores."""
    seconds, wire = (_measured(name) for name in ("seconds", "wire"))
    by_place = seconds.pivot_table(index=["network", "owners"], columns="where", values="seconds", sort=False)
    study.table(
        by_place.reset_index().rename_axis(columns=None), f"{_BEFORE}: seconds of a round, 50 samples each", "workers"
    )
    traffic = wire.pivot_table(index=["network", "exchange"], columns="owners", values="models", sort=False)
    traffic = traffic.rename(columns="{:,}".format).reset_index().rename_axis(columns=None)
    study.table(
        traffic, f"{_BEFORE}: models over the wire of each of two workers in a round, by number of owners", "wire"
    )
    title = f"{_BEFORE}: what a second worker saves in a round, and what the wire would take on a slow network"
    study.table(_worth(by_place, wire), title, "worth")


def _measured(name: str) -> pd.DataFrame:
    """A table that the benchmark of clusters has written."""
    with resources.as_file(resources.files("fedabm.analysis") / "measured" / f"cluster_{name}.csv") as path:
        return pd.read_csv(path)


def _worth(by_place: pd.DataFrame, wire: pd.DataFrame) -> pd.DataFrame:
    """Seconds that two workers save against one process with one thread, beside those of a wire of 1 Gbit/s."""
    sums = wire[wire["exchange"] == "sum, equal data"].set_index(["network", "owners"])
    two = by_place.reindex(sums.index)
    bytes_each = 4.0 * sums["weights"] * sums["models"]
    saved = two["no cluster, 1 thread"] - two["2 workers"]
    estimated = bytes_each / _GIGABIT
    columns = {"MB over a wire": bytes_each / 1e6, "seconds saved": saved, "estimated seconds of the wire": estimated}
    pays = np.where(saved <= 0.0, "no", np.where(saved > estimated, "yes", "on one machine"))
    return pd.DataFrame(columns).assign(**{"a second worker pays": pays}).reset_index()


def _data(owners: int, samples: int, seed: int) -> FederatedData:
    """Random samples of two classes, this many for each owner, and one to test."""

    def part(each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = generator(seed, "data", owners, each)
        x = rng.normal(size=(owners * each, _INPUTS)).astype(np.float32)
        return x, (x[:, 0] > 0).astype(np.int64), np.arange(owners + 1) * each

    return FederatedData("random", *part(samples), *part(1), 2)


def _wide(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    table = rows.pivot_table(index=by, columns="owners", values="microseconds", sort=False)
    return table.rename(columns="{:,}".format).reset_index().rename_axis(columns=None)


def _extrapolated(steps: pd.DataFrame, owners: int, cores: int) -> pd.DataFrame:
    """What a step would take if every core did its part at the price of the largest size that was measured.

    Nothing is said of rules that did not get to 10,000 owners, or whose price per owner still grows there.
    """
    rows = []
    for name, part in steps.groupby("mechanism", sort=False):
        prices, reached = part["microseconds"].to_numpy(), int(part["owners"].max())
        known = reached >= _ENOUGH and prices[-1] <= 2.0 * prices[-2]
        seconds = 1e-6 * prices[-1] * owners / cores if known else np.nan
        rows.append((name, reached, seconds, _RULES[str(name)].exchange if known else "not known"))
    return pd.DataFrame(rows, columns=["mechanism", "measured at", "seconds", "parts tell each other"])


def _figure(steps: pd.DataFrame, models: pd.DataFrame) -> Figure:
    sns.set_theme(style="whitegrid", context="paper")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
    _lines(left, steps, mechanism_looks({name: repr(rule.mechanism) for name, rule in _RULES.items()}))
    _lines(right, models, {"owners": strategy_looks(["honest"])["honest"], "limit: one model": _LIMIT})
    left.set(title="A step", ylabel="microseconds per owner and step")
    right.set(title=f"Training: {_SAMPLES} samples each, network 20-32-2", ylabel="microseconds per sample")
    return figure


def _lines(panel: Axes, rows: pd.DataFrame, looks: dict[str, Look]) -> None:
    """One line for each name in the first column of the rows."""
    for name, part in rows.groupby(rows.columns[0], sort=False):
        panel.plot(part["owners"], part["microseconds"], markersize=4, label=name, **looks[str(name)].line)
    panel.set(xscale="log", yscale="log", xlabel="owners")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")
    panel.tick_params(which="both", left=False, bottom=False)
    panel.legend(fontsize=6.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


if __name__ == "__main__":
    run_script(__file__)
