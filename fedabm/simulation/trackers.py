"""Runs in TensorBoard, MLflow or Weights & Biases, each with the extra of its name.

    Federation(scenario).run(TensorBoard("logs"))
    fedabm run free_riding --watch tensorboard

A run that goes on after a kill has every step once (see `journal`).  Nothing leaves the machine unless the library's
own settings say so: MLflow writes a database in the folder unless MLFLOW_TRACKING_URI names a server, and Weights &
Biases works offline unless WANDB_MODE says online.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, MissingExtraError, nearest
from fedabm.common.files import as_path, write
from fedabm.simulation.journal import Tracker, numbers
from fedabm.simulation.watching import RunBegun, Watcher
from fedabm.simulation.writers import CsvWriter, JsonLinesWriter

__all__ = ["WATCHERS", "MLflow", "TensorBoard", "WeightsAndBiases", "watcher"]

#: under what name runs are kept
_PROJECT = "fedabm"
#: the files of TensorBoard
_EVENTS = "events.out.tfevents.*"
#: the most numbers that MLflow takes at once
_AT_ONCE = 1000


class TensorBoard(Tracker):
    """One folder of events per run; look at them with `tensorboard --logdir FOLDER`.

    Parameters
    ----------
    folder : str | Path
        Where the events lie.
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__(as_path("the folder of TensorBoard", folder))
        self._make = _library("tensorboardX", "tensorboard").SummaryWriter
        self._writer: Any = None

    def open(self, run: RunBegun) -> None:
        """A fresh file in the folder of this run."""
        place = self._folder / run.name
        for old in place.glob(_EVENTS):
            old.unlink(missing_ok=True)
        self._writer = self._make(str(place))
        self._writer.add_text("run", _summary(run), 0)

    def put(self, steps: Iterable[Mapping[str, float]]) -> None:
        """One scalar per column."""
        for values in steps:
            for name, number in numbers(values).items():
                self._writer.add_scalar(name, number, int(values["step"]))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class MLflow(Tracker):
    """One MLflow run per run; look at them with `mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db`.

    Parameters
    ----------
    folder : str | Path
        Where the database lies.
    """

    def __init__(self, folder: str | Path) -> None:
        home = as_path("the folder of MLflow", folder)
        super().__init__(home)
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

    def open(self, run: RunBegun) -> None:
        """A new run of the experiment `fedabm`, with what is known of it, in place of one that was cut short."""
        noted = self._folder / f".{run.name}.run"
        if noted.exists():
            self._delete(noted.read_text("utf-8"), going_on=run.done > 0)
        known = self._client.get_experiment_by_name(_PROJECT)
        experiment = known.experiment_id if known else self._client.create_experiment(_PROJECT, self._artifacts)
        self._run = self._client.create_run(experiment, run_name=run.name).info.run_id
        write(noted, self._run)
        for name, value in _facts(run).items():
            self._client.log_param(self._run, name, value)

    def _delete(self, number: str, *, going_on: bool) -> None:
        """Delete the run that a killed process has left; one that ended stays, unless this one goes on with it."""
        with contextlib.suppress(self._library.exceptions.MlflowException):  # it is gone already
            if going_on or self._client.get_run(number).info.status == "RUNNING":
                self._client.delete_run(number)

    def put(self, steps: Iterable[Mapping[str, float]]) -> None:
        """One metric per column; the library takes this many at once."""
        now, make = int(time.time() * 1000), self._library.entities.Metric
        metrics = [
            make(name, number, now, int(values["step"])) for values in steps for name, number in numbers(values).items()
        ]
        for first in range(0, len(metrics), _AT_ONCE):
            self._client.log_batch(self._run, metrics=metrics[first : first + _AT_ONCE])

    def close(self) -> None:
        """It has ended."""
        self._client.set_terminated(self._run)


class WeightsAndBiases(Tracker):
    """One run of Weights & Biases per run; `wandb sync` sends what was kept offline.

    Parameters
    ----------
    folder : str | Path
        Where runs lie until they are sent.
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__(as_path("the folder of Weights & Biases", folder))
        self._library = _library("wandb", "wandb")
        self._run: Any = None

    def open(self, run: RunBegun) -> None:
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

    def put(self, steps: Iterable[Mapping[str, float]]) -> None:
        """All columns at once."""
        for values in steps:
            self._run.log(numbers(values), step=int(values["step"]))

    def close(self) -> None:
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
        raise MissingExtraError(
            f"watching with {extra} needs {module}; install it with: pip install 'fedabm[{extra}]'"
        ) from None


def _facts(run: RunBegun) -> dict[str, Any]:
    return {"label": run.label, "seed": run.seed, **{name: str(value) for name, value in run.facts.items()}}


def _summary(run: RunBegun) -> str:
    return "  \n".join(f"{name}: {value}" for name, value in _facts(run).items())
