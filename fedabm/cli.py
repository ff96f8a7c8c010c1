"""The `fedabm` command."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.table import Table

import fedabm
from fedabm import resume, timing
from fedabm.equilibrium import solve
from fedabm.errors import InputError
from fedabm.learning import command as learning
from fedabm.library import find, names
from fedabm.report import command as report
from fedabm.reproduction import command as reproduction
from fedabm.spec import read_game
from fedabm.store import claim
from fedabm.study import Interrupted, Study
from fedabm.sweep import command as sweep

__all__ = ["main", "run_script"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input gets one line and exit code 2."""
    try:
        options = _parser().parse_args(arguments)
        return int(options.command(options) or 0)
    except InputError as error:
        print(f"fedabm: {error}", file=sys.stderr)
        return 2
    except Interrupted:
        return 130
    except KeyboardInterrupt:
        print("fedabm: interrupted; nothing was recorded", file=sys.stderr)
        return 130
    except MemoryError:
        print("fedabm: not enough memory; take fewer owners or steps, or record less", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


def run_script(file: str) -> NoReturn:
    """What a scenario script calls when it is run by itself: `run_script(__file__)`."""
    sys.exit(main(["run", Path(file).stem, *sys.argv[1:]]))


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments in one line, like any other bad input."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="fedabm", description="Strategic behaviour in federated learning.")
    parser.add_argument("--version", action="version", version=f"fedabm {fedabm.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    shown = commands.add_parser("list", help="the scenarios, their questions and parameters")
    shown.add_argument("name", nargs="?", help="show the parameters of one scenario")
    shown.set_defaults(command=_list)
    run = commands.add_parser("run", help="run a scenario and save frames and pictures")
    run.add_argument("name", help="which scenario; see `fedabm list`")
    run.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    run.add_argument("--steps", type=int, help="at most this many steps per run")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a parameter; repeatable")
    run.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: a new folder in results/)")
    run.add_argument("--quiet", action="store_true", help="print nothing but errors")
    run.add_argument("--profile", action="store_true", help="print which share of the time training took")
    run.add_argument(
        "--checkpoint", type=float, default=60.0, metavar="SECONDS", help="how often to save a long run (default 60)"
    )
    run.set_defaults(command=_run)
    solving = commands.add_parser("solve", help="the Nash equilibrium of a game written in TOML")
    solving.add_argument("spec", type=Path, metavar="SPEC.toml", help="accuracy, owners and mechanism of the game")
    solving.add_argument("--mechanism", metavar="NAME", help="another one, by name or as { kind = ..., ... }")
    solving.add_argument("--json", action="store_true", help="print all fields of the equilibrium as JSON")
    solving.set_defaults(command=_solve)
    for module in (learning, report, reproduction, sweep):
        module.add_parser(commands)
    return parser


def _list(options: argparse.Namespace) -> None:
    console = Console()
    if options.name:
        script = find(options.name)
        console.print(f"{script.name}: {script.question}", highlight=False)
        for key, value in script.defaults.items():
            console.print(f"  --set {key}={_plain(value)}", highlight=False)
        return
    table = Table("scenario", "question", box=None)
    for name in names():
        table.add_row(name, find(name).question)
    console.print(table)


def _run(options: argparse.Namespace) -> None:
    script = find(options.name)
    parameters = script.parameters(options.set)
    study = Study(script.name, options.seed, options.steps, parameters, options.quiet)
    command = _command(options)
    folder = options.out or _fresh(Path("results") / f"{script.name}-{options.seed}", command)
    unfinished = resume.unfinished(folder, command, study, options.checkpoint)
    with _claimed(folder), unfinished, timing.profiled(options.profile) as shares:
        try:
            script.run(study, **parameters)
        except (Interrupted, KeyboardInterrupt):
            if study.empty:
                raise KeyboardInterrupt from None
            study.save(folder, command, complete=False)
            print(f"fedabm: interrupted; see what was recorded with fedabm.load({str(folder)!r})", file=sys.stderr)
            raise Interrupted from None
        paths = study.save(folder, command)
    if options.profile:
        study.note("")
        study.table(shares.table(), "Where the time went", "profile")
    study.note("\nWritten:")
    for path in sorted(paths, key=lambda path: path.suffix == ".png"):
        study.note(f"  {path}" if path.suffix != ".png" else f"Picture: {path}")


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Claim the folder before any work is done; if nothing comes of it and it is new, remove it again."""
    new = not os.path.exists(folder)  # unlike Path.exists never raises
    claim(folder)
    try:
        yield
    finally:
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _solve(options: argparse.Namespace) -> None:
    game = read_game(options.spec, options.mechanism)
    found = solve(game)
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
        return
    console = Console()
    console.print(f"Equilibrium under {game.mechanism}", style="bold", highlight=False)
    rows = found.rows()
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.9g}" for value in row.values()))
    console.print(table)
    cycling = "no equilibrium: best responses cycle"
    verdict = "certified" if found.converged else "NOT certified" if found.cycle is None else cycling
    console.print(f"{verdict}; nobody gains more than {found.gap:.2g} by a change of its own", highlight=False)
    console.print(f"total data {found.profile.sum():.8g}; method {found.method}", highlight=False)


def _fresh(folder: Path, command: str) -> Path:
    """The first of results/x-0, results/x-0-2, ... that is free or holds an unfinished run of this command."""
    candidates = itertools.chain([folder], (Path(f"{folder}-{k}") for k in itertools.count(2)))
    return next(path for path in candidates if not os.path.exists(path) or resume.left(path) == command)


def _command(options: argparse.Namespace) -> str:
    """The command that repeats this run."""
    words = ["fedabm", "run", options.name, "--seed", str(options.seed)]
    words += ["--steps", str(options.steps)] if options.steps else []
    words += [word for setting in options.set for word in ("--set", setting)]
    return shlex.join(words)


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    sys.exit(main())
