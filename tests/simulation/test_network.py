"""Those who are linked see each other's public deeds of the last step, and nobody else does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, InputError, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.simulation.scenario import OwnerProfile
from fedabm.simulation.stopping import Never
from fedabm.strategies import FixedShare, Imitation, Liar, Quitter, Random, Strategy, Wrapper
from fedabm.views import Action, Neighbours, OwnerView
from tests.conftest import assert_equal_frames
from tests.simulation.test_privacy import CAPACITIES, COSTS, foreign, leaks


@dataclass(frozen=True)
class Watcher(Wrapper):
    """Notes what it sees; the number keeps it alone in its cohort."""

    number: int = 0
    seen: list[Neighbours] = field(default_factory=list, compare=False, repr=False)

    def act(self, view: OwnerView) -> Action:
        self.seen.append(view.neighbours)
        return self.truth.act(view)


def watched(network, inner: Strategy, n: int = 5, **changes) -> tuple[Federation, list[Watcher]]:
    spies = [Watcher(inner, number) for number in range(n)]
    owners = population(np.linspace(0.01, 0.03, n), np.arange(n) + 5.0, spies)
    scenario = Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=4, network=network)
    return Federation(replace(scenario, **changes), 3), spies


GRAPHS = {
    "ring": nx.cycle_graph(6),
    "star": nx.star_graph(5),
    "grid, named by places": nx.grid_2d_graph(2, 3),
    "small world": nx.watts_strogatz_graph(6, 2, 0.3, seed=1),
    "scale free": nx.barabasi_albert_graph(6, 2, seed=1),
    "nobody": nx.empty_graph(6),
    "with loops": nx.Graph([(i, i) for i in range(6)]),
    "directed": nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
    "letters": nx.relabel_nodes(nx.path_graph(6), dict(enumerate("abcdef"))),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_generators_of_networkx_work_as_they_are(graph):
    model, spies = watched(graph, FixedShare(0.5), n=6)
    model.run()
    names = list(graph)
    for row, spy in enumerate(spies):
        linked = sorted({names.index(other) for other in graph[names[row]]} - {row})
        assert model.sight.of(row) == linked
        assert len(spy.seen[0].owner) == 0  # nothing had happened yet
        assert spy.seen[1].owner.tolist() == linked
        frame = model.frames().owners.query("step == 1").set_index("owner").loc[linked]
        for name, column in (
            ("contribution", "reported_contribution"),
            ("size", "reported_size"),
            ("accuracy", "accuracy"),
            ("payment", "payment"),
        ):
            np.testing.assert_array_equal(getattr(spy.seen[1], name), frame[column])


@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(shuffle=True), RandomSubset(2)])
def test_lies_are_seen_as_they_are_told_and_the_last_round_counts(activation):
    model, spies = watched(nx.cycle_graph(5), Liar(Random(), contribution_factor=1.5), activation=activation)
    model.run()
    owners = model.frames().owners
    acted = owners.query("information != 'repeated'")
    for row, spy in enumerate(spies):
        steps = acted.loc[acted["owner"] == row, "step"].tolist()
        for step, seen in zip(steps, spy.seen, strict=True):
            told = owners[owners["step"] == step - 1].set_index("owner")["reported_contribution"]
            np.testing.assert_array_equal(seen.contribution, told.reindex(seen.owner).to_numpy())


def test_who_has_left_is_not_seen():
    spies = [Watcher(FixedShare(0.5), number) for number in range(3)]
    strategies = [*spies, Quitter(FixedShare(1.0))]
    owners = population([0.01, 0.01, 0.01, 9.0], 5.0, strategies)
    Federation(Scenario(owners, PowerLaw(), steps=4, network=nx.complete_graph(4))).run()
    assert spies[0].seen[1].owner.tolist() == [1, 2, 3]
    assert spies[0].seen[2].owner.tolist() == [1, 2]


def test_without_a_network_nobody_sees_anybody():
    model, spies = watched(None, FixedShare(0.5))
    model.run()
    assert all(seen is None for spy in spies for seen in spy.seen)


def test_no_secret_of_a_neighbour_is_in_a_view():
    spies = [Watcher(Liar(FixedShare(0.371), cost_factor=2.5, size_factor=1.7), number) for number in range(4)]
    owners = [OwnerProfile(Linear(c), b, spy) for c, b, spy in zip(COSTS, CAPACITIES, spies, strict=True)]
    Federation(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=3, network=nx.complete_graph(4))).run()
    for spy in spies:
        assert all(leaks(seen, foreign(spy.number)) == [] for seen in spy.seen)


def test_a_stranger_changes_nothing_in_what_an_owner_sees():
    """On a path 0 - 1 - 2 - 3, owner 3's deeds are not in owner 1's view, whatever they are."""

    def seen(share: float) -> list[Neighbours]:
        spy = Watcher(FixedShare(0.2))
        owners = population([0.01] * 4, 5.0, [FixedShare(0.5), spy, FixedShare(0.5), FixedShare(share)])
        Federation(Scenario(owners, PowerLaw(), steps=3, network=nx.path_graph(4))).run()
        return spy.seen

    for one, other in zip(seen(0.1), seen(0.9), strict=True):
        assert one.owner.tolist() == other.owner.tolist()
        np.testing.assert_array_equal(one.contribution, other.contribution)


def test_a_newcomer_is_linked_to_whom_it_sees_and_a_restored_run_goes_on(tmp_path):
    model, spies = watched(nx.cycle_graph(5), FixedShare(0.5), steps=6)
    model.step()
    model.add(OwnerProfile(Linear(0.01), 3.0, FixedShare(1.0)), sees=[0, 2])
    model.step()
    checkpoint.save(model, tmp_path / "run")
    again = checkpoint.restore(tmp_path / "run", model.scenario).run().frames()
    assert spies[0].seen[-1].owner.tolist() == [1, 4, 5]
    assert spies[1].seen[-1].owner.tolist() == [0, 2]
    assert_equal_frames(again, model.run().frames())


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nx.cycle_graph(4), "5 owners but a network of 4 nodes; give one node per owner"),
        ([(0, 1)], "a network must be a NetworkX graph"),
    ],
)
def test_bad_networks_are_refused(network, message):
    with pytest.raises(InputError, match=message):
        watched(network, FixedShare(0.5))


@given(st.integers(0, 50))
def test_rows_of_neighbours_are_sliced_like_everything_else(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 4, 6))])
    m = offsets[-1]
    seen = Neighbours(offsets, rng.integers(0, 9, m), *rng.uniform(size=(4, m)))
    rows = rng.integers(0, 6, 4)
    some = seen.take(rows)
    np.testing.assert_array_equal(some.mean(some.payment), seen.mean(seen.payment)[rows])
    for place, row in enumerate(rows):
        mine = seen.accuracy[offsets[row] : offsets[row + 1]]
        best = some.best(some.accuracy)[place]
        assert (best == -1) == (len(mine) == 0)
        assert best == -1 or some.accuracy[best] == mine.max()


def test_nodes_that_are_numbers_or_names_of_owners_are_those_owners():
    by_number = nx.Graph([(2, 0)])
    by_number.add_node(1)
    by_name = nx.Graph([("c", "b")])
    by_name.add_node("a")
    others = nx.Graph([("z", "y")])
    others.add_node("x")
    owners = population([0.01] * 3, 5.0, FixedShare(0.5), names=["a", "b", "c"])
    linked = [(by_number, [[2], [], [0]]), (by_name, [[], [2], [1]]), (others, [[1], [0], []])]
    for graph, seen in linked:
        model = Federation(Scenario(owners, PowerLaw(), network=graph))
        assert [model.sight.of(owner) for owner in range(3)] == seen


def test_rewiring_in_place_holds_from_the_next_step_on():
    """Everybody sees the rich one only after it has been linked; newcomers keep their links."""
    graph = nx.empty_graph(3)
    people = population([0.01] * 3, 10.0, [FixedShare(1.0), Imitation(), Imitation()], starts=[10.0, 0.0, 0.0])
    model = Federation(Scenario(people, PowerLaw(), steps=9, network=graph, stopping=Never()))
    model.step()
    model.step()
    assert [model.sight.of(row) for row in range(3)] == [[], [], []]
    newcomer = model.add(OwnerProfile(Linear(0.01), 10.0), sees=[1])
    graph.add_edges_from([(0, 1), (0, 2)])
    model.step()
    assert [model.sight.of(row) for row in range(4)] == [[1, 2], [0, 3], [0], [1]]
    graph.remove_edge(0, 1)
    model.step()
    assert [model.sight.of(row) for row in range(4)] == [[2], [3], [0], [1]]
    assert newcomer.row == 3
    graph.remove_node(2)
    with pytest.raises(InputError, match="has other nodes now; change its edges only"):
        model.step()
