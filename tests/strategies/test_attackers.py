"""Attackers change what they send and nothing else: each attack by hand, and all of them beside every mechanism."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from fedabm import Scenario, population
from fedabm.common.errors import InputError
from fedabm.common.random import Streams, owner_streams
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID
from fedabm.games.messages import Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Learning, MeasuredCurve, Trained
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import NoPayments
from fedabm.papers.ipfl2025.settings import RIVALS
from fedabm.strategies import FixedShare, FreeRider, Honest, Liar, Quitter, Random, Strategy
from fedabm.strategies.attackers import ATTACKS, Attacker
from fedabm.testing.owner_views import view_of
from tests.conftest import assert_equal_frames, run
from tests.mechanisms.test_mechanisms import PROMISING

KINDS = sorted(ATTACKS)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_rule = pytest.mark.parametrize("mechanism", RIVALS, ids=lambda rule: type(rule).__name__)
RANDOM = ("gaussian", "noise", "random_model", "shuffle")

UPDATE = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], dtype=np.float32)
RECEIVED = np.array([[10.0, 20.0, 30.0], [-1.0, 2.0, 2.0]], dtype=np.float32)
MODEL = RECEIVED + UPDATE


def sends(kind: str, rows=UPDATE, received=RECEIVED, seed: int = 0, **how) -> np.ndarray:
    """The update that reaches the server."""
    return Attacker(Honest(), kind, **how)(rows, received, owner_streams(seed, len(rows)))


def drawn(seed: int = 0) -> np.ndarray:
    """The normal numbers of two owners' streams."""
    return np.stack([one.standard_normal(3, dtype=np.float32) for one in owner_streams(seed, 2).each()])


# By hand, on a 2 x 3 update


@pytest.mark.parametrize(
    ("kind", "how", "expected"),
    [
        ("sign_flip", {}, -UPDATE),
        ("sign_flip", {"scale": 3.0}, -3 * UPDATE),
        ("sign_flip", {"full": True}, -MODEL - RECEIVED),
        ("constant", {}, np.ones((2, 3))),
        ("constant", {"scale": 0.5, "full": True}, 0.5 - RECEIVED),
        ("scaled", {}, 10 * UPDATE),
        ("scaled", {"scale": 2.0, "full": True}, 2 * MODEL - RECEIVED),
        ("nan", {}, np.full((2, 3), np.nan)),
        ("nan", {"full": True}, np.full((2, 3), np.nan)),
        ("inf", {}, np.full((2, 3), np.inf)),
        ("inf", {"full": True}, np.full((2, 3), np.inf)),
        ("free_ride", {}, np.zeros((2, 3))),
        ("free_ride", {"full": True}, np.zeros((2, 3))),
        ("free_ride", {"scale": 0.1}, 0.1 * drawn()),
        ("gaussian", {"scale": 2.0}, 2 * drawn()),
        ("gaussian", {"full": True}, drawn() - RECEIVED),
        ("noise", {"scale": 0.1}, UPDATE + 0.1 * drawn()),
        ("noise", {"scale": 0.1, "full": True}, UPDATE + 0.1 * drawn()),
        ("random_model", {}, np.array([[1400 / 3], [3.0]]) ** 0.5 * drawn() - RECEIVED),
    ],
)
@pytest.mark.parametrize("kinds", ["numpy", "torch"])
def test_what_is_sent(kind, how, expected, kinds):
    rows = (UPDATE, RECEIVED) if kinds == "numpy" else (torch.from_numpy(UPDATE), torch.from_numpy(RECEIVED))
    found = sends(kind, *rows, **how)
    assert isinstance(found, type(rows[0]))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("full", [False, True])
def test_shuffling_keeps_every_number_of_a_row(full):
    rng = np.random.default_rng(0)
    update, received = (rng.normal(size=(2, 50)).astype(np.float32) for _ in range(2))
    found = sends("shuffle", update, received, full=full)
    before, after = (received + update, received + found) if full else (update, found)
    np.testing.assert_allclose(np.sort(before, axis=1), np.sort(after, axis=1), atol=1e-5)
    assert np.mean(np.abs(before - after) > 1e-3) > 0.8
    order = [one.permutation(50) for one in owner_streams(0, 2).each()]
    np.testing.assert_allclose(
        after, np.stack([row[place] for row, place in zip(before, order, strict=True)]), atol=1e-5
    )


@every_kind
def test_an_attack_leaves_its_input_alone_and_each_row_to_its_owner(kind):
    update, received = UPDATE.copy(), RECEIVED.copy()
    together = sends(kind, update, received)
    np.testing.assert_array_equal(update, UPDATE)
    np.testing.assert_array_equal(received, RECEIVED)
    for i in range(2):
        alone = Attacker(Honest(), kind)(UPDATE[[i]], RECEIVED[[i]], owner_streams(0, 2).take([i]))
        np.testing.assert_array_equal(alone[0], together[i])


@every_kind
@pytest.mark.parametrize("full", [False, True])
def test_attacks_pass_without_values(kind, full):
    rows = torch.empty(2, 3, device="meta")
    sent = Attacker(Honest(), kind, full=full)(rows, rows, owner_streams(0, 2))
    assert (sent.device.type, tuple(sent.shape), sent.dtype) == ("meta", (2, 3), torch.float32)


@every_kind
def test_a_round_with_an_attacker_passes_through_the_meta_device(kind):
    ghost = Engine("logistic", digits(), device="meta")
    attack = Tampering(np.array([1]), Attacker(Honest(), kind), owner_streams(0, 1))
    done = one_round(ghost, ghost.initial(0), np.full(4, 20.0), Recipe(), 0, 0, None, (attack,))
    assert done.model.device.type == "meta"


# As a strategy


def test_an_attacker_does_and_says_what_it_wraps():
    inner = Liar(FixedShare(0.5), size_factor=2.0)
    plain, attack = inner.act(view_of(4)), Attacker(inner, "nan").act(view_of(4))
    np.testing.assert_array_equal(plain.contribution, attack.contribution)
    np.testing.assert_array_equal(plain.report.size, attack.report.size)
    assert plain.tamper is None
    assert attack.tamper is not None


def test_one_that_does_not_train_still_claims():
    inner = Quitter(FixedShare(0.5))
    plain, attack = inner.act(view_of(4)), Attacker(inner, "constant", trains=False).act(view_of(4))
    assert not attack.contribution.any()
    np.testing.assert_array_equal(plain.report.contribution, attack.report.contribution)
    np.testing.assert_array_equal(plain.stay, attack.stay)


def test_attacks_can_be_stacked():
    twice = Attacker(Attacker(Honest(), "sign_flip", scale=2.0), "scaled", scale=5.0)
    tamper = twice.act(view_of(2)).tamper
    np.testing.assert_allclose(tamper(UPDATE, RECEIVED, owner_streams(0, 2)), -10 * UPDATE)
    assert twice.label == "attacker_scaled(attacker_sign_flip(honest))"
    assert pickle.loads(pickle.dumps(tamper))(UPDATE, RECEIVED, owner_streams(0, 2))[0, 0] == -10


def test_equal_attackers_are_equal():
    assert Attacker(Honest(), "scaled") == Attacker(Honest(), "scaled", scale=10.0)
    assert len({Attacker(Honest(), kind) for kind in KINDS}) == len(KINDS)


def test_bad_attackers_say_what_to_do():
    with pytest.raises(InputError, match="did you mean 'sign_flip'"):
        Attacker(Honest(), "sign_flop")
    with pytest.raises(InputError, match="wraps a strategy"):
        Attacker("honest")
    with pytest.raises(InputError, match="scale"):
        Attacker(Honest(), "scaled", scale=-1.0)


def test_strategies_need_no_torch():
    code = "import sys, fedabm.strategies; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# In federations that train


@cache
def digits(samples: int = 20) -> FederatedData:
    data = from_partition(load_dataset("digits"), IID(4), test_share=0.2)
    rows = np.concatenate([np.arange(first, first + samples) for first in data.offsets[:-1]])
    return replace(data, x_train=data.x_train[rows], y_train=data.y_train[rows], offsets=samples * np.arange(5))


@cache
def engine() -> Engine:
    return Engine("logistic", digits(), device="cpu")


CURVE = MeasuredCurve([0, 20, 40, 80], [0.1, 0.4, 0.6, 0.7])


def learning(strategies: list[Strategy], **changes) -> Scenario:
    owners = population([0.001, 0.002, 0.003, 0.004], 20.0, strategies)
    return replace(Scenario(owners, Learning(engine(), announced=CURVE), steps=3), **changes)


def personal(strategies: list[Strategy], mechanism) -> Scenario:
    return learning(strategies, accuracy=Personal(engine()), mechanism=mechanism)


def crowd(attacker: Strategy) -> list[Strategy]:
    return [attacker, Honest(), Random(), Honest()]


def drawn_by_others(made) -> np.ndarray:
    return made.frames().owners.query("owner > 0")["contribution"].to_numpy()


@cache
def draws_without_attacker() -> np.ndarray:
    return drawn_by_others(run(learning(crowd(Honest()))))


@every_kind
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("trains", [False, True])
def test_nobodys_numbers_break_and_nobodys_draws_change(kind, full, trains):
    made = run(learning(crowd(Attacker(Honest(), kind, full=full, trains=trains))))
    frame = made.frames().owners
    assert np.all(np.isfinite(frame[["accuracy", "utility", "payment"]]))
    assert torch.isfinite(made.training.weights(made.state)).all()
    np.testing.assert_array_equal(draws_without_attacker(), drawn_by_others(made))
    assert frame.query("owner == 0")["rejected"].all() == (kind in ("nan", "inf"))
    assert not frame.query("owner > 0")["rejected"].any()
    if kind in RANDOM:
        assert_equal_frames(made.frames(), run(made.scenario).frames())


def three_at_a_time(**how) -> list[list[Strategy]]:
    """Every attack, three of them beside an owner with random draws."""
    people = [Attacker(Honest(), kind, **how) for kind in KINDS]
    return [[Random(), *(people + people)[first : first + 3]] for first in range(0, len(people), 3)]


@pytest.mark.parametrize("mechanism", PROMISING.values(), ids=PROMISING.keys())
def test_every_attacker_meets_every_mechanism(mechanism):
    for people in three_at_a_time():
        made = run(learning(people, mechanism=mechanism, steps=2))
        assert np.all(np.isfinite(made.frames().owners[["accuracy", "utility", "payment"]]))
        assert torch.isfinite(made.training.weights(made.state)).all()


@every_rule
@pytest.mark.parametrize("full", [False, True])
def test_every_attacker_meets_every_rule_with_a_model_per_owner(full, mechanism):
    draws = set()
    for people in three_at_a_time(full=full):
        made = run(personal(people, mechanism))
        assert np.all(np.isfinite(made.frames().owners[["accuracy", "utility"]]))
        assert torch.isfinite(made.state.models).all()
        draws.add(tuple(made.frames().owners.query("owner == 0")["contribution"]))
    assert len(draws) == 1


@every_rule
@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_broken_models_never_reach_the_others(kind, mechanism):
    """Which way they break, and whether their sender trained, is the same to everybody else."""
    seen = []
    for attacker in (Attacker(Honest(), kind), Attacker(Honest(), kind, full=True, trains=False)):
        made = run(personal([attacker, Honest(), Honest(), Honest()], mechanism))
        frame = made.frames().owners
        assert frame.query("owner == 0")["rejected"].all()
        seen.append(frame.query("owner > 0")["accuracy"].to_numpy())
    np.testing.assert_array_equal(*seen)


def test_a_free_rider_that_returns_the_model_slows_the_others_down():
    lazy = run(learning([Attacker(Honest(), "free_ride", trains=False), Honest(), Honest(), Honest()], steps=1))
    start, full = engine().initial(0), np.full(4, 20.0)
    sent = one_round(engine(), start, full, Recipe(), 0, 0).updates
    torch.testing.assert_close(lazy.training.weights(lazy.state), start + sent[1:].sum(0) / 4)
    # One that says honestly that it contributes nothing does not count at all.
    frank = run(learning([FreeRider(), Honest(), Honest(), Honest()], steps=1))
    torch.testing.assert_close(frank.training.weights(frank.state), start + sent[1:].mean(0))


def test_what_it_wraps_decides_its_weight():
    """A flipped and boasted update turns the model round; a modest one hardly hurts."""
    start = engine().initial(0)
    sent = one_round(engine(), start, np.full(4, 20.0), Recipe(), 0, 0).updates
    loud = Attacker(Liar(Honest(), contribution_factor=1e6), "sign_flip")
    made = run(learning([loud, Honest(), Honest(), Honest()], steps=1))
    torch.testing.assert_close(made.training.weights(made.state), start - sent[0], atol=1e-4, rtol=0)


def test_trained_oracles_are_attacked_too():
    oracle = Trained(engine(), rounds=2)
    made = run(learning([Attacker(Honest(), "gaussian"), Honest(), Honest(), Honest()], accuracy=oracle, steps=2))
    assert made.population.accuracy.mean() < oracle.values(np.full((1, 4), 20.0))[0].mean() - 0.1


def test_equal_attackers_act_as_one_cohort():
    pair = [Attacker(Honest(), "gaussian"), Attacker(Honest(), "gaussian"), Honest(), Honest()]
    made = run(learning(pair, mechanism=NoPayments()))
    tampering = made.population.tampering(made.steps)
    assert [attack.members.tolist() for attack in tampering] == [[0, 1]]
    assert isinstance(tampering[0].rng, Streams)
    assert set(made.frames().owners["strategy"]) == {"attacker_gaussian(honest)", "honest"}


def test_an_attacker_may_ask_a_price_for_what_costs_it_nothing():
    """As in the authors' code of iPFL 2025: true cost 0, reported cost 1, from the first announcement on."""
    view = view_of(2, rate=np.zeros(2), capacity=np.array([5.0, 7.0]), exponent=np.ones(2))
    attacker = Attacker(Honest(), "gaussian", trains=False, asks=1.0)
    action = attacker.act(view)
    ones = np.ones(2)
    np.testing.assert_array_equal(action.report.cost.unit(ones), [1.0, 1.0])
    np.testing.assert_array_equal(attacker.declare(view.report(ones)).cost.unit(ones), [1.0, 1.0])
    np.testing.assert_array_equal(action.contribution, [0.0, 0.0])
    np.testing.assert_array_equal(action.report.contribution, [5.0, 7.0])
    free = Attacker(Honest(), "gaussian").act(view)
    np.testing.assert_array_equal(free.report.cost.unit(ones), [0.0, 0.0])
    with pytest.raises(InputError, match="asks"):
        Attacker(Honest(), "gaussian", asks=-1.0)


def test_an_attacker_around_another_replaces_whole_models_if_either_does():
    inner = Attacker(Honest(), "sign_flip", full=True)
    for outer in (Attacker(inner, "scaled"), Attacker(Attacker(Honest(), "scaled"), "sign_flip", full=True)):
        tamper = outer.act(view_of(2)).tamper
        assert Tampering(np.array([0, 1]), tamper, owner_streams(0, 2)).whole
    plain = Attacker(Attacker(Honest(), "scaled"), "sign_flip").act(view_of(2)).tamper
    assert not Tampering(np.array([0, 1]), plain, owner_streams(0, 2)).whole
    np.testing.assert_array_equal(plain(UPDATE, RECEIVED, owner_streams(0, 2)), -10 * UPDATE)
    assert pickle.loads(pickle.dumps(plain)) == plain
