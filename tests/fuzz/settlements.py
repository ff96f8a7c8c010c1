"""Mutated logs and studies for `fedabm settle`: one line and exit code 2 with nothing written, or a right statement.

    python -m tests.fuzz.settlements --inputs 1000

What is written is checked by other means: the payments of a bill of one step are those of `Game.payments` at the claims
that were settled, totals are the sums of bills, a balanced rule's sum to zero, and the document verifies.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import random
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fedabm import Game, InputError
from fedabm.mechanisms import Mechanism
from fedabm.settlement.contract import Contract, contract_of
from fedabm.settlement.document import verify
from tests.fuzz.mutations import broken, mutated, other_numbers, toml
from tests.fuzz.trying import GOOD, Verdict, attempt

STUDIES = (
    """
    mechanism = "shapley_share"
    accuracy = { kind = "power_law", scale = 2.0, exponent = 0.5, offset = 9.0, ceiling = 0.9 }
    owners = { costs = [0.01, 0.02, 0.03], capacity = [20, 30, 40] }
    settlement = { step = "month", bill = "each step", absent = "zero", beyond = "cap", jump = 3.0 }
    """,
    """
    mechanisms = { a = { kind = "cost_sharing", rate = 0.4 }, b = { kind = "contribution_subsidy", rate = 0.02 } }
    accuracy = { kind = "calibrated", best = { kind = "power_law", exponent = 0.5 }, draws = { exponent = [0.4, 0.6] } }
    owners = [
      { name = "owner 0", cost = 0.01, data = 20, value = 100.0 },
      { name = "owner 1", cost = { low = 0.01, high = 0.02 }, data = 30, value = 200.0 },
      { name = "owner 2", cost = 0.03, data = { low = 30, high = 50 }, value = { low = 50, high = 150 } },
    ]
    settlement = { step = "month", bill = "all steps", mechanism = "a", absent = "out", beyond = "pay" }
    """,
    """
    mechanism = { kind = "partial_reciprocity", r = 0.5 }
    accuracy = "power_law"
    groups = [{ name = "owner", count = 3, cost = 0.02, data = 50 }]
    settlement = { bill = "each step", absent = "error", beyond = "error" }
    """,
)
CELLS = (
    *(
        "",
        "nan",
        "inf",
        "-1",
        "1e400",
        "1e99",
        "-0",
        "0",
        "1,5",
        "abc",
        "owner 1",
        "owner 9",
        "1e-320",
        "12",
        "1e9",
        "7.5",
    ),
    *(
        "yes",
        "no",
        "perhaps",
        "None",
        '"',
        "'",
        "\x00",
        "Zürich 🙂",
        "a" * 2000,
        "=1+1",
        "TRUE",
        " 3 ",
        "0x10",
        "1_000",
    ),
)
HEADS = (
    "round",
    "owner",
    "samples",
    "cost",
    "rejected",
    "measured",
    "metric.loss",
    "colour",
    "step",
    "num-examples",
    "",
)


def log_of(rng: random.Random, names: list[str]) -> list[list[str]]:
    """A log that can be settled."""
    head = ["round", "owner", "samples", *rng.choice(([], [], ["cost"], ["rejected"], ["cost", "rejected"]))]
    extra = {"cost": lambda: f"{rng.uniform(0.001, 0.05):.4f}", "rejected": lambda: rng.choice(("yes", "no", "no"))}
    rows = [
        [str(step), name, f"{rng.uniform(0, 45):.3f}", *(extra[column]() for column in head[3:])]
        for step in range(1, rng.choice((1, 2, 4)) + 1)
        for name in names
    ]
    return [head, *rows]


def changed(table: list[list[str]], rng: random.Random) -> str:
    """The log as text, with up to three changes."""
    table = [list(row) for row in table]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        row = rng.randrange(len(table))
        way = rng.random()
        if way < 0.5 and table[row]:
            table[row][rng.randrange(len(table[row]))] = rng.choice(HEADS if row == 0 else CELLS)
        elif way < 0.6 and len(table) > 1:
            table.pop(row)
        elif way < 0.7:
            table.insert(row, list(table[rng.randrange(len(table))]))
        elif way < 0.8:
            table[row].append(rng.choice(CELLS))
        elif way < 0.9 and table[row]:
            table[row].pop()
        else:
            table = [[line[0], *line] if line else line for line in table]
    text = "\n".join(
        rng.choice((",", ",", ",", ";")).join(row) if rng.random() < 0.02 else ",".join(row) for row in table
    )
    return text + rng.choice(("\n", "\n", "", "\n\n", "\r\n"))


def inputs(rng: random.Random, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of a study and a log: mostly one of the two is changed."""
    for _ in range(count):
        text = rng.choice(STUDIES)
        names = [f"owner {k + 1}" if "groups" in text else f"owner {k}" for k in range(3)]
        table, way = log_of(rng, names), rng.random()
        study = text.encode()
        if way < 0.4:
            tree = tomllib.loads(text)
            study = (
                broken(text, rng)
                if way < 0.04
                else toml((mutated if way < 0.25 else other_numbers)(tree, rng)).encode()
            )
        log = "\n".join(map(",".join, table)).encode() if way < 0.3 else changed(table, rng).encode()
        if rng.random() < 0.03:
            log = bytes(rng.randrange(256) for _ in range(200))
        yield study, log


def tried(study: bytes, log: bytes, folder: Path) -> Verdict:
    """What becomes of one pair."""
    for old in folder.iterdir():
        old.unlink()
    (folder / "study.toml").write_bytes(study)
    (folder / "log.csv").write_bytes(log)
    found = attempt(["settle", str(folder / "study.toml"), str(folder / "log.csv"), "--out", str(folder / "made")])
    written = sorted(one.name for one in folder.iterdir() if one.name.startswith("made"))
    if found.kind == "refused" and written:
        return Verdict("wordy", f"refused, and yet written: {written}")
    if found.kind == "done":
        said = wrong(json.loads((folder / "made.statement.json").read_text("utf-8")), folder)
        return Verdict("wrong", said) if said else found
    return found


def wrong(told: dict[str, Any], folder: Path) -> str:
    """What is wrong with a statement; nothing if nothing is."""
    agreed = contract_of(told["contract"], folders=(folder,))
    names = agreed.names
    paid = np.array([[bill["payments"].get(name, 0.0) for name in names] for bill in told["bills"]])
    totals = np.array([told["totals"][name] for name in names])
    if not np.all(np.isfinite(paid)):
        return f"payments that are no numbers: {paid}"
    scale = max(1.0, float(np.abs(paid).max(initial=0.0)))
    if not np.allclose(paid.sum(axis=0), totals, rtol=0, atol=1e-9 * scale):
        return f"totals {totals} are not sums of {paid}"
    if agreed.mechanism.budget_balanced and abs(totals.sum()) > 1e-8 * scale:
        return f"balanced, and totals sum to {totals.sum()}"
    try:
        verify(json.loads(json.dumps(told)), folder=folder)
    except InputError as error:
        return f"does not verify: {error}"
    return _against_the_game(told, agreed, agreed.mechanism, paid)


def _against_the_game(told: dict[str, Any], agreed: Contract, rule: Mechanism, paid: np.ndarray) -> str:
    """Bills of one step with everybody there and no costs or rejections in the log are those of the game."""
    odd = any({"cost", "measured", "rejected"} & set(row) for row in told["claims"])
    if odd or agreed.terms.bill == "all steps" or any(cost is None for cost in agreed.costs):
        return ""
    for bill, found in zip(told["bills"], paid, strict=True):
        said = {row["owner"]: row["samples"] for row in told["claims"] if row["round"] == bill["rounds"][0]}
        claims = np.array(
            [min(said.get(name, math.nan), room) for name, room in zip(agreed.names, agreed.capacities, strict=True)]
        )
        if np.isnan(claims).any() or any(
            said[name] > room for name, room in zip(agreed.names, agreed.capacities, strict=True)
        ):
            continue
        try:
            game = Game(agreed.worth, list(agreed.costs), agreed.capacities, rule)
            right = game.payments(claims)
        except InputError:
            continue  # a game has to be solved, too, and is held to more
        scale = max(1.0, float(np.abs(right).max()))
        if not np.allclose(found, right, rtol=0, atol=1e-12 * scale):
            return f"payments {found} but the game pays {right}"
    return ""


def fuzz(count: int, seed: int = 0) -> Iterator[tuple[bytes, bytes, Verdict]]:
    """Try this many pairs."""
    rng = random.Random(seed)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            for study, log in inputs(rng, count):
                yield study, log, tried(study, log, Path(name))
        finally:
            os.chdir(before)


def main() -> int:
    """Print what was found; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds = collections.Counter[str]()
    for study, log, verdict in fuzz(options.inputs, options.seed):
        kinds[verdict.kind] += 1
        if verdict.kind not in GOOD:
            print(f"--- {verdict.kind}\n{study.decode(errors='replace')[:1500]}\n{log.decode(errors='replace')[:800]}")
            print(verdict.said[-2500:], flush=True)
    print(
        f"{kinds.total()} logs and studies: {kinds['done']} settled and right, {kinds['refused']} refused in one line"
    )
    return 0 if kinds.keys() <= set(GOOD) else 1


if __name__ == "__main__":
    sys.exit(main())
