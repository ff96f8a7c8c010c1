"""Each rule of learning has the property that it is known for.

Most of them learn from their own experience alone, so that hundreds of independent learners can be watched at once: as
one cohort, each row in a world of its own (`watch`).  The others are watched in federations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Federation, Game, Scenario, population, solve
from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import ContributionSubsidy, NoPayments, ShapleyShare
from fedabm.simulation.activation import RandomSubset, Sequential
from fedabm.simulation.stopping import Never
from fedabm.strategies import (
    EXP3,
    UCB,
    Aspiration,
    EpsilonGreedy,
    FictitiousPlay,
    FixedShare,
    Honest,
    Imitation,
    LogitResponse,
    QLearning,
    Random,
    RegretMatching,
    Strategy,
    TitForTat,
)
from fedabm.strategies.learners.arms import no_arm, play
from fedabm.views import Action, Experience, OwnerView
from fedabm.views.memory import held, take_rows

#: from the step, the shares that all rows gave and the shares that they gave before, to what they earn
World = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


def watch(
    strategy: Strategy, rows: int, steps: int, world: World, seen: World | None = None, payoff: Any = None
) -> np.ndarray:
    """The shares (steps, rows) that learners with one unit of data give; `seen` is the total that each is told of."""
    streams, shares = owner_streams(5, rows), np.zeros((steps, rows))
    memory = held(strategy.begin(rows, streams), rows, strategy.label)
    nothing = np.zeros(rows)
    last = Experience(nothing, nothing, nothing, np.full(rows, np.nan))
    for step in range(steps):
        total: Any = 0.0 if seen is None else seen(step, last.contribution, shares[step - 2])
        view = OwnerView(
            step + 1,
            np.ones(rows),
            Linear(np.zeros(rows)),
            last,
            payoff,
            streams,
            total=total,
            present=2,
            owner=np.arange(rows),
            memory=take_rows(memory, None),
        )
        action = strategy.act(view)
        memory = held(action.memory, rows, strategy.label) if memory else {}
        earned = world(step, action.contribution, last.contribution)
        last = Experience(action.contribution, nothing, nothing, earned)
        shares[step] = action.contribution
    return shares


def noisy(means: np.ndarray, seed: int = 1) -> World:
    """Levels that earn 1 with these chances and else 0, whatever the others do."""
    rng = np.random.default_rng(seed)
    return lambda step, share, before: (rng.uniform(size=len(share)) < means[arm_of(share, len(means))]).astype(float)


def arm_of(share: np.ndarray, levels: int) -> np.ndarray:
    return np.rint(share * (levels - 1)).astype(int)


# Bandits

MEANS = np.array([0.2, 0.5, 0.8, 0.4, 0.3])


def test_epsilon_greedy_plays_the_best_level_but_for_its_explorations():
    shares = watch(EpsilonGreedy(0.2, levels=5), 200, 600, noisy(MEANS))
    often = np.mean(arm_of(shares[300:], 5) == 2)
    assert often == pytest.approx(1 - 0.2 + 0.2 / 5, abs=0.03)


def test_ucb_plays_a_worse_level_no_oftener_than_its_theorem_says():
    """At most 8 (scale / d)^2 ln t + 1 + pi^2 / 3 times on average, if it is worth d less; Auer et al. 2002."""
    steps = 1500
    played = arm_of(watch(UCB(levels=5), 100, steps, noisy(MEANS)), 5)
    for level in (0, 1, 3, 4):
        most = 8 / (0.8 - MEANS[level]) ** 2 * np.log(steps) + 1 + np.pi**2 / 3
        assert np.mean(np.sum(played == level, axis=0)) <= most
    assert np.mean(played[-300:] == 2) > 0.8


@pytest.mark.parametrize("strategy", [UCB(scale=0.1), EpsilonGreedy(0.05), EXP3(0.2)])
def test_bandits_find_the_best_fixed_share_against_fixed_opponents(strategy):
    """a(S) = 1 - 1/(1 + S) with 1 from the others, at a cost of 0.1: best at S = 10^(1/2) - 1, so 0.4 of 3 units."""
    grid = 3.0 * np.linspace(0, 1, 11)
    best = int(np.argmax(1 - 1 / (2 + grid) - 0.1 * grid))
    assert best == 4
    owners = population([0.1, 0.1], [3.0, 2.0], [strategy, FixedShare(0.5)])
    model = Federation(Scenario(owners, PowerLaw(), steps=1200), 1).run()
    given = model.frames().owners.query("owner == 0 and step > 600")["contribution"]
    found = np.bincount(arm_of(given.to_numpy() / 3.0, 11), minlength=11)
    assert np.argmax(found) == best
    assert model.status == "stopped"


ROUNDS, ARMS = 1500, 4
#: how EXP3 is tuned to a number of rounds, and the most that it then regrets: Auer et al. 2002, Corollary 3.2
GAMMA = min(1.0, np.sqrt(ARMS * np.log(ARMS) / ((np.e - 1) * ROUNDS)))
MOST_REGRET = 2 * np.sqrt(np.e - 1) * np.sqrt(ROUNDS * ARMS * np.log(ARMS))


def spiteful(step: int, arm: np.ndarray) -> np.ndarray:
    """What a level earns in a world that changes its mind twice; in the end level 2 was best."""
    phase = 0 if step < ROUNDS / 4 else 1 if step < ROUNDS / 2 else 2
    table = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]])
    return table[phase][arm]


def regret_in_a_spiteful_world(strategy: Strategy) -> float:
    """Against the best fixed level, on average over learners."""
    played = arm_of(watch(strategy, 60, ROUNDS, lambda step, share, _: spiteful(step, arm_of(share, ARMS))), ARMS)
    earned = sum(spiteful(step, row).mean() for step, row in enumerate(played))
    return sum(spiteful(step, np.array([2]))[0] for step in range(ROUNDS)) - earned


def test_exp3_regrets_no_more_than_its_theorem_allows_however_the_world_changes():
    assert regret_in_a_spiteful_world(EXP3(GAMMA, ARMS)) <= MOST_REGRET


def test_exp3_with_a_fixed_gamma_keeps_regretting_what_it_explores():
    """Where one level is always best the average regret comes down to about gamma (K - 1) / K, and stays there."""
    gamma, rounds = 0.3, 3000

    def best_is_two(step, share, _):
        return (arm_of(share, ARMS) == 2).astype(float)

    played = arm_of(watch(EXP3(gamma, ARMS), 40, rounds, best_is_two), ARMS)
    late = np.mean(played[rounds // 2 :] != 2)
    assert late == pytest.approx(gamma * (ARMS - 1) / ARMS, rel=0.1)
    assert late <= (np.e - 1) * gamma + ARMS * np.log(ARMS) / (gamma * rounds)


def test_who_does_not_learn_regrets_more_than_that():
    """What the test above would notice."""

    @dataclass(frozen=True)
    class Dice(Strategy):
        def begin(self, n, rng):
            return {"arm": no_arm(n)}

        def act(self, view: OwnerView) -> Action:
            return play(view, view.rng.choice(np.ones((len(view.capacity), ARMS))), ARMS, "rule")

    assert regret_in_a_spiteful_world(Dice()) > MOST_REGRET


# Two owners that could both give, though each is better off with nothing

#: what a row earns by its own deed (nothing, all) and the other's
DILEMMA = np.array([[0.3, 1.0], [0.0, 0.7]])


def pairs(step: int, share: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Rows 0 and 1, 2 and 3, ... play the dilemma."""
    mine, theirs = arm_of(share, 2), arm_of(share.reshape(-1, 2)[:, ::-1].ravel(), 2)
    return DILEMMA[mine, theirs]


def test_two_owners_with_slow_aspirations_come_to_give_both():
    """Karandikar et al. 1998: most of the time, once they have found it; owners that forget fast do not."""
    patient = watch(Aspiration(), 100, 4000, pairs)[2000:]
    assert np.mean(np.all(patient.reshape(2000, -1, 2) == 1, axis=2)) > 0.7
    hasty = watch(Aspiration(persistence=0.3), 100, 4000, pairs)[2000:]
    assert np.mean(np.all(hasty.reshape(2000, -1, 2) == 1, axis=2)) < 0.4


def answered(step: int, share: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The other one gives what it was given in the step before, at first all: tit-for-tat."""
    theirs = np.ones(len(share), dtype=int) if step == 0 else arm_of(before, 2)
    return DILEMMA[arm_of(share, 2), theirs]


def told(step: int, share: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The total of the last step: what it gave itself, and what tit-for-tat gave."""
    theirs = np.ones(len(share)) if step <= 1 else before
    return share + theirs


def test_a_q_learner_learns_to_give_where_giving_is_repaid_and_a_short_sighted_one_does_not():
    """Sandholm and Crites 1996: with tit-for-tat the future pays for the present."""
    far = watch(QLearning(discount=0.9, epsilon=0.1, levels=2, moods=2), 60, 1500, answered, told)
    assert np.mean(far[1000:]) > 0.8
    near = watch(QLearning(discount=0.0, epsilon=0.1, levels=2, moods=2), 60, 1500, answered, told)
    assert np.mean(near[1000:]) < 0.2


def test_a_q_learners_table_is_what_its_equation_says():
    """One level earns 1 for ever: Q = 1 / (1 - discount) of it, and discount times the best of the other."""
    learner = QLearning(rate=0.5, discount=0.5, epsilon=1.0, hope=0.0, levels=2, moods=1)
    kept: list[Any] = []

    @dataclass(frozen=True)
    class Seen(QLearning):
        def act(self, view: OwnerView) -> Action:
            kept.append(view.memory["worth"])
            return learner.act(view)

    watch(Seen(**vars(learner)), 5, 300, lambda step, share, _: share, lambda step, share, _: share)
    np.testing.assert_allclose(kept[-1], np.broadcast_to([1.0, 2.0], (5, 2, 2)), atol=1e-6)


# Those who know what every level would earn


@settings(max_examples=4)
@given(seed=st.integers(0, 1000))
@pytest.mark.parametrize("strategy", [RegretMatching(101), FictitiousPlay(101)])
def test_means_reach_the_equilibrium_of_shapley_shares_to_a_level_of_the_grid(strategy, seed):
    """Within one of a hundred levels after 300 steps, in games whose equilibrium `solve` certifies."""
    costs = np.random.default_rng(seed).uniform(0.02, 0.08, 3)
    found = solve(Game(PowerLaw(), costs, 10.0, ShapleyShare()))
    assert found.converged
    model = Federation(Scenario(population(costs, 10.0, strategy), PowerLaw(), ShapleyShare(), steps=300, record=None))
    model.run()
    means = np.array([owner.memory["mean"] for owner in model.agents])
    np.testing.assert_allclose(means, found.profile, atol=10.0 / 100)


def test_regret_matching_regrets_ever_less_whatever_the_others_do():
    """Hart and Mas-Colell: against arbitrary payoffs the average regret falls like t^(-1/2)."""
    rng, levels, rows = np.random.default_rng(3), 5, 50
    drawn = rng.uniform(size=(2000, rows, levels)) * np.linspace(0.2, 1.0, levels)
    now = SimpleNamespace(step=0)
    payoff = SimpleNamespace(value=lambda table: drawn[max(now.step - 1, 0)])

    def earn(step: int, share: np.ndarray, before: np.ndarray) -> np.ndarray:
        now.step = step + 1
        return drawn[step, np.arange(rows), arm_of(share, levels)]

    shares = watch(RegretMatching(levels), rows, 2000, earn, payoff=payoff)
    played = np.take_along_axis(drawn, arm_of(shares, levels)[..., None], axis=2)[..., 0]
    regret = [np.mean(drawn[:t].sum(axis=0).max(axis=1) - played[:t].sum(axis=0)) / t for t in (50, 500, 2000)]
    assert regret[0] > regret[1] > regret[2]
    assert regret[2] < np.sqrt(levels / 2000)  # their bound for payoffs in [0, 1]


def test_fictitious_play_answers_the_mean_and_not_the_last_step():
    """Level 2 is best against what the other did in two steps of three; against the last one level 0 would be."""
    tables = np.array([[0.0, 0.1, 1.0], [0.0, 0.1, 1.0], [0.9, 0.1, 0.0]])
    steps = iter(tables)
    payoff = SimpleNamespace(value=lambda table: next(steps)[None])
    shares = watch(FictitiousPlay(3), 1, 3, lambda step, share, _: share, payoff=payoff)
    assert shares[:, 0].tolist() == [1.0, 1.0, 1.0]


# Quantal response


def test_logit_owners_play_levels_as_often_as_the_formula_says():
    value = np.array([0.1, 0.4, 0.3])
    payoff = SimpleNamespace(value=lambda table: np.broadcast_to(value, table.shape))
    played = arm_of(watch(LogitResponse(0.2, 3), 400, 50, lambda step, share, _: share, payoff=payoff), 3)
    expected = np.exp(value / 0.2) / np.exp(value / 0.2).sum()
    np.testing.assert_allclose(np.bincount(played.ravel()) / played.size, expected, atol=0.015)


@pytest.mark.parametrize("temperature", [1e-9, 1e-300])
def test_logit_owners_respond_best_as_the_temperature_falls(temperature):
    payoff = SimpleNamespace(value=lambda table: np.broadcast_to([0.1, 0.4, 0.3], table.shape))
    shares = watch(LogitResponse(temperature, 3), 50, 5, lambda step, share, _: share, payoff=payoff)
    assert np.all(shares == 0.5)


def test_logit_owners_that_move_one_by_one_are_where_the_potential_is_high():
    """Blume 1993: revising one at a time they come to play s with probability ~ exp(potential(s) / temperature).

    Without payments a(S) - sum_i c_i s_i is a potential.  Two owners with two levels each: four profiles.
    """
    costs, heat = np.array([0.2, 0.3]), 0.1
    owners = population(costs, 1.0, LogitResponse(heat, 2))
    model = Federation(Scenario(owners, PowerLaw(), activation=RandomSubset(1), steps=2500), 4).run()
    played = model.frames().owners.pivot_table(index="step", columns="owner", values="contribution").to_numpy()[100:]
    found = np.bincount(played.astype(int) @ [2, 1], minlength=4) / len(played)
    profiles = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    likely = np.exp((1 - 1 / (1 + profiles.sum(axis=1)) - profiles @ costs) / heat)
    np.testing.assert_allclose(found, likely / likely.sum(), atol=0.05)


# Those who look at their neighbours


@dataclass(frozen=True)
class Sometimes(Strategy):
    """Gives half of its data, but nothing in steps 5 to 8."""

    def act(self, view: OwnerView) -> Action:
        return view.truthful((0.0 if 5 <= view.step <= 8 else 0.5) * view.capacity)


def linked(strategies: list[Strategy], network: nx.Graph, **changes: Any) -> Federation:
    owners = population([0.01] * len(strategies), 10.0, strategies, changes.pop("starts", 0.0))
    scenario = Scenario(owners, PowerLaw(), network=network, steps=12, stopping=Never())
    return Federation(replace(scenario, **changes), 2)


@pytest.mark.parametrize("activation", [None, Sequential()])
def test_tit_for_tat_stops_giving_when_its_neighbours_stop_and_goes_on_when_they_do(activation):
    """One step later, whatever those do whom it does not see: owner 0 sees 1 and 2, and they nobody else."""
    network = nx.Graph([(0, 1), (0, 2), (3, 4)])
    strategies = [TitForTat(), Sometimes(), Sometimes(), Honest(), Honest()]
    model = linked(strategies, network, **({} if activation is None else {"activation": activation})).run()
    given = model.frames().owners.query("owner == 0").set_index("step")["contribution"]
    assert given.tolist() == [10.0] + [5.0] * 4 + [0.0] * 4 + [5.0] * 3
    assert set(model.frames().owners.query("owner == 0")["information"]) == {"neighbours"}


def test_tit_for_tat_without_a_network_answers_the_total():
    model = linked([TitForTat(), Sometimes(), Sometimes()], None).run()
    given = model.frames().owners.query("owner == 0").set_index("step")["contribution"]
    assert given.tolist() == [10.0] + [5.0] * 4 + [0.0] * 4 + [5.0] * 3


def test_tit_for_tats_among_themselves_give_everything_for_ever():
    model = linked([TitForTat()] * 6, nx.cycle_graph(6)).run()
    assert np.all(model.population.contribution == 10.0)


def test_imitators_spread_free_riding_along_their_links_one_by_one():
    """Giving costs and is not paid for: who sees somebody with the same model for less does as that one did."""
    model = linked([FixedShare(0.0), *[Imitation()] * 6], nx.path_graph(7), starts=[0.0] + [10.0] * 6).run()
    given = model.frames().owners.pivot_table(index="step", columns="owner", values="contribution")
    for step in range(1, 8):
        assert given.loc[step].tolist() == [0.0] * step + [10.0] * (7 - step)


def test_imitators_spread_giving_where_it_is_paid_for():
    """A subsidy above the cost: the deal of who gives is the better one."""
    subsidy = ContributionSubsidy(0.05)
    network = nx.random_regular_graph(3, 10, seed=1)
    model = linked([Honest(), *[Imitation()] * 9], network, mechanism=subsidy).run()
    assert np.all(model.population.contribution == 10.0)


def test_imitators_alone_go_on_as_they_began():
    for network in (None, nx.empty_graph(2)):
        model = linked([Imitation(), Honest()], network, starts=[4.0, 0.0]).run()
        assert model.population.contribution[0] == 4.0


# All of them


@pytest.mark.parametrize("rule", [NoPayments(), ShapleyShare()])
def test_learners_among_best_responders_never_rest(rule):
    """Whoever learns or draws random numbers may move again, so that such a run uses up its steps."""
    for strategy in (UCB(), EXP3(), EpsilonGreedy(), RegretMatching(), FictitiousPlay(), QLearning(), Random()):
        model = Federation(Scenario(population([0.01, 0.02], 10.0, [strategy, Honest()]), PowerLaw(), rule, steps=6))
        assert model.run().status == "stopped"
