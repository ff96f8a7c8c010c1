"""The trained models of a run, as files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError
from fedabm.simulation.model import Federation

__all__ = ["model_files"]


def model_files(
    model: Federation, run: int, label: str, note: Callable[[str], None]
) -> dict[str, Callable[[Path], object]]:
    """What writes the models of a run, by the names of the files: the shared one, and those of single owners.

    Parameters
    ----------
    model
        A federation that has come to its end.
    run, label
        Its number in the frames, and what it is called.
    note
        Told in one line of every model that there is not.

    Returns
    -------
    dict
        A function for each file, which writes it to a path.
    """
    found: dict[str, Callable[[Path], object]] = {}
    for owner in _holders(model):
        name = f"model-{run}.safetensors" if owner is None else f"model-{run}-owner-{owner}.safetensors"
        try:
            exported = model.export_model(owner)
        except InputError as error:
            note(f"no {name}: {error}")
            continue
        whose = {} if owner is None else {"owner": str(owner), "name": model.population.names[owner]}
        exported.facts |= {"run": str(run), "label": label, **whose}
        found[name] = partial(_put, exported)
    return found


def _holders(model: Federation) -> Iterator[int | None]:
    """None for the model that all share, where there is one; the owners whose model is another."""
    if model.makes_models != "own":
        yield None
    if model.makes_models != "none":
        yield from model.own_models


def _put(exported: Any, path: Path) -> None:
    from fedabm.learning.engine.exported import save_model  # with PyTorch, which closed forms do without

    save_model(exported, path)
