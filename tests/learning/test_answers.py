"""Owners of a federation that really trains can ask for accuracies, but reach nobody's data."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario
from fedabm.common.errors import InputError
from fedabm.data.federated import FederatedData
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Linear
from fedabm.knowledge import Knowledge, Nothing
from fedabm.learning.engine.engine import Engine
from fedabm.learning.knowledge import FromUpdates, Measured
from fedabm.learning.oracles import Coalition, Learning, Trained
from fedabm.learning.oracles.answers import Answering
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments, ProportionalShapley, ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import Activation, RandomSubset, Simultaneous
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import FixedShare, GradientResponse, Liar, Strategy
from tests.conftest import assert_equal_frames
from tests.simulation.test_privacy import Bugged, Spy, leaks

COSTS = [0.00012345678912, 0.00023456789123, 0.00034567891234, 0.00045678912345]
SIZES = [101, 97, 89, 83]
#: one number in the data of each owner, once in its training part and once in its test part
PLANTED = [float(np.float32(number)) for number in (0.71234567, 0.61234567, 0.51234567, 0.41234567)]
TESTED = [float(np.float32(number)) for number in (0.37654321, 0.27654321, 0.17654321, 0.47654321)]
FULL = np.array(SIZES, dtype=float)


def secret_data() -> FederatedData:
    rng = np.random.default_rng(3)

    def part(sizes: list[int], secrets: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        x = rng.normal(size=(offsets[-1], 3)).astype(np.float32)
        x[offsets[:-1], 0] = secrets
        return x, (x.sum(axis=1) > 0).astype(np.int64), offsets

    return FederatedData("secret", *part(SIZES, PLANTED), *part([30] * 4, TESTED), 2)


def engine() -> Engine:
    return Engine("logistic", secret_data(), device="cpu")


def foreign(owner: int) -> list[float]:
    others = [row for row in range(4) if row != owner]
    return [float(column[row]) for column in (COSTS, SIZES, PLANTED, TESTED) for row in others]


def watched(
    mechanism: Mechanism,
    truth: Strategy,
    accuracy: Accuracy,
    activation: Activation | None = None,
    start: float = 0.0,
    knowledge: Knowledge | None = None,
) -> tuple[list[Spy], Bugged]:
    """Two steps of a federation whose owners start with a share of their data."""
    spies = [Spy(truth, number) for number in range(4)]
    rows = zip(COSTS, FULL.tolist(), spies, np.rint(start * FULL).tolist(), strict=True)
    owners = [OwnerProfile(Linear(cost), size, spy, first) for cost, size, spy, first in rows]
    bugged = Bugged(mechanism)
    scenario = Scenario(owners, accuracy, bugged, activation or Simultaneous(), steps=2, knowledge=knowledge)
    model = Federation(scenario, 5)
    model.step()
    model.step()
    return spies, bugged


#: contributions are public, so that no owner may give all it has
SHY = Liar(FixedShare(0.371), cost_factor=2.5, size_factor=1.7)
RUNS = {
    "trained": (NoPayments(), SHY, lambda: Trained(engine(), rounds=1)),
    "trained, slopes": (ContributionSubsidy(0.001), GradientResponse(50.0), lambda: Trained(engine(), rounds=1)),
    "trained, shares": (ShapleyShare(), SHY, lambda: Trained(engine(), rounds=1)),
    "trained, merits": (ProportionalShapley(0.5), SHY, lambda: Trained(engine(), rounds=1)),
    "learning": (NoPayments(), SHY, lambda: Learning(engine())),
    "learning, nothing known": (ShapleyShare(), SHY, lambda: Learning(engine())),
    "learning, measured": (ShapleyShare(), SHY, lambda: Learning(engine())),
    "learning, coalitions of updates": (ShapleyShare(), SHY, lambda: Learning(engine())),
    "learning, cosines": (NoPayments(), SHY, lambda: Learning(engine())),
    "learning, announced": (
        ShapleyShare(),
        SHY,
        lambda: Learning(engine(), announced=Trained(engine(), rounds=1)),
    ),
}


#: what the server knows, where that is not what the accuracy announces
KNOWN = {
    "learning, nothing known": Nothing(),
    "learning, measured": Measured(rounds=1, points=3, checks=1),
    "learning, coalitions of updates": FromUpdates(),
    "learning, cosines": FromUpdates("cosine"),
}


@pytest.mark.filterwarnings("ignore:ShapleyShare needs", "ignore:Bugged needs")
@pytest.mark.parametrize("name", RUNS)
def test_an_owner_reaches_nobodys_data(name: str) -> None:
    mechanism, truth, make = RUNS[name]
    accuracy = make()
    activation = RandomSubset(2) if name == "trained" else None
    spies, bugged = watched(mechanism, truth, accuracy, activation, knowledge=KNOWN.get(name))
    assert leaks(accuracy, [*PLANTED, *TESTED]) == [*PLANTED, *TESTED]
    for spy in spies:
        for view in spy.views:
            assert leaks(view, [*foreign(spy.number), *PLANTED, *TESTED]) == []
    for seen in bugged.seen:
        assert leaks(seen, [*COSTS, *PLANTED, *TESTED]) == []


def test_coalitions_of_a_trained_federation_are_answered_too() -> None:
    coalition = Coalition(engine(), np.rint(FULL / 2))
    spies, bugged = watched(ShapleyShare(), Halves(), coalition, start=0.5)
    views = [view for spy in spies for view in spy.views]
    assert len(views) == 8
    for view in views:
        assert np.isfinite(view.payoff.value(np.rint(view.capacity / 2))).all()
    assert all(leaks(seen, [*PLANTED, *TESTED]) == [] for seen in (*views, *bugged.seen))


class Halves(FixedShare):
    """Half of the data, as whole samples."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def act(self, view):  # type: ignore[no-untyped-def]
        return view.truthful(np.rint(view.capacity / 2))


# The search finds what is planted


def test_curves_that_hold_the_oracle_itself_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answering, "public", property(lambda oracle: oracle))
    spies, bugged = watched(NoPayments(), SHY, Trained(engine(), rounds=1))
    assert leaks(spies[0].views[0], [*PLANTED, *TESTED]) == [*PLANTED, *TESTED]
    assert leaks(bugged.seen[0], PLANTED) == PLANTED


def test_a_tensor_in_a_view_is_found_out() -> None:
    (spy, *_), _ = watched(NoPayments(), SHY, Trained(engine(), rounds=1))
    view = spy.views[0]
    for tensor in (torch.tensor([1.0, PLANTED[2]]), torch.tensor([1.0, PLANTED[2]])[:1]):
        object.__setattr__(view, "extra", {"a": tensor})
        assert leaks(view, PLANTED) == [PLANTED[2]]


# Answers


def test_answers_are_the_oracles_own() -> None:
    oracle = Trained(engine(), rounds=2, step=3)
    profiles = np.array([[10.0, 20.0, 0.0, 5.0], [50.0, 1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(oracle.public.values(profiles), oracle.values(profiles))
    np.testing.assert_array_equal(oracle.public.marginals(profiles[0]), oracle.marginals(profiles[0]))
    np.testing.assert_array_equal(oracle.public.curves(profiles[0]).value(profiles[0]), oracle.values(profiles)[0])
    two = oracle.public.curves(FULL).take([1, 3])
    everybody = oracle.curves(FULL)
    np.testing.assert_array_equal(two.slope(FULL[[1, 3]]), everybody.slope(FULL)[[1, 3]])
    assert oracle.public is oracle.public
    assert oracle.public.owners == 4


def test_nobody_answers_for_an_oracle_that_is_gone() -> None:
    oracle = Trained(engine(), rounds=1)
    kept, answers = replace(oracle, seed=1), oracle.public
    del oracle
    gc.collect()
    with pytest.raises(InputError, match="nobody answers"):
        answers.values(np.zeros((1, 4)))
    assert kept.public.values(np.zeros((1, 4))).shape == (1, 4)


def test_copies_answer_for_themselves() -> None:
    oracle = Trained(engine(), rounds=1)
    answers, other = oracle.public, pickle.loads(pickle.dumps((oracle, oracle.public)))
    twin = copy.deepcopy(oracle)
    expected = oracle.values(FULL[None])
    del oracle
    gc.collect()
    np.testing.assert_array_equal(answers.values(FULL[None]), expected)
    del twin
    gc.collect()
    np.testing.assert_array_equal(other[1].values(FULL[None]), expected)


def test_a_restored_federation_asks_its_own_oracle(tmp_path) -> None:  # type: ignore[no-untyped-def]
    def fresh() -> Federation:
        owners = [OwnerProfile(Linear(c), float(b), GradientResponse(100.0)) for c, b in zip(COSTS, SIZES, strict=True)]
        return Federation(Scenario(owners, Trained(engine(), rounds=1, step=10), ShapleyShare(), steps=3), 2)

    model = fresh()
    model.step()
    path = checkpoint.save(model, tmp_path / "run")
    expected = model.run().frames()
    del model
    gc.collect()
    assert_equal_frames(checkpoint.restore(path, fresh().scenario).run().frames(), expected)
