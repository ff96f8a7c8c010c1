"""Runs in TensorBoard, MLflow or Weights & Biases, each with the extra of its name.

    Federation(scenario).run(TensorBoard("logs"))
    fedabm run free_riding --watch tensorboard

Nothing leaves the machine unless the library's own settings say so: MLflow writes a database in the folder unless
MLFLOW_TRACKING_URI names a server, and Weights & Biases works offline unless WANDB_MODE says online.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, nearest
from fedabm.common.files import as_path
from fedabm.simulation.watching import RunBegun, Watcher
from fedabm.simulation.writers import CsvWriter, JsonLinesWriter

__all__ = ["WATCHERS", "MLflow", "TensorBoard", "WeightsAndBiases", "watcher"]

#: under what name runs are kept
_PROJECT = "fedabm"


class TensorBoard(Watcher):
    """One folder of events per run; look at them with `tensorboard --logdir FOLDER`."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = as_path("the folder of TensorBoard", folder)
        self._make = _library("tensorboardX", "tensorboard").SummaryWriter
        self._writer: Any = None

    def begin(self, run: RunBegun) -> None:
        """Open its folder; events of steps that will be done again are hidden."""
        self._writer = self._make(str(self._folder / run.name), purge_step=run.done + 1 if run.done else None)
        self._writer.add_text("run", _told(run), run.done)

    def step(self, values: Mapping[str, Any]) -> None:
        """One scalar per column."""
        for name, number in _numbers(values).items():
            self._writer.add_scalar(name, number, int(values["step"]))

    def end(self) -> None:
        """Write what is left."""
        self._writer.close()


class MLflow(Watcher):
    """One MLflow run per run; look at them with `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`."""

    def __init__(self, folder: str | Path) -> None:
        home = as_path("the folder of MLflow", folder)
        self._library = _library("mlflow", "mlflow")
        _library("alembic", "mlflow")
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # else it tells of every table it makes
        logging.getLogger("alembic").setLevel(logging.WARNING)
        self._server = os.environ.get("MLFLOW_TRACKING_URI")
        if not self._server:
            home.mkdir(parents=True, exist_ok=True)
        where = self._server or f"sqlite:///{(home / 'mlflow.db').resolve()}"
        self._client = self._library.MlflowClient(tracking_uri=where)
        self._artifacts = None if self._server else (home / "artifacts").resolve().as_uri()
        self._run = ""

    def begin(self, run: RunBegun) -> None:
        """A new run of the experiment `fedabm`, with what is known of it."""
        known = self._client.get_experiment_by_name(_PROJECT)
        experiment = known.experiment_id if known else self._client.create_experiment(_PROJECT, self._artifacts)
        self._run = self._client.create_run(experiment, run_name=run.name).info.run_id
        for name, value in _facts(run).items():
            self._client.log_param(self._run, name, value)

    def step(self, values: Mapping[str, Any]) -> None:
        """One metric per column."""
        now, step = int(time.time() * 1000), int(values["step"])
        make = self._library.entities.Metric
        metrics = [make(name, number, now, step) for name, number in _numbers(values).items()]
        self._client.log_batch(self._run, metrics=metrics)

    def end(self) -> None:
        """It has ended."""
        self._client.set_terminated(self._run)


class WeightsAndBiases(Watcher):
    """One run of Weights & Biases per run; `wandb sync` sends what was kept offline."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = as_path("the folder of Weights & Biases", folder)
        self._library = _library("wandb", "wandb")
        self._run: Any = None

    def begin(self, run: RunBegun) -> None:
        """A new run of the project `fedabm`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._run = self._library.init(
            project=_PROJECT,
            name=run.name,
            dir=str(self._folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            config=_facts(run),
            reinit="create_new",
            settings=self._library.Settings(silent=True),
        )

    def step(self, values: Mapping[str, Any]) -> None:
        """All columns at once."""
        self._run.log(_numbers(values), step=int(values["step"]))

    def end(self) -> None:
        """Write what is left."""
        self._run.finish()


#: by the word for it after --watch
WATCHERS: dict[str, Callable[[Path], Watcher]] = {
    "csv": CsvWriter,
    "jsonl": JsonLinesWriter,
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}


def watcher(kind: str, folder: Path) -> Watcher:
    """The watcher of that name, which writes into the folder."""
    if kind not in WATCHERS:
        raise InputError(f"unknown watcher {kind!r}; {nearest(kind, WATCHERS)}")
    return WATCHERS[kind](folder)


def _library(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f"watching with {extra} needs {module}; install it with: pip install 'fedabm[{extra}]'"
        ) from None


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The columns that hold a number."""
    return {name: float(value) for name, value in values.items() if name != "step" and value == value}


def _facts(run: RunBegun) -> dict[str, Any]:
    return {"label": run.label, "seed": run.seed, **{name: str(value) for name, value in run.facts.items()}}


def _told(run: RunBegun) -> str:
    return "  \n".join(f"{name}: {value}" for name, value in _facts(run).items())
