"""The contract of every strategy: legal, reproducible, picklable, hashable, and blind to everybody else's rows."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from fedabm.common.errors import check_kind
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import Activation, RandomSubset, Sequential, Simultaneous
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario, population
from fedabm.strategies import BestResponse, Liar, Quitter, Strategy, Wrapper
from fedabm.testing.contract import Check, ContractBroken, checked, expect, expect_equal_frames, expect_value
from fedabm.testing.owner_views import RULES, columns, first_view, flat, row, view_of, with_other_secrets
from fedabm.views import Action, OwnerView

__all__ = ["STRATEGY_CHECKS", "check_strategy", "draws", "some_owners"]


def check_strategy(strategy: Strategy, seeds: int = 3) -> None:
    """Raise `ContractBroken`, with one line for each promise that does not hold in some cohort, or do nothing.

    Parameters
    ----------
    strategy : Strategy
        The strategy to check.
    seeds : int, optional
        How many random cohorts are tried.
    """
    check_kind("strategy", strategy, Strategy)
    checked(strategy, STRATEGY_CHECKS, seeds)


def is_a_frozen_value(strategy: Strategy, seed: int) -> None:
    """Compared, hashed, pickled, varied; nothing can be changed; it has a label."""
    expect_value(strategy)
    expect(bool(strategy.label), "its label is empty; give it a short name, or leave that to Strategy")


def actions_are_legal(strategy: Strategy, seed: int) -> None:
    """One finite number per owner, contributions within capacity; in the first step, too."""
    n = 12
    view = view_of(n, seed, strategy=strategy)
    for seen, when in ((view, "in step 3"), (first_view(view, strategy), "in its first step")):
        action = strategy.act(seen)
        if not isinstance(action, Action):
            raise ContractBroken(f"{when} it gives {action!r}; return an Action, such as view.truthful(contribution)")
        for name, column in columns(action).items():
            expect(np.shape(column)[:1] == (n,), f"{when} {name} has shape {np.shape(column)}; give {n} rows")
            if not name.startswith("memory"):
                expect(np.ndim(column) == 1, f"{when} {name} has shape {np.shape(column)}; give one number per owner")
                expect(np.isfinite(column), f"{when} {name} is not finite; mind that the first utility is not a number")
        within = (action.contribution >= 0) & (action.contribution <= seen.capacity)
        expect(within, f"{when} it contributes less than 0 or more than it has; clip to [0, view.capacity]")
        expect(action.stay.dtype == bool, f"{when} stay has type {action.stay.dtype}; give booleans")


def equal_views_give_equal_actions(strategy: Strategy, seed: int) -> None:
    """Randomness comes from the view's streams only."""
    one, two = (columns(strategy.act(view_of(9, seed, strategy=strategy))) for _ in range(2))
    remedy = "draw from view.rng, keep no state"
    _expect_equal(one, two, "equal views give two actions", remedy)


def acting_leaves_the_view_alone(strategy: Strategy, seed: int) -> None:
    """What an owner sees is not its to change."""
    view = view_of(6, seed, strategy=strategy)
    before = {part: copy.deepcopy(getattr(view, part)) for part in ("capacity", "last", "cost", "memory")}
    strategy.act(view)
    for part, known in before.items():
        pairs = zip(_arrays(known), _arrays(getattr(view, part)), strict=True)
        same = all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)
        expect(same, f"it changes view.{part}; copy an array before writing to it, and give memory by Action.memory")


def others_secrets_change_nothing_for_me(strategy: Strategy, seed: int) -> None:
    """Row i of the action depends on row i of the view only: others' capacities and costs do not matter."""
    rng, n = np.random.default_rng(seed), 5
    for rule in RULES[:2]:
        me = int(rng.integers(n))
        before = view_of(n, seed, rule, strategy)
        one, two = (view_of(n, seed, rule, strategy).rng for _ in range(2))
        after = with_other_secrets(replace(before, rng=two), me, rng)
        mine = columns(strategy.act(replace(before, rng=one))), columns(strategy.act(after))
        here, there = ({name: column[me] for name, column in found.items()} for found in mine)
        remedy = "use row i of the view for row i of the action: no max, mean or sum over rows"
        _expect_equal(here, there, "another owner's secret changes what it does", remedy)


def a_cohort_acts_as_its_members_would_alone(strategy: Strategy, seed: int) -> None:
    """To the last bit, also on processors whose power of many numbers is not that of one."""
    for rule in RULES:
        together = columns(strategy.act(view_of(4, seed, rule, strategy)))
        for i in range(4):
            alone = columns(strategy.act(row(view_of(4, seed, rule, strategy), i)))
            first = {name: column[0] for name, column in alone.items()}
            mine = {name: together[name][i] for name in alone}
            remedy = "write it row by row, and see fedabm.common.rowwise for sums and powers"
            _expect_equal(first, mine, "an owner alone does otherwise than in its cohort", remedy)


def all_owners_draw_or_none_does_where_promised(strategy: Strategy, seed: int) -> None:
    """Where it says that it stacks: in the same step, whatever has happened to them, without a network."""
    for early in (True, False) if strategy.traits.stacks else ():
        drawn = set()
        for i in range(6):
            view = replace(view_of(6, seed, strategy=strategy), neighbours=None)
            mine = row(first_view(view, strategy) if early else view, i)
            mine.rng.drawn = False
            strategy.act(mine)
            drawn.add(mine.rng.drawn)
        expect(len(drawn) == 1, "some owners draw random numbers while others do not; set stacks = False")


# Whole runs: it among others, in every order of turns, linked to a ring

ACTIVATIONS: dict[str, Activation] = {
    "at once": Simultaneous(),
    "one by one": Sequential(shuffle=True),
    "some": RandomSubset(3),
}


@dataclass(frozen=True)
class Numbered(Wrapper):
    """Does what it wraps does; the number keeps it alone in its cohort."""

    number: int = 0
    stacks = Wrapper.stacks

    def act(self, view: OwnerView) -> Action:
        """What it wraps does."""
        return self.truth.act(view)


def some_owners(strategies: list[Strategy], **changes: Any) -> Scenario:
    """Owners of all sizes and costs on a ring, the last of which responds; the third comes late."""
    chosen = [*strategies, BestResponse(0.5)]
    costs, capacities = np.linspace(0.01, 0.05, len(chosen)), np.linspace(5.0, 12.0, len(chosen))
    owners = list(population(list(costs), capacities, chosen, starts=np.linspace(0.0, 4.0, len(chosen))))
    owners[2] = replace(owners[2], joins=3)
    rule = ContributionSubsidy(0.02)
    return replace(Scenario(tuple(owners), PowerLaw(), rule, steps=9, network=nx.cycle_graph(len(owners))), **changes)


def owners_do_the_same_in_a_cohort_and_alone(strategy: Strategy, seed: int) -> None:
    """And remember the same, wrapped by others too, in every order of turns."""
    wrapped = [strategy, Liar(strategy, contribution_factor=1.5), Quitter(strategy, tolerance=0.5)]
    apart: list[Strategy] = [Numbered(inner, number) for number, inner in enumerate(wrapped * 2)]
    for order, activation in ACTIVATIONS.items():
        models = [Federation(some_owners(chosen, activation=activation), seed).run() for chosen in (wrapped * 2, apart)]
        one, two = (model.frames().owners.drop(columns="strategy") for model in models)
        expect(one.equals(two), f"a run {order} differs where owners act alone; use row i of the view for row i only")
        for owner in range(6):
            here, there = (dict(flat(model.population.memory(owner))) for model in models)
            remedy = "remember row by row"
            _expect_equal(here, there, f"in a run {order} owners remember otherwise where they act alone", remedy)


def runs_repeat_and_can_be_interrupted(strategy: Strategy, seed: int) -> None:
    """The same seed gives the same frames, also after an interruption; another one other ones, if anything is drawn."""
    for order, activation in ACTIVATIONS.items():
        scenario = some_owners([strategy] * 4, activation=activation)
        whole = Federation(scenario, seed).run().frames()
        again = f"two runs {order} with one seed differ; draw from view.rng, keep no state"
        expect_equal_frames(Federation(scenario, seed).run().frames(), whole, again)
        part = Federation(scenario, seed)
        for _ in range(4):
            part.step()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run"
            checkpoint.save(part, file)
            restored = checkpoint.restore(file, some_owners([strategy] * 4, activation=activation))
            later = f"a run {order} that was interrupted ends otherwise; give what it must remember as Action.memory"
            expect_equal_frames(restored.run().frames(), whole, later)
        if draws(strategy):
            other = Federation(scenario, seed + 1).run().frames().owners["contribution"]
            expect(not other.equals(whole.owners["contribution"]), "two seeds give one run; draw from view.rng only")


def draws(strategy: Strategy) -> bool:
    """Whether it draws random numbers when it acts."""
    view = view_of(4, strategy=strategy)
    view.rng.drawn = False
    strategy.act(view)
    return view.rng.drawn


STRATEGY_CHECKS: tuple[Check, ...] = (
    is_a_frozen_value,
    actions_are_legal,
    equal_views_give_equal_actions,
    acting_leaves_the_view_alone,
    others_secrets_change_nothing_for_me,
    a_cohort_acts_as_its_members_would_alone,
    all_owners_draw_or_none_does_where_promised,
    owners_do_the_same_in_a_cohort_and_alone,
    runs_repeat_and_can_be_interrupted,
)


def _expect_equal(one: dict[str, Any], two: dict[str, Any], what: str, remedy: str) -> None:
    for name, column in one.items():
        here, there = np.ravel(column), np.ravel(two[name])
        if not np.array_equal(here, there, equal_nan=here.dtype.kind == "f"):
            place = np.argmax(here != there)
            raise ContractBroken(f"{what}: its {name} is {here[place]} or {there[place]}; {remedy}")


def _arrays(part: Any) -> list[Any]:
    if isinstance(part, np.ndarray):
        return [part]
    if is_dataclass(part):
        return [np.asarray(getattr(part, one.name)) for one in fields(part)]
    return [np.asarray(column) for _, column in flat(part)]
