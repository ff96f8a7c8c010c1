"""Strategies remember row by row, and nothing survives from one run to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import FedabmError, Federation, Scenario, UserCodeError, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import Activation, RandomSubset, Sequential, Simultaneous
from fedabm.strategies import BestResponse, Honest, Liar, Quitter, Strategy
from fedabm.views import Action, Memory, OwnerView
from tests.conftest import assert_equal_frames

ACTIVATIONS = [Simultaneous(), Sequential(shuffle=True), RandomSubset(2)]


@dataclass(frozen=True)
class Diary(Strategy):
    """Notes how often it acted, what it gained and who it is, and contributes by that: a bandit in miniature."""

    def begin(self, n, rng) -> Memory:
        return {"count": np.zeros(n, dtype=int), "who": np.full(n, -1), "deep": {"gains": np.zeros((n, 3))}}

    def act(self, view: OwnerView) -> Action:
        count = view.memory["count"] + 1
        gains = np.roll(view.memory["deep"]["gains"], 1, axis=1)
        gains[:, 0] = np.nan_to_num(view.last.utility)
        share = np.clip(0.1 * count + 0.05 * gains.sum(axis=1) + 0.1 * view.rng.uniform(), 0.0, 1.0)
        memory = {"count": count, "who": view.owner, "deep": {"gains": gains}}
        return view.truthful(share * view.capacity, used="experience", memory=memory)


def scenario(activation: Activation, *strategies: Strategy, **changes) -> Scenario:
    chosen = list(strategies) or [Diary(), BestResponse(), Diary(), Liar(Diary(), contribution_factor=2.0), Diary()]
    owners = population(np.linspace(0.01, 0.05, len(chosen)), 10.0, chosen)
    return replace(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), activation, steps=12), **changes)


def memory_of(model: Federation, row: int) -> dict:
    """What one owner remembers."""
    (turn,) = model.population.turns(np.array([row]))
    view = {name: part for name, part in turn.cohort.memory.items() if name != "deep"}
    place = int(np.flatnonzero(turn.cohort.members == row)[0])
    return {name: part[place] for name, part in view.items()}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_same_scenario_run_twice_gives_equal_frames(activation):
    given = scenario(activation)
    assert_equal_frames(Federation(given, 3).run().frames(), Federation(given, 3).run().frames())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_everyone_remembers_for_itself(activation):
    """Also one after the other: nobody finds another's notes in its own row."""
    model = Federation(scenario(activation), 3).run()
    acted = model.frames().owners.query("information != 'repeated'").groupby("owner").size()
    for row in (0, 2, 3, 4):
        noted = memory_of(model, row)
        assert noted["count"] == acted[row]
        assert noted["who"] == row


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_alone_in_a_cohort_or_not_an_owner_does_the_same(activation):
    """A number that keeps two equal strategies apart changes nothing that they do."""

    @dataclass(frozen=True)
    class Numbered(Diary):
        number: int = 0

    together = Federation(scenario(activation, *[Diary()] * 4), 5).run()
    apart = Federation(scenario(activation, *[Numbered(number) for number in range(4)]), 5).run()
    columns = ["step", "owner", "contribution", "utility"]
    assert together.frames().owners[columns].equals(apart.frames().owners[columns])


def test_wrappers_hand_the_memory_on():
    strategies = [Quitter(Diary()), Liar(Diary()), Quitter(Liar(Quitter(Diary()), cost_factor=3.0)), Honest()]
    model = Federation(scenario(Simultaneous(), *strategies)).run()
    assert [memory_of(model, row)["count"] for row in range(3)] == [12, 12, 12]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("step", [1, 5])
def test_a_run_that_is_interrupted_and_restored_ends_the_same(activation, step, tmp_path):
    whole = Federation(scenario(activation), 3).run()
    model = Federation(scenario(activation), 3)
    for _ in range(step):
        model.step()
    checkpoint.save(model, tmp_path / "run")
    assert_equal_frames(checkpoint.restore(tmp_path / "run", scenario(activation)).run().frames(), whole.frames())


def test_memory_cannot_be_written_to_from_a_view():
    @dataclass(frozen=True)
    class Scribbler(Diary):
        def act(self, view: OwnerView) -> Action:
            view.memory["count"][:] = 7
            return view.truthful(view.capacity)

    with pytest.raises(UserCodeError, match=r"Scribbler of owner 0 and 1 more failed in step 1: ValueError.*read-only"):
        Federation(scenario(Simultaneous(), Scribbler(), Scribbler())).step()


BROKEN = {
    "one row too few": {"x": np.zeros(1)},
    "another name": {"y": np.zeros(2)},
    "nothing": {},
    "no table": 3,
}


@pytest.mark.parametrize("given", BROKEN.values(), ids=BROKEN.keys())
def test_a_memory_of_another_form_is_refused_with_class_owner_and_step(given):
    @dataclass(frozen=True)
    class Forgetful(Strategy):
        def begin(self, n, rng) -> Memory:
            return {"x": np.zeros(n)}

        def act(self, view: OwnerView) -> Action:
            return view.truthful(view.capacity, memory=given if view.step == 2 else None)

    model = Federation(scenario(Simultaneous(), Forgetful(), Forgetful()))
    model.step()
    with pytest.raises(UserCodeError, match=r"^Forgetful of owner 0 and 1 more failed in step 2: .*; give"):
        model.step()


@pytest.mark.parametrize("begun", [3, {"x": 1.0}, {"x": np.zeros(5)}, {"x": np.array([{}, {}])}])
def test_a_beginning_that_is_no_memory_is_refused(begun):
    @dataclass(frozen=True)
    class Odd(Strategy):
        def begin(self, n, rng) -> Memory:
            return begun

        def act(self, view: OwnerView) -> Action:
            return view.truthful(view.capacity)

    with pytest.raises(UserCodeError, match=r"Odd wants to remember .*; give"):
        Federation(scenario(Simultaneous(), Odd(), Odd()))


def test_what_goes_wrong_in_a_strategy_is_one_line_and_the_frames_are_kept():
    @dataclass(frozen=True)
    class Breaks(Strategy):
        def act(self, view: OwnerView) -> Action:
            return None if view.step == 4 else view.truthful(view.capacity)  # type: ignore[return-value]

    model = Federation(scenario(Simultaneous(), Breaks(), Diary()))
    with pytest.raises(UserCodeError, match="Breaks of owner 0 failed in step 4: it gave None instead of an action"):
        model.run()
    frames = model.frames()
    assert frames.steps["step"].tolist() == [1, 2, 3]
    assert frames.runs["status"].tolist() == ["interrupted"]


@pytest.mark.parametrize("given", [np.full(2, 0.37), np.array(["a", "b"]), np.full(2, None)])
def test_what_does_not_fit_into_a_memory_is_refused_not_cut(given):
    """A mean that began as whole numbers would be 0 for ever."""

    @dataclass(frozen=True)
    class Whole(Strategy):
        def begin(self, n, rng) -> Memory:
            return {"mean": np.zeros(n, dtype=int)}

        def act(self, view: OwnerView) -> Action:
            return view.truthful(view.capacity, memory={"mean": given})

    with pytest.raises(
        UserCodeError, match=r"^Whole of owner 0 .* step 1: .* began with int64 as 'mean' and now gives"
    ):
        Federation(scenario(Simultaneous(), Whole(), Whole())).step()


def test_memory_stays_with_its_owner_when_others_come_go_or_change_their_mind():
    model = Federation(scenario(Simultaneous(), *[Diary()] * 4, steps=50))
    for _ in range(3):
        model.step()
    model.agents[1].strategy = Honest()
    model.agents[2].remove()
    model.add(replace(model.scenario.owners[0], strategy=Diary()))
    model.step()
    model.agents[1].strategy = Diary()
    model.step()
    assert [model.population.memory(row)["count"] for row in (0, 1, 3, 4)] == [5, 1, 5, 2]
    assert [model.population.memory(row)["who"] for row in (0, 1, 3, 4)] == [0, 1, 3, 4]


@pytest.mark.parametrize("form", ["plain class", "dataclass that is not frozen"])
def test_a_strategy_cannot_keep_anything_itself(form):
    """What it kept would be shared by all its owners and survive into the next run."""

    class Plain(Strategy):
        count = 0

        def act(self, view: OwnerView) -> Action:
            self.count += 1
            return view.truthful(0.1 * self.count * view.capacity)

    @dataclass
    class Loose(Strategy):
        count: int = 0

        def act(self, view: OwnerView) -> Action:
            return view.truthful(view.capacity)

    with pytest.raises(FedabmError, match=r"cannot keep 'count' itself, .*; make it a frozen dataclass, and let begin"):
        Federation(scenario(Simultaneous(), Plain() if form == "plain class" else Loose())).step()
