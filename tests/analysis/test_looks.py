"""One look per strategy and mechanism, everywhere, also in print and for colour-blind readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from fedabm import mechanisms, strategies
from fedabm.analysis import figures
from fedabm.analysis import looks as looks_module
from fedabm.analysis.looks import kind_of, mechanism_looks, strategy_looks
from fedabm.specs.kinds import kinds
from fedabm.strategies import BestResponse


def test_looks_do_not_depend_on_who_else_is_there() -> None:
    for looks, names in ((strategy_looks, _strategy_names()), (_by_mechanism, _mechanism_names())):
        together = looks(list(names))
        assert together == {name: looks([name])[name] for name in names}


def _by_mechanism(names: list[str]) -> dict[str, Any]:
    return mechanism_looks({name: name for name in names})


def _strategy_names() -> list[str]:
    """Those that are listed; a new one has a look of the spare ones until somebody gives it another."""
    return [name for name in kinds(strategies) if name in looks_module._STRATEGIES]


def _mechanism_names() -> list[str]:
    listed = {**looks_module._MECHANISMS, **looks_module._RIVALS}
    return [kind.__name__ for kind in kinds(mechanisms).values() if kind.__name__ in listed]


@pytest.mark.parametrize("looks", [strategy_looks(_strategy_names()), _by_mechanism(_mechanism_names())])
def test_looks_differ_in_colour_and_without_colour(looks: dict[str, Any]) -> None:
    assert len({look.colour for look in looks.values()}) == len(looks)
    assert len({(look.dashes, look.hatch, look.marker) for look in looks.values()}) == len(looks)


def test_colours_can_be_told_apart_by_colour_blind_readers() -> None:
    """The first colours of both palettes, seen with protanopia and deuteranopia (Vienot et al. 1999), stay apart."""
    protan = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    deutan = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    names = ["best_response", "gradient_response", "honest", "free_rider", "liar"]
    colours = np.array([to_rgb(look.colour) for look in strategy_looks(names).values()]) ** 2.2
    for matrix in (protan, deutan):
        seen = np.clip(colours @ matrix.T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(len(names), 1)]
        assert apart.min() > 0.08


def test_a_wrapper_has_the_look_of_its_kind_and_relatives_differ() -> None:
    assert strategy_looks(["liar(honest)"])["liar(honest)"] == strategy_looks(["liar"])["liar"]
    two = strategy_looks(["liar(honest)", "liar(best_response)"])
    assert len(set(two.values())) == 2
    rates = mechanism_looks({f"subsidy {r}": f"ContributionSubsidy(rate={r})" for r in range(9)})
    assert len({look.marker for look in rates.values()}) == 9
    assert kind_of("ContributionSubsidy(rate=0.1)") == "ContributionSubsidy"


def test_unknown_names_have_looks_too() -> None:
    assert strategy_looks(["my_own"]) == strategy_looks(["my_own"])
    assert len(set(strategy_looks([f"mine_{k}" for k in range(20)]).values())) == 20


def test_best_responders_are_drawn_alike_everywhere() -> None:
    label = BestResponse().label
    assert figures.strategy_colours([label])[label] == pytest.approx(to_rgb(strategy_looks([label])[label].colour))
