"""Frames of many short runs as digests, column by column: whether a change of the code changed any number.

    PYTHONPATH=OLD_CHECKOUT python tests/golden.py --write golden.json     # with the old code
    python -m tests.golden --check golden.json                             # with the new one

Runs are all scenarios for two steps, and every mechanism on every kind of accuracy, closed and trained, with owners
that respond, lie, attack and stand still.  Columns that only the new code has are not compared.  Digests hold for one
machine and its libraries, so they are made anew wherever they are needed and are not kept with the project.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["cases", "digests", "main"]

#: what may differ between equal runs
_TIMED = ("wall_time", "fedabm", "mesa", "numpy", "python", "machine")
#: tables that hold seconds
_SECONDS = ("scale_study", "welfare_by_time")
_FRAMES = ("runs", "steps", "owners", "transfers", "strategies")

Digests = dict[str, str]


def digests(frames: Any) -> Digests:
    """A digest per frame and column."""
    found = {}
    for name in _FRAMES:
        table = getattr(frames, name)
        for column in table.columns:
            if column not in _TIMED:
                found[f"{name}.{column}"] = _digest(table[column])
    return found


def _digest(column: pd.Series) -> str:
    values = column.to_numpy()
    if values.dtype == object or isinstance(column.dtype, pd.CategoricalDtype):
        content = "\n".join(map(str, column.tolist())).encode()
    else:
        content = f"{values.dtype}".encode() + np.ascontiguousarray(values).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def cases() -> Iterator[tuple[str, Callable[[], Digests]]]:
    """Every case by name, and what runs it."""
    from fedabm.study.library import names

    for name in names():
        if name not in ("language_market", "shared_adapter"):  # need a pretrained model
            yield f"scenario {name}", lambda name=name: _scenario(name)
    for oracle, accuracy in _accuracies().items():
        for rule, mechanism in _mechanisms().items():
            still = oracle == "coalition"  # known for one profile only
            yield (
                f"{rule} on {oracle}",
                lambda made=accuracy, rule=mechanism, still=still: _run(made, rule, still=still),
            )


def _scenario(name: str) -> Digests:
    from fedabm import load
    from fedabm.cli import main as command
    from tests.scenarios.test_scenarios import few

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        out = Path(folder) / "out"
        if command(["run", name, "--steps", "2", "--quiet", "--out", str(out), *few(name)]) != 0:
            return {"failed": name}
        found = digests(load(out))
        for path in sorted(out.glob("*.csv")) if name not in _SECONDS else ():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return found


def _run(accuracy: Callable[[], Any], mechanism: Any, *, still: bool) -> Digests:
    from fedabm import Federation, Scenario, population
    from fedabm.strategies import Attacker, BestResponse, FixedShare, Liar

    starts = np.array([10.0, 20.0, 15.0, 28.0])
    kinds = [FixedShare(share) for share in starts / 40.0]
    if not still:
        kinds = [BestResponse(), kinds[1], Liar(BestResponse(), 2.0, 1.5, 1.5), Attacker(kinds[3], "sign_flip")]
    owners = population([0.001, 0.002, 0.003, 0.004], 40.0, kinds, starts=starts)
    known = accuracy()
    model = Federation(Scenario(owners, known, mechanism, steps=3, **_declared(known, mechanism)), seed=3).run()
    return digests(model.frames())


def _declared(accuracy: Any, mechanism: Any) -> dict[str, Any]:
    """That the server knows nothing, where the rule needs more; code before 0.2.0 had no such word."""
    try:
        from fedabm.knowledge import Nothing, Public, emptiness
    except ModuleNotFoundError:
        return {}
    needed = accuracy.announces == "none" and emptiness(Public(), mechanism, accuracy)
    return {"knowledge": Nothing()} if needed else {}


def _mechanisms() -> dict[str, Any]:
    from tests.mechanisms.test_mechanisms import CASES

    return dict(CASES)


def _accuracies() -> dict[str, Callable[[], Any]]:
    """Kinds of accuracy, each made when it is needed."""
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import Dirichlet
    from fedabm.games.accuracy import JointQuadratic, PacBound, PowerLaw, RandomCoverage
    from fedabm.games.accuracy.phased import Phased
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.engine.optimisers import SGD
    from fedabm.learning.oracles import Coalition, Learning, Rounds, Trained
    from fedabm.learning.personal.models import Personal
    from fedabm.learning.rules.recipe import Recipe

    data = from_partition(load_dataset("digits"), Dirichlet(4, 5.0), 1, 0.5, {}, one_class="allow")
    engine, recipe = Engine("logistic", data, device="cpu"), Recipe(steps=2, batch=8, optimiser=SGD(0.05))
    public = PowerLaw(exponent=0.5)
    return {
        "power law": PowerLaw,
        "PAC bound": PacBound,
        "random coverage": lambda: RandomCoverage([[0.5, 0.3, 0.2]] * 4),
        "joint quadratic": JointQuadratic,
        "learning": lambda: Learning(engine, recipe),
        "learning, announced": lambda: Learning(engine, recipe, announced=public),
        "phased learning": lambda: Phased(Learning(engine, recipe, announced=public), at_most=1),
        "personal": lambda: Personal(engine, recipe, measured=16),
        "trained": lambda: Trained(engine, 1, recipe),
        "coalition": lambda: Coalition(engine, [10.0, 20.0, 15.0, 28.0], recipe=recipe),
        "rounds": lambda: Rounds(engine, recipe, more=4),
    }


def main(words: list[str] | None = None) -> int:
    """Write digests, or compare with those of another code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    asked = parser.parse_args(words)
    if (asked.write is None) == (asked.check is None):
        parser.error("give --write FILE or --check FILE")
    warnings.simplefilter("ignore")
    known = {} if asked.check is None else json.loads(asked.check.read_text())
    made: dict[str, Digests] = {}
    different = 0
    for name, run in cases():
        if asked.only in name and (asked.write or name in known):
            made[name] = _attempt(run)
            different += asked.check is not None and _differs(name, known[name], made[name])
    if asked.write:
        asked.write.write_text(json.dumps(made, indent=1))
    print(f"{len(made)} cases, {different} differ")
    return int(different > 0)


def _attempt(run: Callable[[], Digests]) -> Digests:
    """The digests of a case, or why there are none."""
    try:
        return run()
    except Exception as error:  # a pair that is refused is a case, too
        return {"refused": f"{type(error).__name__}: {error}"}


def _differs(name: str, old: Digests, new: Digests) -> bool:
    columns = [column for column in old if column != "refused" and old[column] != new.get(column)]
    if "refused" in old and "refused" in new:
        return False
    if columns or "refused" in old:
        print(f"{name}: {new.get('refused') or old.get('refused') or ', '.join(columns)}", flush=True)
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
