"""The recipe for SolaraViz: what SolaraViz needs of the model holds, and with Solara installed its page is made."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

RECIPE = Path(__file__).parents[2] / "docs" / "howto" / "solara.md"
SOLARA = importlib.util.find_spec("solara") is not None


def played(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the recipe; without Solara what it is given is only kept."""
    (code,) = re.findall(r"^```py\n(.*?)^```", RECIPE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    if not SOLARA:
        fake = ModuleType("mesa.visualization")
        fake.make_plot_component = lambda name: name
        fake.SolaraViz = lambda model, *, components, model_params, name: SimpleNamespace(model=model)
        monkeypatch.setitem(sys.modules, "mesa.visualization", fake)
    known: dict[str, Any] = {"__name__": "my_page"}
    exec(compile(code, str(RECIPE), "exec"), known)
    return known


def test_the_model_is_made_again_with_the_sliders_steps_and_collects_what_is_plotted(monkeypatch):
    """SolaraViz calls type(model)(**parameters) whenever a slider moves, then step(), and reads the collector."""
    known = played(monkeypatch)
    code = RECIPE.read_text("utf-8")
    plotted = re.findall(r'make_plot_component\("(\w+)"\)', code)
    assert set(known["sliders"]) <= set(known["Owners"].__init__.__annotations__)
    for riders in (0, 2):
        model = known["Owners"](**{name: slider["value"] for name, slider in known["sliders"].items()}, riders=riders)
        assert model.steps == 0
        model.step()
        model.step()
        collected = model.datacollector.get_model_vars_dataframe()
        assert set(plotted) <= set(collected.columns)
        assert len(collected) == 2
        assert len(model.agents) == known["sliders"]["owners"]["value"]


def test_the_recipe_is_twenty_lines():
    (code,) = re.findall(r"^```py\n(.*?)^```", RECIPE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


@pytest.mark.skipif(not SOLARA, reason="Solara is not installed; see docs/howto/solara.md for its environment")
def test_the_page_is_drawn(monkeypatch):
    import solara

    page = played(monkeypatch)["page"]
    box, render = solara.render(page, handle_error=False)
    assert box.children
    render.close()
