"""What `fedabm run` does."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fedabm.cli.describe import of_runs
from fedabm.common.cluster import Cluster, check_reachable, on_cluster, was_used
from fedabm.common.cores import cores
from fedabm.common.device import in_precision, on_device, repeatable
from fedabm.common.errors import FedabmError, InputError, Interrupted
from fedabm.common.files import Unwritable, new_folder
from fedabm.common.texts import visible
from fedabm.common.timing import profiled
from fedabm.report.folder import DESCRIPTION
from fedabm.report.odd.protocol import elements
from fedabm.report.odd.text import markdown
from fedabm.results.frames import Frames
from fedabm.results.keep import Recording
from fedabm.results.store import WATCHED, claim
from fedabm.simulation.trackers import watcher
from fedabm.study import resume
from fedabm.study.command import command_word
from fedabm.study.library import Script, find
from fedabm.study.study import Study

__all__ = ["USUAL", "run_scenario"]

#: options of `fedabm run` that other commands, which run a scenario too, do not have
USUAL = {
    "checkpoint": 60.0,
    "device": "auto",
    "cluster": None,
    "workers": None,
    "gpus_per_worker": 0.0,
    "deterministic": False,
    "precision": "float32",
    "profile": False,
    "keep_every": None,
    "keep_owners": None,
    "keep_strategies": False,
    "save_models": False,
}

#: what a run without values can and cannot tell
_SHAPES = "Device meta has shapes, no values: the run shows that it runs; accuracies, utilities and money mean nothing."


def run_scenario(options: argparse.Namespace) -> None:
    """`fedabm run NAME`, `fedabm run path/to/my_study.py` or `fedabm run study.toml`: run, save, and say where."""
    script = _script(options.name)
    parameters = script.parameters(options.set)
    recorded = json.loads(json.dumps(parameters, default=repr))
    study = Study(script.name, options.seed, options.steps, recorded, quiet=options.quiet or options.json)
    study.question = script.question
    study.keep = _kept(options)
    study.save_models = options.save_models
    study.formats = tuple(dict.fromkeys(["png", *options.format]))
    command = _command(script, options)
    cluster = _cluster(options)
    folder = options.out or _fresh(Path("results") / f"{script.name}-{options.seed}", command)
    if resume.finished(folder, command, script.where):
        study.note(f"{folder} holds this run already, complete; to make it anew choose another --out")
        return
    if cluster is not None and not cluster.local:
        check_reachable(cluster.address, "--cluster")
    resume.make_room(folder, command)
    unfinished = resume.unfinished(folder, command, study, options.checkpoint)
    with contextlib.ExitStack() as how:
        for part in (_claimed(folder), unfinished, on_device(options.device), in_precision(options.precision)):
            how.enter_context(part)
        how.enter_context(on_cluster(cluster))
        how.enter_context(repeatable(active=options.deterministic))
        profile = how.enter_context(profiled(active=options.profile))
        if options.device == "meta":
            study.note(_SHAPES)
        study.watchers += [watcher(kind, folder / WATCHED / kind) for kind in dict.fromkeys(options.watch)]
        _play(study, script, parameters, folder, command)
        _describe(study, script, parameters)
        paths = study.save(folder, command)
    if options.json:
        print(json.dumps({"folder": str(folder), "files": [path.name for path in paths], "tables": study.as_dict()}))
    if options.profile:
        study.note("")
        study.table(pd.DataFrame(profile.rows()), "Where the time went", "profile")
    pictures = [path for path in paths if path.suffix == ".png"]
    others = ", ".join(path.name for path in paths if path not in pictures)
    if cluster is not None and not was_used(cluster):
        study.note("No owners were spread over the cluster: nothing was trained here")
    study.note(f"\nWritten to {folder}: {others}")
    study.note(f"All on one page: {command_word()} report {shlex.quote(str(folder))}")
    if options.watch:
        study.note(f"Watched: {folder / WATCHED}")
    for path in pictures:
        study.note(f"Picture: {path}")
    if options.device == "meta":
        study.note(_SHAPES)


def _play(study: Study, script: Script, parameters: dict[str, Any], folder: Path, command: str) -> None:
    """Run the script; what it has recorded is saved also where it fails or is interrupted."""
    try:
        script.run(study, **parameters)
        if not study.tables and not study.empty:
            study.table(_ends(study.frames), "Each run at its end", "ends")
    except Unwritable:  # what was recorded could be neither written nor gone on with; checkpoints are
        raise
    except FedabmError as error:
        if study.empty:
            raise
        study.save(folder, command, complete=False)
        raise InputError(f"{error} ({_seen(folder)})") from error
    except (Interrupted, KeyboardInterrupt):
        if study.empty:
            raise KeyboardInterrupt from None
        study.save(folder, command, complete=False)
        more = ", or repeat the command to go on" if resume.worth(folder) else ""
        print(visible(f"fedabm: interrupted; {_seen(folder)}{more}"), file=sys.stderr)
        raise Interrupted from None


def _describe(study: Study, script: Script, parameters: dict[str, Any]) -> None:
    """Keep the ODD protocol of what was simulated, to be saved beside the frames; nothing where nothing was."""
    if study.scenarios:
        model = replace(of_runs(script, parameters, study.seed, study.scenarios), more=study.more_scenarios)
        study.text(markdown(f"{script.name}: ODD protocol", elements(model)), DESCRIPTION)


def _cluster(options: argparse.Namespace) -> Cluster | None:
    """The workers that owners are spread over, if that was asked for; results do not depend on them."""
    if options.cluster is None:
        if options.workers is not None or options.gpus_per_worker:
            raise InputError("workers share the owners on a cluster only; add --cluster local")
        return None
    return Cluster(options.workers or cores(), options.cluster, options.gpus_per_worker)


def _ends(frames: Frames) -> pd.DataFrame:
    """What there is to say of any run, for a study that shows no table of its own."""
    runs = frames.runs.set_index("run")[["label", "status"]]
    steps = frames.at_end("steps").set_index("run")
    shown = {
        "step": "steps",
        "contribution": "data",
        "accuracy": "accuracy",
        "welfare": "welfare",
        "outside_money": "outside money",
        "net_welfare": "net welfare",
        "transferred": "paid",
    }
    return runs.join(steps[list(shown)].rename(columns=shown)).reset_index(drop=True)


def _kept(options: argparse.Namespace) -> dict[str, Any]:
    """What the frames are to keep, where that is not left to the scenarios."""
    given = {"every": options.keep_every, "owners": options.keep_owners, "strategies": options.keep_strategies or None}
    chosen = {name: value for name, value in given.items() if value is not None}
    Recording(**chosen)  # so that what it cannot be is said before any work is done
    return chosen


def _script(name: str) -> Script:
    """The script of that name, or the study in that TOML file."""
    if not name.endswith(".toml"):
        return find(name)
    from fedabm.comparison.written import script_of  # imports Matplotlib

    return script_of(name)


def _seen(folder: Path) -> str:
    return f"see what was recorded with fedabm.load({str(folder)!r})"


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Claim the folder before any work is done; if nothing comes of it and it is new, remove it again."""
    with new_folder(folder, "choose a writable --out"):
        claim(folder)
        yield


def _fresh(folder: Path, command: str) -> Path:
    """The first of results/x-0, results/x-0-2, ... that is free or holds an unfinished run of this command."""
    candidates = itertools.chain([folder], (Path(f"{folder}-{k}") for k in itertools.count(2)))
    return next(path for path in candidates if not os.path.exists(path) or resume.left(path) == command)


def _command(script: Script, options: argparse.Namespace) -> str:
    """The command that repeats this run, from whatever folder."""
    words = ["fedabm", "run", script.where, "--seed", str(options.seed)]
    words += ["--steps", str(options.steps)] if options.steps else []
    words += ["--device", options.device] if options.device != "auto" else []
    words += ["--precision", options.precision] if options.precision != "float32" else []
    words += ["--deterministic"] if options.deterministic else []
    words += ["--keep-every", str(options.keep_every)] if options.keep_every is not None else []
    words += ["--keep-owners", str(options.keep_owners)] if options.keep_owners is not None else []
    words += ["--keep-strategies"] if options.keep_strategies else []
    words += ["--save-models"] if options.save_models else []
    words += [word for setting in options.set for word in ("--set", setting)]
    words += [word for kind in options.format for word in ("--format", kind)]
    return shlex.join(words)
