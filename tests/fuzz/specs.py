"""Bad input gets one line and exit code 2, whatever it is: games, sweeps and `--set`, changed in ways nobody expects.

    python -m tests.fuzz.specs --inputs 10000

Every hundredth input goes to a process of its own, as a user's would (but no sweep that runs, which may rightly take
long); of the scenarios all words are read, and every tenth is run.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fedabm.cli import run as run_command
from fedabm.study import library, study
from fedabm.sweep import plan, sampling
from tests.fuzz.mutations import ODD_NUMBERS, ODD_TEXTS, broken, mutated, odd, other_numbers, toml
from tests.fuzz.scenarios import FETCHED
from tests.fuzz.trying import DEAF, GOOD, PATIENCE, Verdict, attempt, judged
from tests.scenarios.test_scenarios import FEW

#: more runs than that are long work that anybody may ask for, and no hang
MOST_RUNS = 100

#: seconds of computing that a process of its own may take, which also has to import everything
APART = 2 * PATIENCE

#: what a game is put together from; every combination is a game, though some are refused
MECHANISMS = (
    *('"no_payments"', '{ kind = "contribution_subsidy", rate = 0.02 }', '{ kind = "cost_sharing", rate = 0.3 }'),
    *('"shapley_share"', '"banzhaf_share"', '{ kind = "partial_reciprocity", r = 0.5 }', '"clarke"'),
    *('"value_shaping"', '{ kind = "value_shaping", slack = 0.1 }', '{ kind = "proportional_data", p = 1.0 }'),
    *('{ kind = "proportional_value", p = 0.5 }', '{ kind = "proportional_shapley", p = 1.0 }'),
    '{ kind = "screening", low = 0.05, high = 0.2, probability_low = 0.5 }',
)
ACCURACIES = (
    *('"power_law"', '{ kind = "power_law", scale = 1.0, exponent = 0.5, offset = 1.0 }', '"joint_quadratic"'),
    *('{ kind = "random_coverage", q = [[0.1, 0.2], [0.3, 0.05]] }', '{ kind = "pac_bound", ceiling = 0.9 }'),
    *('{ kind = "random_discovery", q = [[0.5, 0.2], [0.3, 0.5]] }', '{ kind = "pac_bound", complexity = 2.0 }'),
    '{ kind = "joint_quadratic", target = [1.0, 2.0], weights = [0.0, 0.1], rate = 0.2 }',
)
OWNERS = (
    *("{ costs = [0.1, 0.25], capacity = 100 }", "{ costs = [0.01, 0.02], capacity = [10.0, 20.0] }"),
    *("{ costs = 0.02, capacity = 50.0, count = 2 }", "{ costs = [0.05, 0.2], capacity = 10 }"),
    '{ costs = [{ kind = "affine", rate = 0.1, fixed = 1.0 }, 0.2], capacity = 5 }',
    '{ costs = [{ kind = "tabulated", points = [0, 10, 20], costs = [0, 1, 4] }, 0.1], capacity = 20 }',
    '{ costs = [{ kind = "power", rate = 0.01, exponent = 2.0 }, 0.1], capacity = 20 }',
)
SWEEPS = (
    """
    scenario = "free_riding"
    seeds = 2
    steps = 1
    fixed = { owners = 4 }
    design = { rate = [0.001, 0.1] }
    """,
    """
    function = "tests.sweep.targets:build"
    seeds = { count = 2, paired = false, root = 4 }
    steps = 2
    fixed = { owners = 3, strategy = { kind = "liar", truth = "best_response", cost_factor = 2.0 } }
    design = { rate = [1, 0.2], mechanism = ["no_payments", { kind = "contribution_subsidy", rate = 0.1 }] }
    """,
    """
    function = "tests.sweep.targets:build"
    seeds = [1, 2]
    design = { kind = "random", count = 3, seed = 1, rate = { low = 0.01, high = 0.1, log = true }, owners = [2, 3] }
    """,
    """
    function = "tests.sweep.targets:build"
    design = { kind = "one_at_a_time", baseline = { rate = 0.1, owners = 2 }, rate = [0.2], owners = [3] }
    """,
    """
    model = "tests.sweep.targets:Walk"
    steps = 3
    design = { kind = "cells", few = { walkers = 1 }, many = { walkers = 4, far = 2.0 } }
    """,
    """
    function = "tests.sweep.targets:build"
    seeds = 1
    design = { kind = "sobol", count = 4, rate = { low = 0.01, high = 0.1 } }
    """,
)


@dataclass(frozen=True)
class Input:
    """Words of the command line, and the file that they name, if any."""

    words: tuple[str, ...]
    content: bytes = b""


def inputs(rng: random.Random, folder: Path, count: int) -> Iterator[Input]:
    """This many inputs: games, sweeps and settings of scenarios in turn."""
    scenarios = library.names()
    for number in range(count):
        turn = number % 10
        if turn < 5:
            yield _game(rng, folder)
        elif turn < 8:
            yield _sweep(rng, folder)
        else:
            yield _settings(rng, folder, rng.choice(scenarios))


def _file(text: str, rng: random.Random) -> bytes:
    """The spec, changed: mostly in what it says, sometimes letter by letter."""
    tree = tomllib.loads(text)
    way = rng.random()
    if way < 0.1:
        return broken(text, rng)
    return toml(mutated(tree, rng) if way < 0.5 else other_numbers(tree, rng)).encode()


def _game(rng: random.Random, folder: Path) -> Input:
    words = ["solve", str(folder / "spec.toml")]
    words += ["--mechanism", rng.choice((*ODD_TEXTS, "shapley_share", "banzhaf_share"))] if rng.random() < 0.1 else []
    words += ["--json"] if rng.random() < 0.3 else []
    return Input(tuple(words), _file(_valid(rng), rng))


def _valid(rng: random.Random) -> str:
    parts = {"mechanism": MECHANISMS, "accuracy": ACCURACIES, "owners": OWNERS}
    return "\n".join(f"{name} = {rng.choice(known)}" for name, known in parts.items())


def _sweep(rng: random.Random, folder: Path) -> Input:
    words = ["sweep", str(folder / "spec.toml"), "--out", str(folder / "out"), "--executor", "serial"]
    words += ["--dry-run"] if rng.random() < 0.7 else ["--quiet", "--time-limit", "0.1"]
    if rng.random() < 0.15:
        option = rng.choice(("--time-limit", "--memory-limit", "--checkpoint", "--workers", "--gpus", "--executor"))
        words += [f"{option}={rng.choice((*ODD_TEXTS, *map(str, ODD_NUMBERS[:-4])))}"]
    return Input(tuple(words), _file(rng.choice(SWEEPS), rng))


def _settings(rng: random.Random, folder: Path, name: str) -> Input:
    words = ["run", name, "--quiet", "--steps", "1", "--out", str(folder / "out")]
    known = library.find(name).defaults
    usual = FEW.get(name, ["seeds=1"] if "seeds" in known else [])
    settings = [*usual, *(_setting(rng, known) for _ in range(rng.choice((1, 1, 2))))]
    words += [f"--set={setting}" for setting in settings]
    if rng.random() < 0.1:
        words += [f"{rng.choice(('--seed', '--steps', '--checkpoint'))}={rng.choice((*ODD_TEXTS, *ODD_NUMBERS))}"]
    return Input(tuple(words))


def _setting(rng: random.Random, known: dict[str, Any]) -> str:
    key = rng.choice(list(known)) if known and rng.random() < 0.95 else rng.choice(ODD_TEXTS)
    usual = known.get(key)
    if isinstance(usual, tuple) and rng.random() < 0.7:
        return f"{key}={','.join(str(_number(rng)) for _ in range(rng.randint(0, 3)))}"
    if isinstance(usual, int | float) and rng.random() < 0.8:
        return f"{key}={_number(rng)}"
    return rng.choice((f"{key}={odd(rng)}", f"{key}={odd(rng)}", str(key)))


def _number(rng: random.Random) -> Any:
    return rng.choice((*ODD_NUMBERS, 1, 2, 3, 0.1, 0.9))


@contextlib.contextmanager
def only_read() -> Iterator[None]:
    """Scenarios are found and their words read, but they are not run."""

    def find(name: str) -> library.Script:
        script = library.find(name)

        @functools.wraps(script.run)
        def stop(*arguments: Any, **parameters: Any) -> None:
            raise KeyboardInterrupt

        return replace(script, run=stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_command, "find", find)
        yield


def tried(one: Input, folder: Path, *, apart: bool, really: bool) -> Verdict:
    """What becomes of one input."""
    (folder / "spec.toml").write_bytes(one.content)
    shutil.rmtree(folder / "out", ignore_errors=True)
    if apart:
        return _apart(one)
    if one.words[0] != "run" or really:
        return attempt(one.words)
    with only_read():
        found = attempt(one.words)
    read = found.kind == "wordy" and found.said.startswith("exit code 130")
    return Verdict("done") if read else found


def _apart(one: Input) -> Verdict:
    """In a process of its own, which has this many seconds of computing, however busy the machine is, or an hour."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    words = [word.replace("\0", "") for word in one.words]
    limit = f'ulimit -t {APART:.0f}; exec "$@"'
    command = ["sh", "-c", limit, "sh", sys.executable, "-m", "fedabm", *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DEAF, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return Verdict("hang", f"over {DEAF:g} s in a process of its own")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Verdict("hang", f"over {APART:g} s of computing in a process of its own")
    return judged(done.returncode, done.stderr.decode(errors="replace"))


def fuzz(count: int, seed: int = 0, *, apart: int = 100, run: int = 10) -> Iterator[tuple[Input, Verdict]]:
    """Try this many inputs; every `apart`-th in a process of its own, every `run`-th scenario really."""
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        patch.setattr(study, "_draw", lambda *given: given[-1].touch())  # pictures take most of the time
        for module in (plan, sampling):
            patch.setattr(module, "MOST_RUNS", MOST_RUNS)
        folder = Path(name)
        runs = 0
        for number, one in enumerate(inputs(rng, folder, count)):
            runs += one.words[0] == "run"
            really = runs % run == 0 if one.words[0] == "run" else "--quiet" not in one.words
            alone = number % apart == apart - 1 and really
            long = one.words[0] == "run" and one.words[1] in FETCHED  # they may train a language model
            yield one, tried(one, folder, apart=alone and not long, really=runs % run == 0 and not long)


def main() -> int:
    """Print what was found; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    kinds = collections.Counter[str]()
    for one, verdict in fuzz(options.inputs, options.seed):
        kinds[verdict.kind] += 1
        if not verdict.good:
            print(f"--- {verdict.kind}: fedabm {' '.join(map(repr, one.words))}")
            print(one.content.decode(errors="replace")[:1500])
            print(verdict.said[-3000:], flush=True)
    told = ", ".join(f"{kinds[kind]} {words}" for kind, words in KINDS.items())
    print(f"{kinds.total()} inputs in {time.perf_counter() - began:.0f} s: {told}")
    return 0 if kinds.keys() <= set(GOOD) else 1


KINDS = {
    "done": "taken",
    "refused": "refused in one line",
    "traceback": "tracebacks",
    "hang": "hangs over 20 s",
    "wordy": "refusals that are not one line with exit code 2",
    "noise": "warnings on the terminal",
}

if __name__ == "__main__":
    sys.exit(main())
