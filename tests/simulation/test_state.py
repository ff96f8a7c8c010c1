"""What changes in a run is declared: whatever is not is said, and a checkpoint that holds other things is set aside."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from fedabm import Federation
from fedabm.common.errors import InputError
from fedabm.common.state import Numbers
from fedabm.common.table import FrozenArray as DataTable
from fedabm.games.accuracy import Phased, PowerLaw
from fedabm.games.accuracy.joint import JointQuadratic
from fedabm.games.accuracy.present import PresentWorth
from fedabm.games.accuracy.training import RoundResult, State, Training
from fedabm.knowledge import AnnouncedCurve, Knowledge, Nothing, SumsOnly
from fedabm.simulation import checkpoint, state
from fedabm.simulation.population import Population
from fedabm.simulation.treasury import Treasury
from fedabm.views import Known
from tests.conftest import assert_equal_frames
from tests.simulation.test_header import begins_afresh, kept, market


def changing(monkeypatch, part, *, more=(), less=()):
    """Another version of a part, which declares some attributes more or less."""
    found = {name: kind for name, kind in part._changing.items() if name not in less}
    monkeypatch.setattr(part, "_changing", {**found, **{name: Numbers() for name in more}})
    monkeypatch.setattr(part, "_remade", part._remade | set(less))
    begin = part.__init__

    def begun(self, *given, **named):
        begin(self, *given, **named)
        vars(self).update({name: np.zeros(2) for name in more})

    monkeypatch.setattr(part, "__init__", begun)


@pytest.mark.parametrize(("part", "name"), [(Population, "best"), (Treasury, "plain")])
@pytest.mark.parametrize("written", ["more", "less"])
def test_a_checkpoint_with_one_attribute_more_or_less_is_set_aside(tmp_path, monkeypatch, capsys, part, name, written):
    path = tmp_path / "run.checkpoint"
    with monkeypatch.context() as other:
        changing(other, part, **{written: ["mood"] if written == "more" else [name]})
        kept(path, market())
    assert "it holds other values than this version saves" in begins_afresh(path, market(), capsys)


@pytest.mark.parametrize("written", ["more", "less"])
def test_so_is_one_whose_header_says_nothing_of_it(tmp_path, monkeypatch, capsys, written):
    """As a forged one would: its schema is that of this version."""
    path, known = tmp_path / "run.checkpoint", state.schema(market())
    with monkeypatch.context() as other:
        other.setattr(checkpoint, "schema", lambda scenario: known)
        changing(other, Population, **{written: ["mood"] if written == "more" else ["best"]})
        kept(path, market())
    said = begins_afresh(path, market(), capsys)
    assert f"Population has {'mood' if written == 'more' else 'best'} too much or not at all" in said


def test_an_attribute_that_is_not_declared_is_said_once_and_the_run_goes_on(tmp_path, capsys):
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 1e-9, "mine")
    model = keeper.begun(market(), 5)
    model.population.mood = 1.0
    while model.running:
        model.step()
        keeper.keep(model)
    said = "this run cannot be saved (the attribute mood of Population is not declared)"
    assert capsys.readouterr().err.count(said) == 1
    assert not keeper.path.exists()


class Sloppy(JointQuadratic):
    """Trains, but does not say so."""

    __module__ = "fedabm.sloppy"
    changes: ClassVar = {}


@pytest.mark.parametrize("around", [lambda inner: inner, Phased])
def test_an_accuracy_that_changes_otherwise_than_it_declares_is_not_saved(tmp_path, capsys, around):
    scenario = replace(market(), accuracy=around(Sloppy()))
    model = Federation(scenario, 5)
    while model.steps < 2:
        model.step()
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 1e-9, "mine")
    keeper.keep(model)
    assert "weights of Sloppy has changed and is not declared" in capsys.readouterr().err


@dataclass(frozen=True)
class Own(JointQuadratic):
    """A user's own accuracy in training, with a field of its own."""

    taken: int = 0

    def advance(self, profile):
        return replace(super().advance(profile), taken=self.taken + 1)


@pytest.mark.parametrize("accuracy", [Own(), Phased(Own(), at_most=1), JointQuadratic(), Phased(JointQuadratic())])
def test_accuracies_in_training_come_back_also_the_users_own(tmp_path, accuracy):
    scenario = replace(market(), accuracy=accuracy)
    model = Federation(scenario, 5)
    while model.steps < 2:
        model.step()
    again = checkpoint.restore(checkpoint.save(model, tmp_path / "run"), scenario)
    assert again.accuracy == model.accuracy != accuracy
    assert_equal_frames(again.run().frames(), Federation(scenario, 5).run().frames())


@dataclass(frozen=True, eq=False)
class Inner(State):
    """How often."""

    times: int = 0


@dataclass(frozen=True, eq=False)
class Mine(State):
    """Of a user's own, without any declaration."""

    inner: Inner
    weights: np.ndarray
    note: str | None = None
    past: tuple[float, ...] = ()
    more: object = None


@dataclass(frozen=True)
class Growing(Training):
    """A user's own training: worth grows with all that was ever contributed."""

    more: object = None
    owners = 2

    def begin(self, seed):
        return Mine(Inner(), np.full(2, 0.1), more=self.more)

    def round(self, state, messages):
        total = float(messages.now.contribution.sum())
        after = Mine(Inner(state.inner.times + 1), state.weights + 0.001 * total, "on", (*state.past, total), self.more)
        return after, RoundResult.of(messages)

    def worth(self, state):
        return PresentWorth(DataTable(state.weights))


def test_states_of_ones_own_come_back_without_any_declaration(tmp_path):
    scenario = replace(market(), accuracy=Growing())
    model = Federation(scenario, 5)
    while model.steps < 2:
        model.step()
    again = checkpoint.restore(checkpoint.save(model, tmp_path / "run"), scenario)
    assert again.state.inner.times == 2
    assert again.state.past == model.state.past
    np.testing.assert_array_equal(again.state.weights, model.state.weights)
    assert_equal_frames(again.run().frames(), Federation(scenario, 5).run().frames())


def test_a_state_that_holds_something_else_is_refused_in_one_line(tmp_path):
    model = Federation(replace(market(), accuracy=Growing(more=[1])), 5)
    model.step()
    with pytest.raises(InputError, match=r"more of Mine is list; arrays, numbers, texts, tuples and states") as error:
        checkpoint.save(model, tmp_path / "run")
    assert "\n" not in str(error.value)


def test_another_class_of_states_is_not_made_of_what_was_saved():
    kind = Growing().state_kind()
    saved = kind.state(Mine(Inner(), np.zeros(2)))
    for other in ("builtins:object", "os:system", "fedabm.simulation.model:Federation", "tests.conftest:Mine", 1, None):
        with pytest.raises(ValueError, match="which is not known"):
            kind.value({**saved, "class": other})
    with pytest.raises(ValueError, match="Mine has more too much or not at all"):
        kind.value({**saved, "fields": {name: part for name, part in saved["fields"].items() if name != "more"}})


@dataclass(frozen=True)
class Guessing(Knowledge):
    """A user's own knowledge, with an accuracy that it makes in every step."""

    def kind(self, accuracy):
        return "curve"

    def before(self, context):
        return Known("curve", PowerLaw(scale=1.0 + 0.1 * context.step), since=context.step, evaluations=1)


KNOWLEDGE = [None, AnnouncedCurve(PowerLaw(scale=0.5)), Nothing(), SumsOnly(Guessing()), Guessing()]


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_what_the_server_knows_comes_back(tmp_path, knowledge):
    scenario = replace(market(), knowledge=knowledge)
    model = Federation(scenario, 5)
    while model.steps < 2:
        model.step()
    again = checkpoint.restore(checkpoint.save(model, tmp_path / "run"), scenario)
    assert (again.known.kind, again.known_cost) == (model.known.kind, model.known_cost)
    assert type(again.known.worth) is type(model.known.worth)
    assert_equal_frames(again.run().frames(), Federation(scenario, 5).run().frames())


@pytest.mark.parametrize("name", ["state", "known"])
def test_an_attribute_more_in_what_was_trained_or_known_is_set_aside(tmp_path, monkeypatch, capsys, name):
    path = tmp_path / "run.checkpoint"
    honest = checkpoint.state_of
    monkeypatch.setattr(checkpoint, "state_of", lambda model: _with_more(honest(model), name))
    kept(path, market())
    assert "has mood too much or not at all" in begins_afresh(path, market(), capsys)


def _with_more(state, name):
    return {**state, name: {**state[name], "mood": 1.0}}
