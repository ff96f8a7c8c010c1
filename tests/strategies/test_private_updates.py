"""Noise on updates: its length, its width, what it costs, and what it hides by the accountant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fedabm import Federation, InputError, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.common.privacy import epsilon_of
from fedabm.data import IID, from_partition, load_dataset
from fedabm.learning import Engine, Learning, Rounds, Trained
from fedabm.strategies import Attacker, Honest, PrivateUpdates, Streams, noise_for

OWNERS = 3


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("logistic", from_partition(load_dataset("digits"), IID(OWNERS), test_share=0.2), device="cpu")


def test_the_accountant_gives_the_known_values() -> None:
    """One update with noise 1 at delta 1e-5: 4.377, by the exact Gaussian mechanism (Balle & Wang 2018, Theorem 8)."""
    found = epsilon_of(np.array([0.0, 1.0, 10.0, np.inf]))
    assert found[[0, 3]].tolist() == [0.0, np.inf]
    np.testing.assert_allclose(found[1:3], [4.377178, 17.856587], atol=1e-5)
    for loss, epsilon in ((1.0, found[1]), (10.0, found[2])):
        mu = np.sqrt(loss)
        reached = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert reached == pytest.approx(1e-5, rel=1e-6)


def test_it_is_below_what_renyi_differential_privacy_proves() -> None:
    """Opacus' other accountant gives an upper bound: 4.73 for one update with noise 1."""
    accountant = pytest.importorskip("opacus.accountants").RDPAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=1.0)
    assert epsilon_of(np.array([1.0]))[0] < accountant.get_epsilon(delta=1e-5) < 4.8


@pytest.mark.parametrize(("epsilon", "updates"), [(1.0, 1), (8.0, 20), (50.0, 3)])
def test_the_noise_for_an_epsilon_reaches_it(epsilon: float, updates: int) -> None:
    noise = noise_for(epsilon, updates)
    assert epsilon_of(np.array([updates / noise**2]))[0] == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_updates_are_clipped_and_get_noise_of_the_stated_width(kind) -> None:
    rows = np.zeros((3, 4000), dtype=np.float32)
    rows[0, :4], rows[1, 0] = 5.0, 0.5  # of length 10 and 0.5; the third did not train
    streams = Streams([np.random.default_rng(seed) for seed in range(3)])
    quiet = np.asarray(PrivateUpdates(Honest(), noise=1e-9, clip=2.0)(kind(rows), kind(rows), streams))
    np.testing.assert_allclose(np.linalg.norm(quiet, axis=1), [2.0, 0.5, 0.0], atol=1e-5)
    loud = np.asarray(PrivateUpdates(Honest(), noise=3.0, clip=2.0)(kind(rows), kind(rows), streams))
    np.testing.assert_allclose(loud[:2].std(axis=1), 6.0, rtol=0.05)
    assert not loud[2].any()


def run(source, strategies, steps: int = 4) -> Federation:
    capacities = source.engine.data.capacities
    return Federation(Scenario(population([0.0] * OWNERS, capacities, strategies), source, steps=steps), seed=1).run()


def test_noise_costs_accuracy_and_less_noise_costs_less(engine: Engine) -> None:
    """Clipping at 3 leaves most of an update of digits; noise is that of every coordinate."""
    reached = [
        float(run(Learning(engine), strategy).population.accuracy.mean())
        for strategy in (Honest(), *(PrivateUpdates(Honest(), noise, clip=3.0) for noise in (0.01, 0.1, 0.3)))
    ]
    assert reached[1] > reached[0] - 0.1
    assert reached[1] > reached[2] + 0.02 > reached[3] + 0.04


def test_frames_say_what_was_revealed(engine: Engine) -> None:
    who = [PrivateUpdates(Honest(), 2.0), Honest(), PrivateUpdates(Attacker(Honest(), "sign_flip"), 4.0)]
    owners = run(Learning(engine), who).frames().owners
    last = owners[owners["step"] == 4].set_index("owner")["epsilon"]
    np.testing.assert_allclose(last[[0, 2]], epsilon_of(np.array([4 / 4, 4 / 16])))
    assert last[1] == np.inf
    assert owners[owners["owner"] == 0]["epsilon"].is_monotonic_increasing


@pytest.mark.parametrize(("kind", "each"), [(Rounds, 2), (Trained, 5)])
def test_every_update_counts_where_more_than_one_is_sent_in_a_step(kind, each: int, engine: Engine) -> None:
    source = kind(engine) if kind is Rounds else kind(engine, rounds=5)
    owners = run(source, PrivateUpdates(Honest(), 5.0), steps=2).frames().at_end("owners")
    np.testing.assert_allclose(owners["epsilon"], epsilon_of(np.array([2 * each / 25]))[0])


def test_closed_forms_send_nothing_and_bad_noise_is_refused() -> None:
    people = population([0.01] * 2, 10.0, PrivateUpdates(Honest(), 1.0))
    with pytest.warns(UserWarning, match="PowerLaw is no training"):
        frames = Federation(Scenario(people, PowerLaw(), steps=2)).run().frames()
    assert (frames.owners["epsilon"] == 0).all()
    for wrong in ({"noise": 0.0}, {"clip": -1.0}, {"noise": np.nan}):
        with pytest.raises(InputError):
            replace(PrivateUpdates(Honest()), **wrong)
