"""One look per strategy and mechanism, everywhere, also in print and for colour-blind readers."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from fedabm import mechanisms, strategies
from fedabm.analysis import figures
from fedabm.analysis import looks as looks_module
from fedabm.analysis.looks import kind_of, mechanism_looks, strategy_looks
from fedabm.specs.kinds import kinds
from fedabm.strategies import BestResponse
from fedabm.study.library import find
from fedabm.study.study import Study


def test_looks_do_not_depend_on_who_else_is_there() -> None:
    for looks, names in ((strategy_looks, _strategy_names()), (_by_mechanism, _mechanism_names())):
        together = looks(list(names))
        assert together == {name: looks([name])[name] for name in names}


def _by_mechanism(names: list[str]) -> dict[str, Any]:
    return mechanism_looks({name: name for name in names})


def _strategy_names() -> list[str]:
    """Those that are listed; a new one has a look of the spare ones until somebody gives it another."""
    return [name for name in kinds(strategies, strategies.Strategy) if name in looks_module._STRATEGIES]


def _mechanism_names() -> list[str]:
    listed = {**looks_module._MECHANISMS, **looks_module._RIVALS, **looks_module._LATER}
    return [kind.__name__ for kind in kinds(mechanisms, mechanisms.Mechanism).values() if kind.__name__ in listed]


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


def test_a_line_has_the_colour_marker_and_dashes_of_its_look() -> None:
    looks = mechanism_looks({"free": "NoPayments()", "shares": "ShapleyShare()"})
    for look in looks.values():
        (line,) = plt.subplots()[1].plot([0, 1], [0, 1], **look.line)
        assert (line.get_color(), line.get_marker()) == (look.colour, look.marker)
        assert line.is_dashed() == bool(look.dashes)


#: scenarios that draw mechanisms or strategies as lines: a quick setting, and who is behind which label
DRAWN = {
    "scale_study": (
        ["largest=100"],
        {"no payments": "NoPayments", "cost sharing": "CostSharing", "Clarke": "Clarke", "deposit": "Deposit"},
    ),
    "proportional_rules": (
        ["powers=0,1", "owners=300", "simulated=20"],
        {"PD, by data": "ProportionalData", "PV, by value alone": "ProportionalValue", "value shaping": "ValueShaping"},
    ),
    "cost_discrimination": (["fractions=0.1,0.5,1"], {"value shaping": "ValueShaping"}),
    "gpt3": (["companies=1700", "points=5"], {"value shaping": "ValueShaping"}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_scenarios_draw_mechanisms_with_their_looks(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the colour of their place among the others."""
    settings, behind = DRAWN[name]
    drawn: list[Any] = []
    monkeypatch.setattr(Study, "picture", lambda self, figure, name: drawn.append(figure))
    script = find(name)
    script.run(Study(name, 0, 2, {}, quiet=True), **script.parameters(settings))
    lines = {line.get_label(): line for figure in drawn for ax in figure.axes for line in ax.lines}
    for label, kind in behind.items():
        assert to_hex(lines[label].get_color()) == mechanism_looks({kind: kind})[kind].colour


def test_a_mechanism_has_one_look_whoever_is_drawn_before_it() -> None:
    """Also the many of `scale_study`, in any order."""
    rules = {name: repr(rule.mechanism) for name, rule in find("scale_study").module._RULES.items()}
    forwards, backwards = mechanism_looks(rules), mechanism_looks(dict(reversed(rules.items())))
    assert forwards == backwards
    assert len({look.colour for look in forwards.values()}) == len(rules)


def test_payments_have_the_colour_of_the_subsidy_in_every_panel() -> None:
    rows = {"label": ["without budgets", "with budgets"], "seed": 0, "contribution": 1.0, "payment": 0.0, "owed": 0.0}
    figure = find("payments_by_contribution").module._figure(pd.DataFrame(rows).assign(utility=0.5), "digits", 10.0)
    dots = {to_hex(ax.collections[0].get_facecolor()[0]) for ax in figure.axes}
    assert dots == {mechanism_looks({"subsidy": "ContributionSubsidy"})["subsidy"].colour}
