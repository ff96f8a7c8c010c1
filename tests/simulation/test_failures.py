"""What goes wrong in a user's own strategy, agent or attack is one line with class, owner and step; no step is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, UserCodeError, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ModelMarket, NoPayments
from fedabm.simulation.agents import Owner
from fedabm.simulation.stopping import Never
from fedabm.strategies import BestResponse, Honest, Strategy
from fedabm.views import Action, OwnerView, Reports


@dataclass(frozen=True)
class Breaks(Strategy):
    """Honest until its third step, where it does something else."""

    how: Callable[[OwnerView], Any] = field(compare=False)

    def act(self, view: OwnerView) -> Action:
        return self.how(view) if view.step == 3 else view.truthful(view.capacity)


def everything(view: OwnerView, **changes: Any) -> Action:
    return replace(view.truthful(view.capacity), **changes)


def raises(*_: Any) -> Any:
    raise RuntimeError("first line\nsecond line")


def grown(rows: int) -> torch.Tensor:
    return torch.ones(rows, requires_grad=True)


#: what a strategy may get wrong, and what is said
MISTAKES: dict[str, tuple[Callable[[OwnerView], Any], str]] = {
    "raises": (raises, "RuntimeError: first line second line; mend what raised it"),
    "None": (lambda view: None, "it gave None instead of an action; return view.truthful"),
    "another shape": (lambda view: view.truthful(np.zeros(7)), r"its contribution has shape \(7,\), for 2 owners"),
    "gradients": (lambda view: view.truthful(grown(2)), "a tensor that still needs gradients; give it as .detach()"),
    "text": (lambda view: view.truthful(np.array(["a", "b"])), "its contribution has str_, no number"),
    "no numbers": (lambda view: view.truthful(np.array([None, None])), "its contribution has NoneType, no number"),
    "complex": (lambda view: view.truthful(np.array([1j, 1j])), "its contribution has complex128, no number"),
    "no report": (lambda view: everything(view, report=None), "it reports None; give view.report"),
    "no size": (lambda view: everything(view, report=Reports(view.capacity, 3.0)), r"its reported size has shape \(\)"),
    "no staying": (lambda view: everything(view, stay=None), r"its stay has shape \(\)"),
    "no cost": (
        lambda view: everything(view, report=Reports(view.capacity, view.capacity, cost=3)),
        "it reports 3 as its cost; give a cost function",
    ),
    "no eagerness": (
        lambda view: everything(view, report=Reports(view.capacity, view.capacity, eagerness=np.ones(9))),
        r"its reported eagerness has shape \(9,\)",
    ),
    "no information": (lambda view: view.truthful(view.capacity, used="magic"), "cannot rest on 'magic'; choose one"),
    "no attack": (lambda view: everything(view, tamper=3), "it tampers by 3; give a function"),
}


@pytest.mark.parametrize(("how", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_of_a_strategy_is_one_line_and_the_steps_before_it_are_kept(how, said):
    owners = population([0.01] * 4, 10.0, [BestResponse(0.5), Breaks(how), Breaks(how), Honest()])
    model = Federation(Scenario(owners, PowerLaw(), steps=9))
    with pytest.raises(UserCodeError, match=rf"^Breaks of owner 1 and 1 more failed in step 3: .*{said}") as error:
        model.run()
    assert "\n" not in str(error.value)
    frames = model.frames()
    assert frames.steps["step"].tolist() == [1, 2]
    assert frames.runs["status"].tolist() == ["interrupted"]


def test_numbers_of_any_kind_are_numbers():
    """A list, whole numbers and a tensor do the same as an array."""
    for give in (list, torch.tensor, lambda numbers: np.array(numbers, dtype=int)):
        strategy = Breaks(lambda view, give=give: view.truthful(give([3.0] * len(view.capacity))))
        model = Federation(Scenario(population([0.01] * 2, 10.0, strategy), PowerLaw(), steps=3, stopping=Never()))
        model.run()
        assert model.population.contribution.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("part", "when"), [("begin", "at its beginning"), ("declare", "when it joined in step 1")])
def test_what_fails_before_the_first_step_is_told_too(part, when):
    class Broken(Honest):
        pass

    setattr(Broken, part, raises)
    with pytest.raises(UserCodeError, match=f"^Broken of owner 0 and 1 more failed {when}: RuntimeError: first line"):
        Federation(Scenario(population([0.01] * 2, 10.0, Broken()), PowerLaw()))


def test_an_agents_own_decision_is_named_by_the_agent():
    class Hothead(Owner):
        def decide(self, view: OwnerView) -> Action:
            return raises()

    owners = (*population([0.01], 10.0, Honest()), *population([0.01], 10.0, agent=Hothead))
    with pytest.raises(UserCodeError, match=r"^Hothead of owner 1 failed in step 1: RuntimeError"):
        Federation(Scenario(owners, PowerLaw())).step()


# Attacks


@dataclass(frozen=True)
class Meddler(Strategy):
    """Honest, but from the second step on it changes its update by a function of the user's own."""

    change: Any = field(compare=False)

    def act(self, view: OwnerView) -> Action:
        return everything(view, tamper=self.change if view.step > 1 else None)


def needs_gradients(updates: torch.Tensor, *_: Any) -> torch.Tensor:
    return updates * torch.ones(1, requires_grad=True)


ATTACKS: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (raises, "RuntimeError: first line second line; mend what raised it"),
    "None": (lambda updates, *_: None, r"it gave None for updates \(2, 650\); keep their shape"),
    "another shape": (lambda updates, *_: updates[:, 1:], r"it gave shape \(2, 649\) for updates \(2, 650\)"),
    "gradients": (needs_gradients, r"a tensor that still needs gradients; return it as .detach\(\)"),
    "no such arguments": (lambda: None, "TypeError: .* takes 0 positional arguments"),
}


@pytest.mark.parametrize(("change", "said"), ATTACKS.values(), ids=ATTACKS.keys())
@pytest.mark.parametrize("oracle", ["Learning", "Trained", "Rounds", "Personal"])
def test_a_mistake_of_an_attack_is_one_line_and_the_steps_before_it_are_kept(oracle, change, said):
    strategies = [Honest(), Meddler(change), Meddler(change), Honest()]
    rule = ModelMarket() if oracle == "Personal" else NoPayments()
    model = Federation(Scenario(population([0.001] * 4, 30.0, strategies), trained(oracle), rule, steps=3))
    with pytest.raises(
        UserCodeError, match=f"^Meddler of owner 1 and 1 more failed in step 2 with its update: .*{said}"
    ):
        model.run()
    assert model.frames().steps["step"].tolist() == [1]


def trained(oracle: str) -> Any:
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import IID
    from fedabm.learning import oracles
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.personal.models import Personal

    kind = getattr(oracles, oracle, Personal)
    return kind(Engine("logistic", from_partition(load_dataset("digits"), IID(4)), device="cpu"))
