"""The notebooks run from top to bottom, and what is stored in them is what they give."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest

from fedabm.analysis.notebooks import execute, lacking, main, notebooks
from fedabm.common.errors import InputError

NAMES = [
    "01_first_study",
    "02_mechanisms",
    "03_equilibria_and_shapley",
    "04_market",
    "05_sweep",
    "06_write_your_own",
    "07_your_network_your_data",
    "08_language_models",
    "09_consortium",
    "10_sensitivity",
]
STORED = {name: nbformat.read(path, as_version=4) for name, path in notebooks().items()}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(notebook: Any) -> list[str]:
    """All that is printed or returned as text."""
    found = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs(notebook)]
    return [text for text in found if text]


def words(text: str) -> list[str]:
    """All but the numbers; how wide a column is depends on them."""
    return re.sub(r"[-\s]+", " ", NUMBER.sub("#", text)).split()


def numbers(text: str) -> list[float]:
    return [float(found) for found in NUMBER.findall(text)]


def pictures(notebook: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def test_all_notebooks_are_there() -> None:
    assert list(STORED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_from_top_to_bottom_and_gives_what_is_stored(name: str) -> None:
    if (remedy := lacking(name)) is not None:
        pytest.skip(f"{name}: {remedy}")
    fresh = execute(notebooks()[name])
    now, then = "\n".join(texts(fresh)), "\n".join(texts(STORED[name]))
    assert words(now) == words(then)
    # Other processors round differently, and training carries that on.
    assert numbers(now) == pytest.approx(numbers(then), rel=0.01, abs=1e-6)
    assert pictures(fresh) == pictures(STORED[name]) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_it_is_stored_as_a_newcomer_should_see_it(name: str) -> None:
    """Words before code, outputs in order, no warnings, no errors, nothing large, no paths of somebody's machine."""
    notebook = STORED[name]
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum(cell.cell_type == "markdown" for cell in notebook.cells) >= len(code) // 3
    assert all(output.output_type != "error" and output.get("name") != "stderr" for output in outputs(notebook))
    assert notebooks()[name].stat().st_size < 400_000
    assert not re.search(r"/(home|root|tmp|Users)/", str([texts(notebook), [cell.source for cell in notebook.cells]]))


def test_links_between_notebooks_lead_somewhere() -> None:
    linked = re.findall(r"\((\w+\.ipynb)\)", str([cell.source for nb in STORED.values() for cell in nb.cells]))
    assert len(linked) == len(NAMES) - 1
    assert {name.removesuffix(".ipynb") for name in linked} <= set(NAMES)


def test_an_unknown_notebook_is_refused() -> None:
    with pytest.raises(InputError, match="there is no notebook '04_markt'; did you mean '04_market'"):
        main(["04_markt"])


def test_a_notebook_whose_model_is_not_there_is_left_as_it_is(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    before = notebooks()["08_language_models"].read_bytes()
    main(["08_language_models"])
    assert "fedabm data get minilm" in capsys.readouterr().out
    assert notebooks()["08_language_models"].read_bytes() == before
