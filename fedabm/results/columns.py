"""The table of columns, from which frames, Mesa reporters, stacked sweeps and what lies on disk follow.

A new column is one entry: `Column(frame, name, value, meaning)`, where `value` is a function of the `Round`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.common.privacy import epsilon_of
from fedabm.results.entries import Column
from fedabm.results.round import Round
from fedabm.views import INFORMATION

__all__ = ["COLUMNS", "TABLE", "Column", "check_columns", "columns_of", "filled"]


def _linked(name: str) -> Any:
    """A measure of the links between models; none where all share one."""
    return lambda round: None if round.links is None else getattr(round.links, name)


def _traffic(name: str) -> Any:
    """Models or bytes that were sent; none where nothing is trained."""
    return lambda round: round.same(getattr(round.traffic, name))


def _unit_cost(round: Round) -> Any:
    """What owners say that a unit costs."""
    if round.reported_cost is None:
        return np.broadcast_to(np.nan, round.contribution.shape)
    return round.reported_cost.unit(round.reported_contribution)


def _mean_by_strategy(round: Round) -> Any:
    """The mean accuracy of the owners of each strategy that are there."""
    with np.errstate(invalid="ignore"):
        return round.by_strategy(round.accuracy, round.stayed) / round.by_strategy(where=round.stayed)


def _summed(name: str) -> Any:
    """The sum of a column over the owners of each strategy."""
    return lambda round: round.by_strategy(getattr(round, name))


#: by frame, in the order in which the columns stand
TABLE: tuple[Column, ...] = (
    Column("runs", "run", None, "number of the run, the key of all frames", int),
    Column("runs", "label", None, "what sets this run apart within its study", str),
    Column("runs", "scenario", None, "name of the study", str),
    Column("runs", "parameters", None, "the study's parameters, as JSON", str),
    Column("runs", "seed", None, "seed of the run", int),
    Column("runs", "mechanism", None, "the mechanism with its parameters", str),
    Column("runs", "accuracy", None, "the accuracy oracle with its parameters", str),
    Column("runs", "owners", None, "number of owners", int),
    Column("runs", "steps", None, "steps that were run", int),
    Column(
        "runs",
        "status",
        None,
        "converged (at rest, and the gap is within the tolerance), at rest (nobody moves, but somebody could "
        "gain or nothing is proven), stopped (by its steps or a rule), interrupted, failed, or ended "
        "(a Mesa model of one's own that stopped itself)",
        str,
    ),
    Column(
        "runs",
        "converged",
        None,
        "whether nothing moved any more and the certified gap is within the scenario's tolerance",
        bool,
    ),
    Column(
        "runs",
        "gap",
        None,
        "certified gap: the most any owner could still gain by another contribution, the others at their word "
        "(empty: cut off)",
        unit="utility",
    ),
    Column(
        "runs",
        "found",
        None,
        "the largest such gain that a search found; all that is known where the gap is infinite (empty: cut "
        "off, or asking would have taken training)",
        unit="utility",
    ),
    Column(
        "runs",
        "knowledge",
        None,
        "kind of what the server knows of the worth of data when it settles: none, sums, scores, coalitions or curve "
        "(empty: nothing was simulated)",
        str,
    ),
    Column(
        "runs",
        "knowledge_error",
        None,
        "half the width of the band that the server states around what one owner's data add (empty: none is stated)",
    ),
    Column("runs", "knowledge_cost", None, "trainings and judgements of models that this knowledge took", int),
    Column(
        "runs",
        "without_effect",
        None,
        "what had no effect in this run, and why: a mechanism without the knowledge it needs, attacks where no updates "
        "are sent (empty: nothing)",
        str,
    ),
    Column(
        "runs",
        "estimated",
        None,
        "what was estimated from samples, as there is no exact way or the rule says so (empty: nothing)",
        str,
    ),
    Column("runs", "fedabm", None, "version of fedabm", str),
    Column("runs", "mesa", None, "version of mesa", str),
    Column("runs", "numpy", None, "version of numpy", str),
    Column("runs", "python", None, "version of Python", str),
    Column(
        "runs",
        "machine",
        None,
        "where models were trained: device, PyTorch's version and precision (empty: nothing was trained)",
        str,
    ),
    Column("runs", "stacked", None, "whether it was stepped together with other runs of its sweep", bool),
    Column("runs", "wall_time", None, "seconds the run took", unit="s"),
    # the steps
    Column("steps", "run", None, "number of the run", int),
    Column("steps", "step", lambda round: round.same(round.step), "number of the step, from 1", int),
    Column(
        "steps",
        "contribution",
        lambda round: round.total("contribution"),
        "data contributed by all owners",
        unit="data",
    ),
    Column("steps", "accuracy", lambda round: round.mean("accuracy"), "mean accuracy received by the owners present"),
    Column("steps", "cost", lambda round: round.total("cost"), "true cost of all contributions", unit="utility"),
    Column(
        "steps",
        "transferred",
        lambda round: round.total("payment", gains=True),
        "money that changed hands",
        unit="utility",
    ),
    Column("steps", "welfare", lambda round: round.total("utility"), "sum of all utilities", unit="utility"),
    Column(
        "steps",
        "outside_money",
        attrgetter("outside_money"),
        "money that owners were paid from outside, less what they left there (positive: somebody outside bears it)",
        unit="utility",
    ),
    Column(
        "steps",
        "net_welfare",
        lambda round: round.total("utility") - round.outside_money,
        "welfare less outside money: what owners gain less what their data cost",
        unit="utility",
    ),
    Column(
        "steps", "server_balance", attrgetter("balance"), "the server's account since the beginning", unit="utility"
    ),
    Column("steps", "present", lambda round: np.count_nonzero(round.stayed, axis=-1), "owners that have not left", int),
    Column(
        "steps",
        "participants",
        lambda round: np.count_nonzero(round.took_part, axis=-1),
        "owners that took part in this step: there, and not too late (who stayed away claims 0)",
        int,
    ),
    Column(
        "steps",
        "rejected",
        lambda round: np.count_nonzero(round.rejected, axis=-1),
        "owners whose report or model update was unusable in this step",
        int,
    ),
    Column(
        "steps",
        "moved",
        attrgetter("moved"),
        "largest change of what an owner does or says, as a share of its capacity or cost (leaving is 1)",
        unit="share",
    ),
    Column(
        "steps",
        "reciprocity",
        lambda round: round.same(np.nan) if round.links is None else round.links.reciprocity,
        "share of model imports that go both ways (empty where all share one model)",
    ),
    Column(
        "steps",
        "components",
        lambda round: round.same(np.nan) if round.links is None else round.links.components,
        "groups of owners without any import between them (empty where all share one model)",
    ),
    *(
        Column("steps", name, _traffic(name), meaning, int, unit)
        for name, meaning, unit in (
            ("models_up", "models that owners sent to be mixed or averaged (0 where nothing is trained)", ""),
            ("models_down", "models that owners got in return, a shared one by everybody who is handed it", ""),
            ("bytes_up", "what the models that owners sent amount to", "bytes"),
            ("bytes_down", "what the models that owners got amount to", "bytes"),
        )
    ),
    # the owners
    Column("owners", "run", None, "number of the run", int),
    Column("owners", "step", lambda round: np.broadcast_to(round.step, round.stayed.shape), "number of the step", int),
    Column(
        "owners",
        "owner",
        lambda round: np.broadcast_to(np.arange(round.owners), round.stayed.shape),
        "number of the owner, from 0",
        int,
    ),
    Column("owners", "strategy", None, "what the owner does", str),
    Column("owners", "role", None, "what its kind is called by its profile", str),
    Column("owners", "name", None, "what the owner is called (empty: it goes by its number)", str),
    Column("owners", "capacity", attrgetter("capacity"), "all the data it has", unit="data"),
    Column("owners", "contribution", attrgetter("contribution"), "data it really used", unit="data"),
    Column("owners", "reported_contribution", attrgetter("reported_contribution"), "data it said it used", unit="data"),
    Column("owners", "reported_size", attrgetter("reported_size"), "data it said it has", unit="data"),
    Column(
        "owners",
        "reported_unit_cost",
        _unit_cost,
        "cost per unit it stated: the rate, or the marginal cost where its cost has none "
        "(empty where the mechanism does not ask)",
        unit="utility per unit of data",
    ),
    Column("owners", "accuracy", attrgetter("accuracy"), "worth of the model it received"),
    Column(
        "owners",
        "best_accuracy",
        attrgetter("best_accuracy"),
        "best of its accuracies so far, what an owner that left keeps (chosen on test data)",
    ),
    Column(
        "owners",
        "gain",
        attrgetter("gain"),
        "what it gained: the accuracy, unless the scenario values something else",
        unit="utility",
    ),
    Column(
        "owners",
        "cost",
        attrgetter("cost"),
        "true cost of its contribution, or of what the scenario values instead",
        unit="utility",
    ),
    Column(
        "owners",
        "owed",
        attrgetter("owed"),
        "payment that fell due by the rule (negative: it had to pay), before anybody's budget",
        unit="utility",
    ),
    Column("owners", "payment", attrgetter("payment"), "money it really received (negative: it paid)", unit="utility"),
    Column(
        "owners", "money", attrgetter("money"), "money it has after the step (inf: it has no budget)", unit="utility"
    ),
    Column("owners", "utility", attrgetter("utility"), "gain - cost + payment", unit="utility"),
    Column("owners", "stayed", attrgetter("stayed"), "whether it is in the federation", bool),
    Column("owners", "took_part", attrgetter("took_part"), "whether it was there in this step, and not too late", bool),
    Column(
        "owners", "discount", attrgetter("discount"), "what was taken off its late update, as a share", unit="share"
    ),
    Column(
        "owners",
        "rejected",
        attrgetter("rejected"),
        "whether its report or model update was unusable and counted as nothing",
        bool,
    ),
    Column(
        "owners",
        "epsilon",
        lambda round: None if round.revealed is None else epsilon_of(round.revealed),
        "privacy loss of all model updates that it has sent so far, at delta = 1e-5, to whoever sees them (0: none was "
        "sent; inf: one without noise, or more than 400)",
    ),
    Column("owners", "information", None, "what its decision in this step rests on: " + ", ".join(INFORMATION), str),
    Column(
        "owners",
        "imports",
        _linked("imports"),
        "others' models that go into its own (0 where all share one model)",
        int,
    ),
    Column("owners", "exports", _linked("exports"), "others' models that its own goes into", int),
    Column(
        "owners",
        "import_strength",
        _linked("import_strength"),
        "how much of others' models goes into its own, summed over them",
    ),
    Column(
        "owners",
        "export_strength",
        _linked("export_strength"),
        "how much of its own model goes into others', summed over them",
    ),
    Column(
        "owners", "isolated", _linked("isolated"), "whether it is there but neither imports nor exports a model", bool
    ),
    # sums by strategy
    Column("strategies", "run", None, "number of the run", int),
    Column("strategies", "step", None, "number of the step", int),
    Column(
        "strategies",
        "strategy",
        None,
        "what its owners do (there are rows only where a run is to keep them: `Recording(strategies=True)`)",
        str,
    ),
    Column(
        "strategies",
        "owners",
        lambda round: round.by_strategy(where=round.stayed),
        "owners of this strategy that have not left",
        int,
    ),
    Column("strategies", "contribution", _summed("contribution"), "data that they really used", unit="data"),
    Column(
        "strategies",
        "reported_contribution",
        _summed("reported_contribution"),
        "data that they said they used",
        unit="data",
    ),
    Column(
        "strategies",
        "accuracy",
        _mean_by_strategy,
        "mean worth of the models that they received (empty: all have left)",
    ),
    Column("strategies", "cost", _summed("cost"), "true cost of their contributions", unit="utility"),
    Column(
        "strategies", "payment", _summed("payment"), "money that they received, less what they paid", unit="utility"
    ),
    Column("strategies", "utility", _summed("utility"), "sum of their utilities", unit="utility"),
    Column(
        "strategies",
        "rejected",
        lambda round: round.by_strategy(where=round.rejected),
        "how many of them sent something unusable",
        int,
    ),
    # money
    Column("transfers", "run", None, "number of the run", int),
    Column("transfers", "step", None, "number of the step", int),
    Column("transfers", "payer", None, "owner that pays (-1: the server)", int),
    Column("transfers", "payee", None, "owner that is paid (-1: the server)", int),
    Column("transfers", "amount", None, "money, never negative", unit="utility"),
    Column("transfers", "reason", None, "the rule that demanded it", str),
    # models
    Column("imports", "run", None, "number of the run", int),
    Column("imports", "step", None, "number of the step", int),
    Column(
        "imports",
        "importer",
        None,
        "owner into whose model another's goes (there are rows only where owners have models of their own)",
        int,
    ),
    Column("imports", "exporter", None, "owner whose model that is", int),
    Column("imports", "weight", None, "how much of it goes in (0: it was taken and got no weight)"),
)

#: what every column means, by frame and column
COLUMNS: dict[str, dict[str, str]] = {}
for _entry in TABLE:
    COLUMNS.setdefault(_entry.frame, {})[_entry.name] = _entry.meaning


def _filled(entries: Sequence[Column], frame: str) -> tuple[Column, ...]:
    return tuple(entry for entry in entries if entry.frame == frame and entry.value is not None)


#: entries with values in a round, by frame
_FILLED = {frame: _filled(TABLE, frame) for frame in COLUMNS}


def columns_of(frame: str, own: Sequence[Column] = ()) -> tuple[Column, ...]:
    """The entries of a frame that have values in a round, ours and then the scenario's `own`."""
    ours = _FILLED.get(frame, ())
    return (*ours, *_filled(own, frame)) if own else ours


def filled(entry: Column, values: np.ndarray | None, shape: int | tuple[int, ...]) -> np.ndarray:
    """The values of an owners' column; zeros of that shape where it has none."""
    return np.zeros(shape, dtype=entry.dtype) if values is None else values


def check_columns(own: Sequence[Column]) -> None:
    """Raise unless a scenario's own columns belong to steps or owners, under names that are free."""
    taken = {(entry.frame, entry.name) for entry in TABLE}
    for entry in own:
        if entry.frame not in ("steps", "owners"):
            raise InputError(
                f"a column of your own belongs to steps or owners, got {entry.frame!r}; choose one of them"
            )
        if (entry.frame, entry.name) in taken:
            raise InputError(f"{entry.frame} has a column {entry.name!r} already; choose another name")
        if entry.value is None:
            raise InputError(f"column {entry.name!r} has no value; give a function of the round")
        if entry.kind not in (float, int, bool, str):
            raise InputError(f"column {entry.name!r} is of kind {entry.kind!r}; choose float, int, bool or str")
        taken.add((entry.frame, entry.name))
