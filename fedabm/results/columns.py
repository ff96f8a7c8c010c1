"""What every column of the frames means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from fedabm.common.errors import InputError
from fedabm.views import INFORMATION

__all__ = ["COLUMNS", "Column"]

#: by frame and column, in the order in which the columns stand
COLUMNS: dict[str, dict[str, str]] = {
    "runs": {
        "run": "number of the run, the key of all frames",
        "label": "what sets this run apart within its study",
        "scenario": "name of the study",
        "parameters": "the study's parameters, as JSON",
        "seed": "seed of the run",
        "mechanism": "the mechanism with its parameters",
        "accuracy": "the accuracy oracle with its parameters",
        "owners": "number of owners",
        "steps": "steps that were run",
        "status": "converged (at rest, and the gap is within the tolerance), at rest (nobody moves, but somebody could "
        "gain or nothing is proven), stopped (by its steps or a rule), interrupted, failed, or ended "
        "(a Mesa model of one's own that stopped itself)",
        "converged": "whether nothing moved any more and the certified gap is within the scenario's tolerance",
        "gap": "certified gap: the most any owner could still gain by another contribution, the others at their word "
        "(empty: cut off)",
        "found": "the largest such gain that a search found; all that is known where the gap is infinite (empty: cut "
        "off, or asking would have taken training)",
        "fedabm": "version of fedabm",
        "mesa": "version of mesa",
        "numpy": "version of numpy",
        "python": "version of Python",
        "machine": "where models were trained: device, PyTorch's version and precision (empty: nothing was trained)",
        "wall_time": "seconds the run took",
    },
    "steps": {
        "run": "number of the run",
        "step": "number of the step, from 1",
        "contribution": "data contributed by all owners",
        "accuracy": "mean accuracy received by the owners present",
        "cost": "true cost of all contributions",
        "transferred": "money that changed hands",
        "welfare": "sum of all utilities",
        "server_balance": "the server's account since the beginning",
        "present": "owners that have not left",
        "rejected": "owners whose report or model update was unusable in this step",
        "moved": "largest change of what an owner does or says, as a share of its capacity or cost (leaving is 1)",
        "reciprocity": "share of model imports that go both ways (empty where all share one model)",
        "components": "groups of owners without any import between them (empty where all share one model)",
    },
    "owners": {
        "run": "number of the run",
        "step": "number of the step",
        "owner": "number of the owner, from 0",
        "strategy": "what the owner does",
        "role": "what its kind is called by its profile",
        "name": "what the owner is called (empty: it goes by its number)",
        "capacity": "all the data it has",
        "contribution": "data it really used",
        "reported_contribution": "data it said it used",
        "reported_size": "data it said it has",
        "reported_unit_cost": "cost per unit it stated: the rate, or the marginal cost where its cost has none "
        "(empty where the mechanism does not ask)",
        "accuracy": "worth of the model it received",
        "best_accuracy": "best of its accuracies so far, what an owner that left keeps (chosen on test data)",
        "gain": "what it gained: the accuracy, unless the scenario values something else",
        "cost": "true cost of its contribution, or of what the scenario values instead",
        "owed": "payment that fell due by the rule (negative: it had to pay), before anybody's budget",
        "payment": "money it really received (negative: it paid)",
        "money": "money it has after the step (inf: it has no budget)",
        "utility": "gain - cost + payment",
        "stayed": "whether it is in the federation",
        "rejected": "whether its report or model update was unusable and counted as nothing",
        "information": "what its decision in this step rests on: " + ", ".join(INFORMATION),
        "imports": "others' models that go into its own (0 where all share one model)",
        "exports": "others' models that its own goes into",
        "import_strength": "how much of others' models goes into its own, summed over them",
        "export_strength": "how much of its own model goes into others', summed over them",
        "isolated": "whether it is there but neither imports nor exports a model",
    },
    "strategies": {
        "run": "number of the run",
        "step": "number of the step",
        "strategy": "what its owners do (there are rows only where a run is to keep them: `Keep(strategies=True)`)",
        "owners": "owners of this strategy that have not left",
        "contribution": "data that they really used",
        "reported_contribution": "data that they said they used",
        "accuracy": "mean worth of the models that they received (empty: all have left)",
        "cost": "true cost of their contributions",
        "payment": "money that they received, less what they paid",
        "utility": "sum of their utilities",
        "rejected": "how many of them sent something unusable",
    },
    "transfers": {
        "run": "number of the run",
        "step": "number of the step",
        "payer": "owner that pays (-1: the server)",
        "payee": "owner that is paid (-1: the server)",
        "amount": "money, never negative",
        "reason": "the rule that demanded it",
    },
}


@dataclass(frozen=True)
class Column:
    """A column of one's own: `value` gets the federation after a step, and gives one number, or one per owner.

    >>> Column("steps", "largest", lambda model: model.population.contribution.max()).name
    'largest'
    """

    frame: Literal["steps", "owners"]
    name: str
    value: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if self.frame not in ("steps", "owners"):
            raise InputError(f"a column belongs to steps or owners, got {self.frame!r}; choose one of them")
        if self.name in COLUMNS[self.frame]:
            raise InputError(f"{self.frame} has a column {self.name!r} already; choose another name")
