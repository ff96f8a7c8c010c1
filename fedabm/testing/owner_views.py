"""Views of a cohort with a random past, on which strategies are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.games.curves import Array
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, ShapleyShare
from fedabm.strategies import Strategy
from fedabm.views import Action, Experience, Memory, Neighbours, OwnerView, Payoff, Reports
from fedabm.views.memory import held, take_rows

__all__ = ["RULES", "columns", "first_view", "flat", "row", "view_of", "with_other_secrets"]

#: under what strategies are asked to act
RULES: tuple[Mechanism, ...] = (ContributionSubsidy(0.02), CostSharing(0.5), ShapleyShare())


def view_of(
    n: int, seed: int = 0, mechanism: Mechanism = RULES[0], strategy: Strategy | None = None, **secrets: Array
) -> OwnerView:
    """A cohort's view with random public past, and secrets that may be given; a strategy remembers three steps."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 20, n)
    rate = rng.uniform(0.001, 0.3, n)
    exponent = rng.choice([1.0, 1.5, 2.0], n)
    claimed, last = rng.uniform(0, 2, n), rng.uniform(0, 1, n)
    capacity, rate = secrets.get("capacity", capacity), secrets.get("rate", rate)
    cost = PowerCost(rate, secrets.get("exponent", exponent), np.zeros(n))
    claims = PowerCost(rng.uniform(0.001, 0.3, n), rng.choice([1.0, 1.5, 2.0], n), np.zeros(n))
    offers = mechanism.offers(PowerLaw(exponent=0.7), Reports(claimed, np.full(n, 20.0), claims))
    experience = Experience(last, rng.uniform(0, 1, n), rng.normal(size=n), rng.normal(size=n))
    payoff, streams = Payoff(offers, cost, capacity), owner_streams(seed, n)
    public: dict[str, Any] = {"total": float(claimed.sum()), "present": n, "owner": np.arange(n)}
    public["rejected"] = np.arange(n) % 3 == 0
    view = OwnerView(3, capacity, cost, experience, payoff, streams, neighbours=_seen_by(n, rng), **public)
    return view if strategy is None else replace(view, memory=_lived(strategy, view, rng))


def first_view(view: OwnerView, strategy: Strategy) -> OwnerView:
    """The same cohort before its first step."""
    n = len(view.capacity)
    unknown = Experience(np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, np.nan))
    return replace(view, memory=held(strategy.begin(n, view.rng), n, strategy.label), last=unknown)


def with_other_secrets(view: OwnerView, me: int, rng: np.random.Generator) -> OwnerView:
    """The same view with other capacities and costs in all rows but mine."""
    n = len(view.capacity)
    others, old = np.arange(n) != me, view.cost.columns
    capacity = np.where(others, rng.uniform(0.01, 1e3, n), view.capacity)
    rate = np.where(others, rng.uniform(0.0, 5.0, n), old[0])
    exponent = np.where(others, rng.choice([1.0, 1.2, 2.0, 3.0], n), old[1])
    cost = PowerCost(rate, exponent, np.zeros(n))
    return replace(view, capacity=capacity, cost=cost, payoff=Payoff(view.payoff.offers, cost, capacity))


def row(view: OwnerView, i: int) -> OwnerView:
    """The view of one owner alone."""
    capacity, cost = view.capacity[[i]], view.cost.take([i])
    return replace(
        view,
        capacity=capacity,
        cost=cost,
        last=view.last.take([i]),
        payoff=Payoff(view.payoff.offers.take([i]), cost, capacity),
        rng=view.rng.take([i]),
        owner=view.owner[[i]],
        memory=take_rows(view.memory, [i]),
        neighbours=None if view.neighbours is None else view.neighbours.take([i]),
        rejected=None if view.rejected is None else view.rejected[[i]],
    )


def columns(action: Action) -> dict[str, Any]:
    """All numbers of an action, by name."""
    said = action.report
    found = {"contribution": action.contribution, "stay": action.stay, "claimed": said.contribution, "size": said.size}
    if said.cost is not None:
        found |= {part.name: getattr(said.cost, part.name) for part in fields(said.cost)}  # type: ignore[arg-type]
    return found | dict(flat(action.memory or {}))


def flat(memory: Memory, place: str = "memory") -> Iterator[tuple[str, Any]]:
    """A memory's arrays, by where they stand."""
    for name, part in memory.items():
        if isinstance(part, Mapping):
            yield from flat(part, f"{place} {name}")
        else:
            yield f"{place} {name}", part


def _seen_by(n: int, rng: np.random.Generator) -> Neighbours | None:
    """What n owners see of up to four neighbours each; sometimes there is no network."""
    if rng.uniform() < 0.3:
        return None
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n))])
    size = rng.choice([0.0, 5.0, 20.0], offsets[-1])
    contribution = size * rng.uniform(size=len(size))
    accuracy = rng.uniform(size=len(size))
    payment = size - 8.0
    return Neighbours(offsets, rng.integers(0, n, len(size)), contribution, size, accuracy, payment)


def _lived(strategy: Strategy, view: OwnerView, rng: np.random.Generator) -> Memory:
    """What owners remember after their first step, one that paid and one of which they know nothing."""
    n = len(view.capacity)
    memory = held(strategy.begin(n, view.rng), n, strategy.label)
    if not memory:
        return {}
    for utility in (np.full(n, np.nan), rng.normal(size=n), np.where(rng.uniform(size=n) < 0.5, np.nan, 0.3)):
        action = strategy.act(replace(view, last=replace(view.last, utility=utility), memory=take_rows(memory, None)))
        memory = held(action.memory, n, strategy.label) if action.memory is not None else memory
    return take_rows(memory, None)
