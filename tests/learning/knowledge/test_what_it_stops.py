"""What each kind of knowledge stops: the value of one owner that misbehaves, relative to the mean honest one.

Five equal parts of digits, five rounds, the last owner misbehaves; the table stands on the page `docs/theory.md`, which
is compared with what is found here.  To print it:

    python -m tests.learning.knowledge.test_what_it_stops
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fedabm.accuracy import PowerLaw
from fedabm.common.random import owner_streams
from fedabm.data import IID, LabelShift, from_partition, load_dataset
from fedabm.games.messages import Effort, OwnerMessages, Tampering
from fedabm.learning import SGD, Engine, Learning, Recipe
from fedabm.learning.knowledge.fed_sv import by_enumeration
from fedabm.learning.knowledge.round_shapley import RoundGame
from fedabm.shapley import shapley
from fedabm.strategies import Attacker, Honest

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"
OWNERS, ROUNDS, SEEDS = 5, 5, (0, 1)
RECIPE = Recipe(epochs=1, batch=32, optimiser=SGD(0.1))
#: what the last owner does: its share of the data used and claimed, and how it changes its update
BEHAVIOURS: dict[str, tuple[float, float, Attacker | None]] = {
    "gives a quarter and says so": (0.25, 0.25, None),
    "gives a quarter and claims all": (0.25, 1.0, None),
    "noise on the update": (1.0, 1.0, Attacker(Honest(), "noise", 0.1)),
    "wrong labels": (1.0, 1.0, None),
    "flipped sign": (1.0, 1.0, Attacker(Honest(), "sign_flip")),
    "update times 3": (1.0, 1.0, Attacker(Honest(), "scaled", 3.0)),
    "update times 10": (1.0, 1.0, Attacker(Honest(), "scaled", 10.0)),
    "sends nothing new": (0.0, 1.0, Attacker(Honest(), "free_ride")),
    "delta weights": (0.0, 1.0, Attacker(Honest(), "delta_weights")),
    "a copy of another's": (0.0, 1.0, Attacker(Honest(), "copycat")),
}
KNOWLEDGE = ("curve of claims", "round Shapley of the loss", "cosine with the mean", "cosine with root data")


def engines(seed: int, wrong: bool) -> tuple[Engine, Engine]:
    """The owners' data, and some of the server's."""
    digits = load_dataset("digits")
    order = np.random.default_rng(seed).permutation(len(digits.x))
    quality = {OWNERS - 1: LabelShift()} if wrong else None
    parts = from_partition(digits.subset(order[:1500]), IID(OWNERS), seed, 0.4, quality)
    root = from_partition(digits.subset(order[1500:]), IID(1), seed, 0.1)
    return Engine("mlp", parts, device="cpu"), Engine("mlp", root, device="cpu")


def values(behaviour: str, seed: int) -> np.ndarray:
    """By each kind of knowledge the value of everybody, summed over the rounds, (knowledge, owners)."""
    used, said, attack = BEHAVIOURS[behaviour]
    engine, root = engines(seed, behaviour == "wrong labels")
    full = engine.data.capacities.astype(float)
    share = np.array([1.0] * (OWNERS - 1) + [used])
    claimed = full * np.array([1.0] * (OWNERS - 1) + [said])
    effort = Effort(np.rint(full * share), np.rint(claimed))
    bad = np.array([OWNERS - 1])
    tampering = () if attack is None else (Tampering(bad, attack, owner_streams(seed, OWNERS).take(bad)),)
    learning = Learning(engine, RECIPE)
    state, found = learning.begin(seed), np.zeros((len(KNOWLEDGE), OWNERS))
    found[0] = ROUNDS * np.asarray(shapley(PowerLaw(exponent=0.5), claimed))
    for _ in range(ROUNDS):
        state, _ = learning.round(state, OwnerMessages(effort, effort, tampering, keep=True))
        updates = learning.updates(state)
        found[1] += by_enumeration(RoundGame(updates, "loss")).scores
        found[2] += updates.cosines()
        found[3] += np.maximum(updates.cosines(updates.trained_by(root)), 0.0)
    return found


@cache
def relative(behaviour: str, seeds: tuple[int, ...] = SEEDS) -> tuple[float, ...]:
    """What the owner that misbehaves is worth relative to the mean honest one, by each kind of knowledge."""
    rows = [values(behaviour, seed) for seed in seeds]
    return tuple(np.mean([row[:, -1] / row[:, :-1].mean(axis=1) for row in rows], axis=0))


def table() -> list[str]:
    """The rows of the page."""
    lines = [f"| {' | '.join(['the last of five owners', *KNOWLEDGE])} |", "|---" * (len(KNOWLEDGE) + 1) + "|"]
    return lines + [f"| {name} | {' | '.join(f'{one:.2f}' for one in relative(name))} |" for name in BEHAVIOURS]


def written() -> dict[str, list[float]]:
    """The table as it stands on the page."""
    rows = (line.strip("| \n").split(" | ") for line in PAGE.read_text("utf-8").splitlines())
    return {row[0]: [float(cell) for cell in row[1:]] for row in rows if row[0] in BEHAVIOURS}


def test_the_page_has_every_row():
    assert list(written()) == list(BEHAVIOURS)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_the_page_says_what_is_found(behaviour):
    """Rounding aside, which training magnifies on another machine."""
    assert relative(behaviour) == pytest.approx(written()[behaviour], abs=0.06)


def test_what_is_stopped_and_what_is_not():
    curve, rounds, cosine, root = (
        {name: relative(name)[place] for name in BEHAVIOURS} for place in range(len(KNOWLEDGE))
    )
    # A curve stops what is admitted, and nothing else.
    assert curve["gives a quarter and says so"] < 0.9
    assert [curve[name] for name in BEHAVIOURS if name != "gives a quarter and says so"] == pytest.approx([1.0] * 9)
    # Round Shapley stops noise, flips, wrong labels, over-claims and much too long updates, and pays for copies, for
    # what is sent on and, while the model is far from its best, for updates that are longer than honest ones.
    for name in ("noise on the update", "wrong labels", "flipped sign", "gives a quarter and claims all"):
        assert rounds[name] < 0.1
    assert rounds["update times 10"] < rounds["update times 3"]
    assert rounds["update times 3"] > 2.0
    assert rounds["a copy of another's"] > 0.8
    assert 0.1 < rounds["delta weights"] < 0.9
    # Cosines stop flips, and neither lengths nor copies nor what is sent on; noise that drowns the mean looks like it.
    assert cosine["flipped sign"] < 0 <= root["flipped sign"] < 0.1
    assert cosine["update times 3"] == pytest.approx(1.0, abs=0.15)
    assert cosine["noise on the update"] > 1.0 > 0.1 > root["noise on the update"]
    assert min(cosine["a copy of another's"], cosine["delta weights"]) > 0.8
    assert root["update times 3"] > 0.9


if __name__ == "__main__":
    print("\n".join(table()))
