"""The words of the `fedabm` command.

What they do is imported when it is wanted, so that help and errors come at once.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from fedabm.common.device import PRECISIONS
from fedabm.common.errors import InputError

__all__ = ["command_line"]


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands; `options.command` names the function that does the work, as "module:function"."""
    parser = _Parser(prog="fedabm", description="Strategic behaviour in federated learning.")
    parser.add_argument("--version", action="version", version=f"fedabm {version('fedabm')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _list,
        _run,
        _solve,
        _calibrate,
        _settle,
        _recommend,
        _sweep,
        _sensitivity,
        _report,
        _describe,
        _data,
        _reproduce,
        _record,
        _init,
        _compare,
        _audit,
        _league,
        _boxes,
        _tournament,
        _live,
        _completion,
    ):
        add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments in one line, like any other bad input."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{message}; see {self.prog} --help")


def _list(commands: Any) -> None:
    parser = commands.add_parser("list", help="the scenarios, their questions and parameters")
    parser.add_argument(
        "name",
        nargs="?",
        help="a scenario or class (its parameters), or a family: mechanisms, strategies, accuracies, costs, rules, ...",
    )
    _json(parser, "it")
    parser.set_defaults(command="fedabm.cli.list:show")


def _run(commands: Any) -> None:
    parser = commands.add_parser("run", help="run a scenario and save frames and pictures")
    parser.add_argument(
        "name", help="which scenario: a name of `fedabm list`, or the path of a script or of a study.toml"
    )
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--steps", type=int, help="at most this many steps per run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: a new folder in results/)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--profile", action="store_true", help="print which share of the time training took")
    parser.add_argument(
        "--device", default="auto", help="where models train: auto, cpu, cuda, cuda:1, mps, meta (shapes)"
    )
    _cluster(parser)
    parser.add_argument("--deterministic", action="store_true", help="the same bits in every run also on a GPU; slower")
    parser.add_argument(
        "--precision", default="float32", choices=PRECISIONS, help="in which gradients are found (default float32)"
    )
    parser.add_argument(
        "--format", action="append", default=[], choices=("pdf", "svg"), help="pictures in this format too; repeatable"
    )
    parser.add_argument(
        "--checkpoint", type=float, default=60.0, metavar="SECONDS", help="how often to save a long run (default 60)"
    )
    parser.add_argument("--keep-every", type=int, metavar="K", help="of each run, rows of every K-th step and the last")
    parser.add_argument("--keep-owners", type=int, metavar="N", help="rows of a random sample of N owners (0: none)")
    parser.add_argument("--keep-strategies", action="store_true", help="sums by strategy beside, over all owners")
    parser.add_argument("--save-models", action="store_true", help="write the trained models too, as safetensors")
    _watch(parser)
    _json(parser)
    parser.set_defaults(command="fedabm.cli.run:run_scenario")


def _json(parser: argparse.ArgumentParser, what: str = "the tables, and where all is,") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="spread owners over workers: local, auto or HOST:PORT of a Ray cluster"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="how many workers (default: one per core; see --cluster)"
    )
    parser.add_argument("--gpus-per-worker", type=float, default=0.0, metavar="X", help="part of a GPU for each worker")


def _device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="where models train: auto, cpu, cuda, cuda:1, mps")


def _watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch",
        action="append",
        default=[],
        choices=("csv", "jsonl", "tensorboard", "mlflow", "wandb"),
        help="write every step while it runs, into DIR/watch; repeatable",
    )


def _tournament(commands: Any) -> None:
    parser = commands.add_parser("tournament", help="which behaviour survives under which mechanism")
    parser.add_argument("--quick", action="store_true", help="two mechanisms: about a minute")
    parser.add_argument("--strategy", action="append", metavar="NAME", help="name or { kind = ..., ... }; repeatable")
    parser.add_argument("--mechanism", action="append", metavar="NAME", help="name or { kind = ..., ... }; repeatable")
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--steps", type=int, help="at most this many steps per run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: a new folder in results/)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--format", action="append", default=[], choices=("pdf", "svg"), help="pictures in this format too; repeatable"
    )
    _watch(parser)
    _json(parser)
    parser.set_defaults(command="fedabm.cli.tournament:tournament")


def _init(commands: Any) -> None:
    parser = commands.add_parser("init", help="write a commented study in TOML, to be changed and run")
    parser.add_argument("file", nargs="?", type=Path, help="(default study.toml, or game.toml with --game)")
    parser.add_argument("--game", action="store_true", help="a game for solve and audit instead")
    parser.set_defaults(command="fedabm.cli.compare:begin")


def _compare(commands: Any) -> None:
    parser = commands.add_parser("compare", help="mechanisms side by side on the owners of a study in TOML")
    parser.add_argument("name", metavar="STUDY.toml", help="owners and accuracy; see fedabm init")
    parser.add_argument(
        "mechanisms", nargs="*", metavar="MECHANISM", help="by name or as { kind = ..., ... } (default: the study's)"
    )
    many = 'runs of each mechanism (default 10), or "until 0.01": until 95%% intervals reach at most that far'
    parser.add_argument("--seeds", default="10", metavar="N", help=many)
    known = "what is known of the noise between seeds; few seeds have intervals only where it is normal"
    parser.add_argument("--noise", choices=("normal", "unknown"), help=known)
    parser.add_argument("--seed", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--steps", type=int, help="at most this many steps per run")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: a new folder in results/)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    _watch(parser)
    _json(parser)
    parser.set_defaults(command="fedabm.cli.compare:compare")


def _completion(commands: Any) -> None:
    parser = commands.add_parser("completion", help="what a shell needs to complete commands: see its --help")
    parser.description = 'Put eval "$(fedabm completion bash)" into ~/.bashrc, or the like for your shell.'
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="for which shell")
    parser.set_defaults(command="fedabm.cli.completion:complete")


def _solve(commands: Any) -> None:
    parser = commands.add_parser("solve", help="the Nash equilibria of a game written in TOML")
    parser.add_argument("spec", type=Path, metavar="SPEC.toml", help="accuracy, owners and mechanism of the game")
    parser.add_argument("--mechanism", metavar="NAME", help="another one, by name or as { kind = ..., ... }")
    parser.add_argument(
        "--starts", type=int, metavar="N", help="random starts from which to look for other equilibria (0: none)"
    )
    parser.add_argument("--time-limit", type=float, metavar="S", help="say after this many seconds what was reached")
    _json(parser, "all fields of the equilibrium")
    parser.set_defaults(command="fedabm.cli.solve:solve_game")


def _calibrate(commands: Any) -> None:
    parser = commands.add_parser(
        "calibrate", help="an accuracy from a pilot, or costs from invoices, and how sure they are"
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.csv",
        help="columns samples and accuracy (owner, split, seed), or samples and cost",
    )
    parser.add_argument("--owner", metavar="NAME", help="only the rows of this owner")
    parser.add_argument("--split", metavar="NAME", help="only the rows of this split")
    parser.add_argument("--draws", type=int, default=200, metavar="N", help="draws of the parameters (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--out", type=Path, metavar="NAME", help="how the files written begin (default: as FILE does)")
    _json(parser, "what was found")
    parser.set_defaults(command="fedabm.cli.calibrate:calibrate_file")


def _settle(commands: Any) -> None:
    parser = commands.add_parser("settle", help="who owes whom how much, by a study's rule and a log of what happened")
    parser.add_argument(
        "study", nargs="?", type=Path, metavar="STUDY.toml", help="owners, accuracy, rule, [settlement]"
    )
    parser.add_argument(
        "log",
        nargs="?",
        metavar="LOG",
        help="CSV, Parquet (round, owner, samples), a folder of frames, mlflow:ADDRESS",
    )
    parser.add_argument(
        "--mechanism", metavar="NAME", help="which of the study's mechanisms, another one, or a recommendation.json"
    )
    parser.add_argument("--experiment", metavar="NAME", help="of MLflow, whose runs have a tag owner (default fedabm)")
    parser.add_argument("--verify", type=Path, metavar="FILE.json", help="settle a statement's inputs anew and compare")
    parser.add_argument("--out", type=Path, metavar="NAME", help="how the files written begin (default: as LOG does)")
    _json(parser, "the statement")
    parser.set_defaults(command="fedabm.cli.settle:settle_log")


def _recommend(commands: Any) -> None:
    parser = commands.add_parser("recommend", help="which rule to adopt, with which parameters, and how sure that is")
    parser.add_argument("study", metavar="STUDY.toml", help="owners, accuracy and [recommend]: goal, conditions, ...")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: results/ and the study's name)"
    )
    parser.add_argument(
        "--draws", type=int, metavar="N", help="draws of what is not known (default: as the study says)"
    )
    parser.add_argument(
        "--audits", type=int, default=3, metavar="N", help="how many of the best are audited (default 3)"
    )
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    _json(parser, "the answer and all candidates")
    parser.set_defaults(command="fedabm.cli.recommend:run")


def _sweep(commands: Any) -> None:
    parser = commands.add_parser("sweep", help="run a design of many runs; going on where it stopped")
    parser.add_argument("spec", type=Path, metavar="SPEC.toml", help="target, design and seeds")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: results/ and the spec's name)"
    )
    parser.add_argument("--executor", choices=("local", "ray", "serial"), default="local", help="where runs are done")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: one on this machine)")
    parser.add_argument("--device", help="where models train: auto, cpu, cuda (workers share all), cuda:1")
    parser.add_argument("--gpus", type=float, default=0.0, metavar="SHARE", help="of a GPU for each run, with Ray")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds that a run may take")
    parser.add_argument("--memory-limit", metavar="SIZE", help="memory that a run may take, such as 2G")
    parser.add_argument("--checkpoint", type=float, default=60.0, metavar="S", help="save long runs every so often")
    parser.add_argument("--retry-failed", action="store_true", help="do again what failed")
    parser.add_argument("--dry-run", action="store_true", help="show the design and an estimate, run nothing else")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(command="fedabm.cli.sweep:sweep")


def _sensitivity(commands: Any) -> None:
    parser = commands.add_parser("sensitivity", help="which inputs drive an answer: Sobol, Morris and PAWN indices")
    parser.add_argument("target", metavar="STUDY.toml|SCENARIO", help="a study in TOML, a scenario, or module:function")
    parser.add_argument(
        "--over", required=True, metavar="RANGES", help='what varies: "rate=0.001:0.1:log, owners=5:50, mechanism=a|b"'
    )
    parser.add_argument("--of", default="welfare", metavar="A,B", help="what is explained (default welfare)")
    parser.add_argument("--method", default="sobol", help="sobol (default), morris (few runs) or pawn (distributions)")
    parser.add_argument("--n", type=int, help="base points, trajectories or points (default 512, 100 or 1024)")
    parser.add_argument("--runs", type=int, metavar="N", help="instead of --n: the most runs")
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--one-seed", action="store_true", help="the same seed for all runs: randomness is no input")
    parser.add_argument("--no-pairs", action="store_true", help="no second order, at about half the runs")
    parser.add_argument("--by", choices=("owner", "strategy"), help="explain numbers of each owner or strategy")
    parser.add_argument(
        "--when",
        default="auto",
        choices=("auto", "end", "mean"),
        help="auto: the end of runs at rest, the mean over time of others (default)",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="what holds in all runs")
    parser.add_argument("--steps", type=int, help="at most this many steps per run")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: results/ and NAME-sensitivity)"
    )
    parser.add_argument("--executor", choices=("local", "ray", "serial"), default="local", help="where runs are done")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: one on this machine)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    _json(parser, "indices and notes")
    parser.set_defaults(command="fedabm.cli.sensitivity:run")


def _report(commands: Any) -> None:
    parser = commands.add_parser("report", help="one HTML page of a run or sweep, to read and to pass on")
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `fedabm run` or `fedabm sweep` has written")
    parser.add_argument("--html", type=Path, metavar="FILE", help="where to write (default: DIR/report.html)")
    parser.set_defaults(command="fedabm.cli.report:report")


def _describe(commands: Any) -> None:
    parser = commands.add_parser("describe", help="the ODD protocol of a scenario or study, as reviewers ask for it")
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario's name, a script, or a study in TOML")
    parser.add_argument(
        "--odd", action="store_true", help="the ODD protocol (Grimm et al. 2020); there is no other form"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a parameter")
    parser.add_argument("--seed", type=int, default=0, help="the seed that owners are drawn with (default 0)")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="write it to FILE instead: as LaTeX if it ends in .tex, else as Markdown; may be given twice",
    )
    parser.set_defaults(command="fedabm.cli.describe:run")


def _data(commands: Any) -> None:
    parser = commands.add_parser("data", help="real data sets: which are here, and how to get the others")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    shown = actions.add_parser("list", help="every set, whether it is here, and what to put where")
    _json(shown, "the rows")
    shown.set_defaults(command="fedabm.cli.data:show")
    wanted = actions.add_parser("get", help="download a set, checked and resumable")
    wanted.add_argument("name", help="which set; see `fedabm data list`")
    wanted.set_defaults(command="fedabm.cli.data:fetch")


def _reproduce(commands: Any) -> None:
    parser = commands.add_parser("reproduce", help="what the papers claim, and what we get")
    parser.add_argument(
        "what",
        nargs="*",
        metavar="PAPER|ROW",
        help="some rows only: 002, murhekar2025, D08, or how the claim begins, such as 'Table 1'",
    )
    parser.add_argument(
        "--budget",
        default="quick",
        metavar="NAME",
        help="quick (minutes; reads what is recorded), decisive (hours; trains all of it) or paper (many instances)",
    )
    parser.add_argument("--list", action="store_true", help="show which rows are recorded, and at which size")
    parser.add_argument("--explain", action="store_true", help="how each verdict was computed, and from which files")
    _json(parser, "the rows")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="also write all rows to FILE: as cards if it ends in .html, else as Markdown; may be given twice",
    )
    parser.set_defaults(command="fedabm.cli.reproduce:run")


def _record(commands: Any) -> None:
    parser = commands.add_parser("record", help="run a scenario once and keep what it found for `reproduce`")
    parser.add_argument(
        "name", nargs="?", help="which scenario, or `league`; with --check or --seal: which record (default: all)"
    )
    parser.add_argument("--part", metavar="NAME", help="of the league: this part only (default: all that are missing)")
    parser.add_argument("--plan", action="store_true", help="of the league: show its parts, and what is missing")
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter; repeatable")
    parser.add_argument(
        "--short", action="append", default=[], metavar="KEY=VALUE", help="a parameter that shortens the replay"
    )
    parser.add_argument("--short-steps", type=int, metavar="N", help="steps of the replay (default 2)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where records are (default: with the package)")
    parser.add_argument("--check", action="store_true", help="replay in short what is recorded, and compare")
    parser.add_argument("--seal", action="store_true", help="put digests into records that have none yet")
    parser.add_argument("--landed", metavar="COMMIT", help="with --seal: what the commit of this record was rebased to")
    parser.set_defaults(command="fedabm.cli.record:record")


def _audit(commands: Any) -> None:
    parser = commands.add_parser("audit", help="the best lie, coalition or second name against a mechanism, as a card")
    parser.add_argument("source", metavar="SPEC.toml|SCENARIO", help="a game or study in TOML, or a scenario")
    parser.add_argument("--mechanism", metavar="NAME", help="another one, by name, as file.py:Class, or { ... }")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the searches (default 0)")
    parser.add_argument("--quick", action="store_true", help="seconds, not minutes: smaller budgets, fewer groups")
    _device(parser)
    _json(parser, "the card")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write it there: page, frames, JSON, PNG and PDF")
    parser.set_defaults(command="fedabm.cli.audit:run")


def _league(commands: Any) -> None:
    parser = commands.add_parser("league", help="all mechanisms against all deviations on the same populations")
    study = "a study's own owners, curve and rules (default: those of the package)"
    parser.add_argument("study", nargs="?", metavar="STUDY.toml", help=study)
    parser.add_argument("--quick", action="store_true", help="fewer owners and populations: minutes")
    parser.add_argument("--seeds", type=int, metavar="N", help="how many populations (default 10; quick 3)")
    parser.add_argument("--owners", type=int, metavar="N", help="how many owners in each (default 6; quick 4)")
    parser.add_argument("--rules", metavar="A,B", help="some mechanisms only, by their class names")
    parser.add_argument("--closed", action="store_true", help="closed forms only, no trained models")
    parser.add_argument("--attacks", action="store_true", help="attacks x defences x payment rules instead")
    parser.add_argument("--recorded", action="store_true", help="read what `fedabm record league` has recorded instead")
    parser.add_argument(
        "--tuning", type=int, metavar="N", help="parameters tried of each rule (default 30; quick 6; 0: none is tuned)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write tables, heat map as PNG and PDF, and JSON")
    _json(parser, "the rows")
    parser.set_defaults(command="fedabm.cli.league:run")


def _boxes(commands: Any) -> None:
    parser = commands.add_parser("boxes", help="in which boxes of a sweep's parameters a condition holds, and a tree")
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="the folder of a sweep")
    parser.add_argument(
        "--where", required=True, metavar="CONDITION", help="on columns of runs, and of steps at the end: 'gap > 0.1'"
    )
    parser.add_argument("--seed", type=int, default=0, help="which cells are held out (default 0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write table, tree and figure")
    _json(parser, "boxes, tree and how good they are")
    parser.set_defaults(command="fedabm.cli.boxes:run")


def _live(commands: Any) -> None:
    parser = commands.add_parser("live", help="a page to watch and steer runs in the browser; needs the extra live")
    parser.add_argument(
        "what", metavar="SCENARIO|FILE.toml", help="a scenario, a study, a game, or a state of the page"
    )
    parser.add_argument(
        "--mechanism", action="append", default=[], metavar="NAME", help="shown first; given twice: side by side"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the scenario")
    parser.add_argument("--seed", type=int, default=0, help="all randomness comes from it (default 0)")
    parser.add_argument("--host", default="127.0.0.1", help="who can reach it (default: this machine only)")
    parser.add_argument("--port", type=int, default=8080, help="the first free one from here on (default 8080)")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the page saves")
    _device(parser)
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(command="fedabm.cli.live:show")
