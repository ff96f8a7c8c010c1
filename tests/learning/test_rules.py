"""Every rule of learning a shared model: what all promise, and what each is known for."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor, nn

from fedabm import learning
from fedabm.common.errors import InputError
from fedabm.data.federated import FederatedData
from fedabm.learning import (
    CoordinateMedian,
    FedAdagrad,
    FedAdam,
    FedAvg,
    FedNova,
    FedProx,
    FedYogi,
    FLTrust,
    GeometricMedian,
    Krum,
    Rule,
    Scaffold,
    TrimmedMean,
)
from fedabm.learning.engine import elsewhere
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.rules import aggregate as aggregate_module
from fedabm.learning.rules.base import Memory, Received, Robust, Step
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import federate, one_round, server_part
from fedabm.learning.rules.server_optimiser import ServerOptimiser
from fedabm.specs.kinds import kinds

#: every rule that can be named, and a few with other fields or around another rule
RULES: dict[str, Rule] = {
    **{name: kind() for name, kind in kinds(learning, Rule).items()},
    "slow and equal": FedAvg(0.5, "equal"),
    "several of Krum": Krum(attackers=1, chosen=3),
    "nothing trimmed": TrimmedMean(0.0),
    "Adam around a median": FedAdam(inner=CoordinateMedian()),
    "held to the start, then Krum": FedProx(0.2, Krum()),
    "Yogi around controls": FedYogi(inner=Scaffold(FedAvg(weighting="equal"))),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
robust = pytest.mark.parametrize("rule", [rule for rule in RULES.values() if isinstance(rule, Robust)], ids=repr)

OWNERS, SIZE = 7, 5
CLAIMED = np.array([3.0, 1.0, 0.0, 4.0, 1.0, 5.0, 9.0])
STEPS = np.array([3, 1, 0, 4, 1, 5, 9])
NAN, INF = float("nan"), float("inf")


def random_updates(owners: int = OWNERS, size: int = SIZE, seed: int = 0) -> Tensor:
    return torch.randn(owners, size, generator=torch.Generator().manual_seed(seed))


def received(updates: Tensor, claimed: np.ndarray = CLAIMED, steps: np.ndarray = STEPS) -> Received:
    return Received(updates, aggregate_module.screen(updates), claimed, steps, 0.1)


def memory_of(rule: Rule, owners: int = OWNERS, rounds: int = 2) -> Memory:
    """What a rule remembers after some rounds."""
    memory = rule.begin(torch.zeros(SIZE), owners)
    for seed in range(rounds):
        sent = received(random_updates(owners, seed=10 + seed), np.resize(CLAIMED, owners), np.resize(STEPS, owners))
        memory = rule.step(sent, memory).memory
    return memory


def tensors(memory: Any) -> list[Tensor]:
    if memory is None:
        return []
    return [memory] if isinstance(memory, Tensor) else [tensor for part in memory for tensor in tensors(part)]


def reordered(memory: Any, order: Tensor) -> Any:
    """A memory whose rows, where it has one per owner, stand in another order."""
    if isinstance(memory, Tensor):
        return memory[order] if memory.dim() == 2 else memory
    parts = [reordered(part, order) for part in memory]
    return type(memory)(*parts) if hasattr(memory, "_fields") else tuple(parts)


def close(found: Any, expected: Any) -> None:
    for one, other in zip(tensors(found), tensors(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


# What all promise


def test_every_rule_is_in_the_list_and_has_a_name() -> None:
    named = kinds(learning, Rule)
    assert {"fed_avg", "fed_adam", "scaffold", "krum", "coordinate_median", "trimmed_mean"} <= set(named)
    assert all(issubclass(kind, Rule) for kind in named.values())
    ours = {kind for kind in _subclasses(Rule) if kind.__module__.startswith("fedabm.")}
    assert {kind for kind in ours if not inspect.isabstract(kind)} == set(named.values())


def _subclasses(kind: type) -> set[type]:
    return {one for sub in kind.__subclasses__() for one in (sub, *_subclasses(sub))}


@every_rule
def test_a_rule_is_frozen_equal_to_its_like_and_can_be_stored(rule: Rule) -> None:
    assert is_dataclass(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hash(rule) == hash(type(rule)(**{one.name: getattr(rule, one.name) for one in fields(rule)}))
    with pytest.raises(FrozenInstanceError):
        rule.anything = 1  # type: ignore[attr-defined]


@every_rule
def test_a_step_has_the_shape_of_a_model_and_the_memory_that_of_the_last(rule: Rule) -> None:
    memory = rule.begin(torch.zeros(SIZE), OWNERS)
    step = rule.step(received(random_updates()), memory)
    assert step.change.shape == (SIZE,)
    assert step.change.dtype == torch.float32
    assert [one.shape for one in tensors(step.memory)] == [one.shape for one in tensors(memory)]
    assert type(step.memory) is type(memory)
    assert step.change.any()


@every_rule
def test_the_same_again_gives_the_same_and_changes_nothing_that_was_given(rule: Rule) -> None:
    memory, updates = memory_of(rule), random_updates()
    before = [tensor.clone() for tensor in (updates, *tensors(memory))]
    one, other = rule.step(received(updates), memory), rule.step(received(updates), memory)
    assert torch.equal(one.change, other.change)
    assert all(torch.equal(a, b) for a, b in zip(tensors(one.memory), tensors(other.memory), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(before, (updates, *tensors(memory)), strict=True))


@every_rule
def test_the_order_of_owners_does_not_matter(rule: Rule) -> None:
    memory, updates = memory_of(rule), random_updates()
    order = np.array([5, 0, 3, 6, 1, 4, 2])
    straight = rule.step(received(updates), memory)
    if isinstance(rule, FLTrust):
        rule = FLTrust(root=int(np.flatnonzero(order == rule.root)[0]))  # the same owner, where it stands now
    turned = rule.step(
        received(updates[order], CLAIMED[order], STEPS[order]), reordered(memory, torch.from_numpy(order))
    )
    close(turned.change, straight.change)
    close(turned.memory, reordered(straight.memory, torch.from_numpy(order)))


@pytest.mark.parametrize("broken", [NAN, INF, -INF])
@every_rule
def test_a_broken_update_reaches_nobody(rule: Rule, broken: float) -> None:
    """The step is that without the owner, and its row of the memory stays as it was."""
    memory, updates = memory_of(rule), random_updates()
    updates[3, 2] = broken
    found = rule.step(received(updates), memory)
    assert all(torch.isfinite(tensor).all() for tensor in (found.change, *tensors(found.memory)))
    without = np.where(np.arange(OWNERS) == 3, 0.0, CLAIMED)
    expected = rule.step(received(updates.nan_to_num(0.0, 0.0, 0.0), without, np.where(without > 0, STEPS, 0)), memory)
    close(found.change, expected.change)
    for before, after in zip(tensors(memory), tensors(found.memory), strict=True):
        assert before.dim() == 1 or torch.equal(before[3], after[3])


@every_rule
def test_who_claims_nothing_does_not_count(rule: Rule) -> None:
    memory, updates = memory_of(rule), random_updates()
    moved = updates.clone()
    moved[2] = 1e6
    close(rule.step(received(moved), memory).change, rule.step(received(updates), memory).change)


@pytest.mark.parametrize("who", ["nobody claims anything", "everything is broken"])
@every_rule
def test_without_anybody_a_model_without_past_stays(rule: Rule, who: str) -> None:
    nobody = who == "nobody claims anything"
    updates = random_updates() if nobody else torch.full((OWNERS, SIZE), NAN)
    step = rule.step(received(updates, np.zeros(OWNERS) if nobody else CLAIMED), rule.begin(torch.zeros(SIZE), OWNERS))
    assert torch.equal(step.change, torch.zeros(SIZE))


@pytest.mark.parametrize("owners", [1, 2, 3, OWNERS])
@every_rule
def test_equal_updates_give_that_update(rule: Rule, owners: int) -> None:
    """All but server optimisers, which go that way, with a step in every coordinate's own unit.

    The server's own update under FLTrust judges those of others; where there are none nothing is learned.
    """
    update = random_updates(1)[0]
    claimed = np.arange(1.0, owners + 1)
    sent = received(update.repeat(owners, 1), claimed, np.full(owners, 4))
    change = rule.step(sent, rule.begin(torch.zeros(SIZE), owners)).change
    if isinstance(rule, FLTrust) and owners == 1:
        assert not change.any()
    elif isinstance(rule, ServerOptimiser):
        assert torch.equal(change.sign(), update.sign())
    else:
        rate = rule.rate if isinstance(rule, FedAvg) else 1.0
        torch.testing.assert_close(change, rate * update)


@every_rule
def test_a_round_passes_without_values(rule: Rule) -> None:
    """On the meta device, where whatever is pulled to the host fails."""
    data = linear_data()[0]
    engine = engine_of(data, "meta")
    recipe = Recipe(batch=4, optimiser=SGD(0.1), rule=rule)
    first = one_round(engine, engine.initial(0), data.capacities, recipe, 0, 0)
    second = one_round(engine, first.model, np.array([3.0, 0.0, 5.0]), recipe, 0, 1, memory=first.memory)
    for tensor in (second.model, *tensors(second.memory)):
        assert tensor.device.type == "meta"


@every_rule
def test_columns_can_be_worked_on_piece_by_piece(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, updates = memory_of(rule), random_updates()
    updates[1, 4] = NAN
    whole = rule.step(received(updates), memory)
    monkeypatch.setattr(elsewhere, "PIECE", 15)
    close(rule.step(received(updates), memory), whole)


@every_rule
def test_a_step_out_of_the_range_of_numbers_is_not_made(rule: Rule) -> None:
    memory, start = memory_of(rule), torch.full((SIZE,), 3e38)
    sent = received(torch.full((OWNERS, SIZE), 3e38))
    done = server_part(rule, start, sent, memory)
    assert all(torch.isfinite(tensor).all() for tensor in (done.model, *tensors(done.memory)))
    if not isinstance(rule, ServerOptimiser):
        assert torch.equal(done.model, start)


# Averages


def test_federated_averaging_weighs_by_claims_or_counts_all_alike() -> None:
    updates = torch.tensor([[1.0, 0.0], [4.0, 0.0], [NAN, 0.0], [9.0, 9.0]])
    sent = received(updates, np.array([3.0, 1.0, 9.0, 0.0]), np.ones(4, dtype=int))
    torch.testing.assert_close(FedAvg().step(sent, ()).change, torch.tensor([1.75, 0.0]))
    torch.testing.assert_close(FedAvg(0.5, "equal").step(sent, ()).change, torch.tensor([1.25, 0.0]))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_shares_sum_to_one_or_are_nothing(claims: list[int]) -> None:
    for rule in (FedAvg(), FedAvg(weighting="equal")):
        shares = rule.shares(np.array(claims, dtype=float))
        assert shares.sum() == pytest.approx(1.0 if any(claims) else 0.0)
        assert np.all((shares > 0) == (np.array(claims) > 0))


def linear_data(sizes: tuple[int, ...] = (6, 4, 8), seed: int = 0) -> tuple[FederatedData, np.ndarray]:
    """Owners with linear problems of their own, far from each other; and the best model for all of them together."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x = rng.normal(size=(offsets[-1], 2)).astype(np.float32)
    slopes = np.repeat(rng.normal(scale=3.0, size=(len(sizes), 2)), sizes, axis=0)
    y = ((x * slopes).sum(axis=1) + np.repeat(rng.normal(size=len(sizes)), sizes)).astype(np.float32)
    data = FederatedData("linear", x, y, offsets, x, y, offsets, None)
    best = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]).astype(float), y.astype(float), rcond=None)[0]
    return data, best


def engine_of(data: FederatedData, device: str = "cpu") -> Engine:
    return Engine(nn.Sequential(nn.Linear(2, 1)), data, device=device)


def distance(recipe: Recipe, rounds: int) -> float:
    """How far from the optimum of all owners' data a linear model ends."""
    data, best = linear_data()
    model, _ = federate(engine_of(data), data.capacities, recipe, rounds, seed=0)
    return float(np.linalg.norm(model.numpy() - best))


def test_controls_lead_to_the_optimum_that_averaging_misses() -> None:
    """Karimireddy et al. 2020: with several local steps on unlike data FedAvg ends elsewhere, SCAFFOLD does not."""
    assert distance(Recipe(None, 10, 100, SGD(0.05), FedAvg()), rounds=150) > 0.1
    assert distance(Recipe(None, 10, 100, SGD(0.05), Scaffold()), rounds=150) < 1e-3


def test_controls_equal_a_plain_loop() -> None:
    """Algorithm 1, option II, with everybody taking part and all alike, in plain NumPy."""
    data, _ = linear_data()
    engine = engine_of(data)
    recipe = Recipe(None, 5, 100, SGD(0.05), Scaffold(FedAvg(0.8, "equal")))
    found, _ = federate(engine, data.capacities, recipe, rounds=4, seed=0)
    model = engine.initial(0).numpy().astype(float)
    own, whole = np.zeros((3, 3)), np.zeros(3)
    for _ in range(4):
        ends, fresh = [], []
        for owner in range(3):
            x, y = data.train(owner)
            inputs, w = np.column_stack([x, np.ones(len(x))]).astype(float), model.copy()
            for _ in range(5):
                w -= 0.05 * (2 * inputs.T @ (inputs @ w - y) / len(y) - own[owner] + whole)
            ends.append(w)
            fresh.append(own[owner] - whole + (model - w) / (5 * 0.05))
        model = model + 0.8 * (np.mean(ends, axis=0) - model)
        whole = whole + np.mean(np.array(fresh) - own, axis=0)
        own = np.array(fresh)
    np.testing.assert_allclose(found.numpy(), model, atol=1e-4)


def test_controls_follow_the_data_of_those_that_take_part() -> None:
    """Who contributes nothing is no part of the objective, and who stops is forgotten."""
    data, _ = linear_data()
    engine = engine_of(data)
    recipe = Recipe(None, 10, 100, SGD(0.05), Scaffold())
    model, memory = engine.initial(0), None
    for number in range(170):
        profile = data.capacities if number < 20 else data.capacities * np.array([1, 0, 1])
        done = one_round(engine, model, profile, recipe, 0, number, memory=memory)
        model, memory = done.model, done.memory
    keep = np.r_[0:6, 10:18]
    inputs = np.column_stack([data.x_train[keep], np.ones(14)]).astype(float)
    best = np.linalg.lstsq(inputs, data.y_train[keep].astype(float), rcond=None)[0]
    np.testing.assert_allclose(model.numpy(), best, atol=1e-3)


def test_normalised_averaging_does_not_favour_who_trains_longer() -> None:
    """Wang et al. 2020: with unequal numbers of local steps FedAvg's optimum is another, FedNova's (nearly) not.

    Owners with more data take more steps, so that in small steps FedAvg weighs owner i by p_i k_i.
    """
    biased, unbiased = (distance(Recipe(1, None, 1, SGD(0.01), rule), rounds=300) for rule in (FedAvg(), FedNova()))
    assert unbiased < 0.1 * biased


def test_proximity_holds_owners_to_the_model() -> None:
    data, _ = linear_data()
    engine, start = engine_of(data), torch.zeros(3)

    def moved(rule: Rule) -> Tensor:
        return one_round(engine, start, data.capacities, Recipe(None, 20, 100, SGD(0.05), rule), 0, 0).updates

    free, held = moved(FedAvg()), moved(FedProx(2.0))
    assert torch.all(held.norm(dim=1) < 0.7 * free.norm(dim=1))
    assert torch.equal(moved(FedProx(0.0)), free)
    torch.testing.assert_close(moved(FedProx(2.0, Krum())), held)


# Server optimisers


@pytest.mark.parametrize("kind", [FedAdagrad, FedAdam, FedYogi])
def test_server_optimisers_equal_the_printed_algorithm(kind: type[ServerOptimiser]) -> None:
    """Reddi et al. 2021, Algorithm 2, number by number."""
    rule = kind(rate=0.3, betas=(0.8, 0.95), floor=0.01)
    model, memory = torch.zeros(SIZE), rule.begin(torch.zeros(SIZE), OWNERS)
    x, m, v = np.zeros(SIZE), np.zeros(SIZE), np.full(SIZE, 0.01**2)
    for seed in range(6):
        updates = random_updates(seed=seed)
        done = server_part(rule, model, received(updates), memory)
        model, memory = done.model, done.memory
        mean = CLAIMED / CLAIMED.sum() @ updates.numpy().astype(float)
        for k in range(SIZE):
            m[k] = 0.8 * m[k] + 0.2 * mean[k]
            square = mean[k] ** 2
            if kind is FedAdagrad:
                v[k] += square
            elif kind is FedAdam:
                v[k] = 0.95 * v[k] + 0.05 * square
            else:
                v[k] -= 0.05 * square * np.sign(v[k] - square)
            x[k] += 0.3 * m[k] / (np.sqrt(v[k]) + 0.01)
    np.testing.assert_allclose(model.numpy(), x, rtol=1e-4, atol=1e-5)


def test_a_server_optimiser_forgets_a_step_that_was_not_made() -> None:
    rule = FedAdam()
    memory = memory_of(rule)
    done = server_part(rule, torch.zeros(SIZE), received(torch.full((OWNERS, SIZE), 1e30)), memory)
    assert torch.equal(done.model, torch.zeros(SIZE))
    close(done.memory, memory)


# Rules for owners that may send anything


def attacked(attackers: int, size: float, owners: int = 11) -> tuple[Tensor, Received]:
    """Honest updates around one, some others far away; and what reached the server."""
    updates = 1.0 + 0.1 * random_updates(owners, 20, seed=4)
    honest = updates[attackers:].clone()
    updates[:attackers] = size * random_updates(attackers, 20, seed=5)
    return honest, received(updates, np.ones(owners), np.ones(owners, dtype=int))


@pytest.mark.parametrize("size", [-10.0, 1e6, 3e37])
@robust
def test_a_few_huge_updates_move_no_robust_rule_but_ruin_the_mean(rule: Rule, size: float) -> None:
    attackers = {TrimmedMean(0.0): 0, Krum(attackers=1, chosen=3): 1, TrimmedMean(): 2}.get(rule, 4)  # type: ignore[call-overload]
    honest, sent = attacked(attackers, size)
    low, high = honest.min(dim=0).values, honest.max(dim=0).values
    found = rule.step(sent, ()).change
    assert torch.all((found >= low - 0.1) & (found <= high + 0.1))
    mean = FedAvg().step(sent, ()).change
    assert attackers == 0 or not torch.all((mean >= low - 0.1) & (mean <= high + 0.1))


@given(st.integers(1, 9), st.integers(0, 10**6))
def test_the_median_of_every_coordinate_is_numpys(owners: int, seed: int) -> None:
    updates = random_updates(owners, seed=seed)
    found = CoordinateMedian().step(received(updates, np.ones(owners), np.ones(owners, dtype=int)), ()).change
    np.testing.assert_allclose(found.numpy(), np.median(updates.numpy(), axis=0), atol=1e-6)


@given(st.integers(1, 12), st.floats(0.0, 0.49), st.integers(0, 10**6))
def test_the_trimmed_mean_is_that_of_the_inner_rows(owners: int, share: float, seed: int) -> None:
    updates = random_updates(owners, seed=seed)
    cut = min(int(np.ceil(share * owners - 1e-9)), (owners - 1) // 2)
    expected = np.sort(updates.numpy(), axis=0)[cut : owners - cut].mean(axis=0)
    found = TrimmedMean(share).step(received(updates, np.ones(owners), np.ones(owners, dtype=int)), ()).change
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(("owners", "attackers"), [(5, 1), (9, 3), (9, None), (6, 0)])
def test_krum_by_plain_loops(owners: int, attackers: int | None) -> None:
    updates = random_updates(owners, seed=9)
    number = (owners - 3) // 2 if attackers is None else attackers
    scores = []
    for i in range(owners):
        apart = sorted(float(((updates[i] - updates[j]) ** 2).sum()) for j in range(owners) if j != i)
        scores.append(sum(apart[: owners - number - 2]))
    sent = received(updates, np.ones(owners), np.ones(owners, dtype=int))
    assert torch.equal(Krum(attackers).step(sent, ()).change, updates[int(np.argmin(scores))])
    best = np.argsort(scores)[:3].tolist()
    torch.testing.assert_close(Krum(attackers, 3).step(sent, ()).change, updates[best].mean(0))


def test_krum_averages_who_are_equally_near_and_takes_whoever_is_left() -> None:
    pair = received(torch.tensor([[1.0, 0.0], [3.0, 2.0]]), np.ones(2), np.ones(2, dtype=int))
    torch.testing.assert_close(Krum().step(pair, ()).change, torch.tensor([2.0, 1.0]))
    one = received(torch.tensor([[NAN, 0.0], [3.0, 2.0]]), np.ones(2), np.ones(2, dtype=int))
    torch.testing.assert_close(Krum().step(one, ()).change, torch.tensor([3.0, 2.0]))


@given(st.integers(3, 9), st.integers(0, 10**6))
def test_the_geometric_median_is_scipys(owners: int, seed: int) -> None:
    updates = random_updates(owners, 3, seed)
    rows = updates.numpy().astype(float)

    def total(point: np.ndarray) -> float:
        return float(np.linalg.norm(rows - point, axis=1).sum())

    found = GeometricMedian(500).step(received(updates, np.ones(owners), np.ones(owners, dtype=int)), ()).change.numpy()
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10**4}
    best = minimize(total, np.median(rows, axis=0), method="Nelder-Mead", options=options).fun
    assert total(found.astype(float)) <= best * (1 + 1e-4)


# Recipes and rules of one's own


def test_rules_that_need_plain_descent_want_it() -> None:
    for rule in (Scaffold(), FedNova(), FedProx(0.1, Scaffold()), FedAdam(inner=FedNova())):
        with pytest.raises(InputError, match=r"needs plain local descent, got .*; use SGD\(rate\) without momentum"):
            Recipe(optimiser=Adam(), rule=rule)
        assert Recipe(optimiser=SGD(0.1), rule=rule).rule is rule


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Recipe(rule="krum"), "rule must be a Rule, got 'krum'; give an object"),
        (lambda: FedAvg(rate=0.0), "rate must be a positive number"),
        (lambda: FedProx(-1.0), "strength must be zero or a positive number"),
        (lambda: FedProx(1e300), "strength must be a single number up to 1e"),
        (lambda: FedAvg(rate=1e38), "rate must be a single number up to 1e"),
        (lambda: FedAdam(betas=(0.9, 1.0)), "betas must be two numbers"),
        (lambda: FedAdam(inner="fed_avg"), "inner must be a Rule"),
        (lambda: Scaffold(Krum()), "averaging must be a FedAvg"),
        (lambda: TrimmedMean(0.5), r"share must lie in \[0, 0.5\)"),
        (lambda: Krum(attackers=-1), "attackers"),
        (lambda: Krum(chosen=0), "chosen"),
        (lambda: GeometricMedian(smoothing=0.0), "smoothing must be a positive number"),
    ],
)
def test_bad_settings_are_one_clear_line(wrong: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as told:
        wrong()
    assert "\n" not in str(told.value)


@dataclass(frozen=True)
class Largest(Rule):
    """The longest update alone: a rule of a user's own."""

    def step(self, received: Received, memory: Memory) -> Step:
        rows, usable = received.members()
        lengths = torch.where(usable, rows.norm(dim=1), -1.0)
        return Step(rows[lengths.argmax()])


def test_a_rule_of_ones_own_learns() -> None:
    data, _ = linear_data()
    engine = engine_of(data)
    done = one_round(engine, engine.initial(0), data.capacities, Recipe(rule=Largest()), 0, 0)
    longest = done.updates[done.updates.norm(dim=1).argmax()]
    torch.testing.assert_close(done.model, engine.initial(0) + longest)
