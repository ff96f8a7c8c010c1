from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError
from fedabm.common.random import check_seed, generator, owner_streams
from fedabm.games.costs import Linear
from fedabm.mechanisms import NoPayments
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.strategies import Honest, Liar, Quitter, Random, Strategy
from tests.conftest import mixed, run
from tests.simulation.test_privacy import leaks


def with_strategy(scenario, row: int, strategy: Strategy):
    owners = list(scenario.owners)
    owners[row] = replace(owners[row], strategy=strategy)
    return replace(scenario, owners=tuple(owners))


def draws(model: Federation) -> dict[int, np.ndarray]:
    """What each owner's generator would give next: it tells how much the owner has drawn, and from where."""
    return {row: one.random(3) for row, one in enumerate(model.population._streams.each())}


@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(shuffle=True), RandomSubset(3)])
@pytest.mark.parametrize("other", [Liar(Honest(), contribution_factor=2.0), Random()])
def test_swapping_one_strategy_leaves_every_other_draw_unchanged(activation, other):
    scenario = mixed(activation=activation, mechanism=NoPayments())
    row = [profile.strategy for profile in scenario.owners].index(Honest())
    swapped = with_strategy(scenario, row, other)
    one, two = draws(run(scenario)), draws(run(swapped))
    for owner in one:
        if owner != row:
            np.testing.assert_array_equal(one[owner], two[owner])


def test_random_contributions_of_the_others_are_the_same_after_a_swap():
    scenario = with_strategy(mixed(), 0, Random(0.1, 0.9))
    swapped = with_strategy(scenario, 4, Liar(Honest(), contribution_factor=2.0))
    frames = [run(s).frames().owners for s in (scenario, swapped)]
    rows = [frame[frame["strategy"] == "random"] for frame in frames]
    assert len(rows[0]) == 24
    np.testing.assert_array_equal(rows[0]["contribution"], rows[1]["contribution"])


@pytest.mark.parametrize("activation", [Sequential(shuffle=True), RandomSubset(3)])
def test_an_owner_that_leaves_does_not_change_in_which_order_the_others_act(activation):
    stayed = np.ones(8, dtype=bool)
    left = stayed.copy()
    left[5] = False
    orders = []
    for flags in (stayed, left):
        rng = generator(0, "activation")
        orders.append([np.concatenate(list(activation.batches(flags, rng))) for _ in range(20)])
    everyone = [owners[owners != 5] for owners in orders[0]]
    for full, fewer in zip(everyone, orders[1], strict=True):
        assert 5 not in fewer
        common = fewer[: len(full)] if isinstance(activation, Sequential) else np.intersect1d(full, fewer)
        np.testing.assert_array_equal(np.sort(common), np.sort(full))


def test_streams_differ_between_owners_kinds_and_seeds():
    firsts = [generator(seed, kind, k).random() for seed in (0, 1) for kind in ("owner", "data") for k in range(3)]
    assert len(set(firsts)) == len(firsts)
    assert generator(3, "owner", 1).random() == generator(3, "owner", 1).random()


def test_draws_do_not_depend_on_who_else_draws():
    alone, together = owner_streams(7, 5).take([3]), owner_streams(7, 5)
    np.testing.assert_array_equal(alone.uniform(), together.uniform()[[3]])
    np.testing.assert_array_equal(alone.normal(), together.normal()[[3]])


def test_a_stream_does_not_reveal_the_seed():
    seed = 7654321987654
    sequence = owner_streams(seed, 2).each()[0].bit_generator.seed_seq
    assert seed not in np.atleast_1d(sequence.entropy)
    assert sequence.spawn_key == ()


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True, 2**63, np.nan])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        check_seed(seed)
    with pytest.raises(InputError, match="seed"):
        Federation(mixed(), seed)


@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(shuffle=True)])
def test_a_quitter_that_leaves_changes_no_draw_of_the_others(activation):
    scenario = mixed(activation=activation, mechanism=NoPayments())
    owners = [replace(owner, cost=Linear(1.0)) if row == 4 else owner for row, owner in enumerate(scenario.owners)]
    stays = replace(scenario, owners=tuple(owners))
    leaves = with_strategy(stays, 4, Quitter(Honest()))
    assert not run(leaves).population.stayed[4]
    one, two = draws(run(stays)), draws(run(leaves))
    for owner in set(one) - {4}:
        np.testing.assert_array_equal(one[owner], two[owner])


def test_numbers_drawn_ahead_are_those_that_the_generators_give_one_by_one():
    """Uniform numbers are drawn many at a time; whatever else is drawn in between, nobody can tell."""
    streams = owner_streams(7, 3)
    bare = [generator(7, "owner", row) for row in range(3)]
    for turn in range(200):
        some = [0, 2] if turn % 3 else [0, 1, 2]
        drawn = streams.take(some).uniform(0.2, 0.8)
        np.testing.assert_array_equal(drawn, [bare[row].uniform(0.2, 0.8) for row in some])
        if turn % 7 == 0:
            np.testing.assert_array_equal(streams.normal(), [one.standard_normal() for one in bare])
        if turn % 11 == 0:  # half of a draw is kept for the next one
            odd = [one.standard_normal(3, dtype=np.float32) for one in streams.each()]
            np.testing.assert_array_equal(odd, [one.standard_normal(3, dtype=np.float32) for one in bare])


def test_nobody_elses_stream_can_be_reached_from_ones_own():
    streams = owner_streams(7, 3)
    streams.uniform()
    mine, others = streams.lent([1]), streams.lent([0, 2])
    for halves in ("high", "low", "add_high", "add_low"):
        assert not leaks(mine, [float(one) for one in getattr(others._home.bits, halves)])
        assert leaks(mine, [float(one) for one in getattr(mine._home.bits, halves)])
    assert not leaks(mine, [float(one.bit_generator.state["state"]["state"]) for one in others.each()])


def test_streams_that_were_lent_go_on_where_they_were_returned():
    streams, whole = owner_streams(2**62 + 7, 4), owner_streams(2**62 + 7, 4)
    bare = [generator(2**62 + 7, "owner", row) for row in range(4)]
    for turn in range(6):
        rows = [[0, 2], [3], [1, 2, 3]][turn % 3]
        lent = streams.lent(rows)
        drawn = lent.take([0]).uniform() if turn < 3 else [lent.each()[0].random()]
        np.testing.assert_array_equal(drawn, [bare[rows[0]].random()])
        streams.returned(rows, lent)
        np.testing.assert_array_equal(streams.uniform(), [one.random() for one in bare])
    assert (
        whole.joined_by(owner_streams(2**62 + 7, 1, first=4)).uniform()[4] == generator(2**62 + 7, "owner", 4).random()
    )


def test_a_generator_that_was_asked_for_is_drawn_from_ever_after():
    streams, bare = owner_streams(7, 2), [generator(7, "owner", row) for row in range(2)]
    streams.uniform()
    mine = streams.take([1]).each()[0]
    assert [mine.random(), mine.random()] == bare[1].random(3)[1:].tolist()
    np.testing.assert_array_equal(streams.uniform(), [bare[0].random(2)[1], bare[1].random()])


def test_who_draws_from_streams_that_were_taken_is_noticed():
    streams = owner_streams(0, 4)
    some = streams.take([1, 2])
    some.take([0]).uniform()
    assert some.drawn
    some.drawn = False
    some.uniform(where=np.array([False, False]))
    assert not some.drawn
    some.uniform(where=np.array([False, True]))
    assert some.drawn
