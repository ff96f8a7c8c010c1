"""What is public stands in the stubs, is there, shows itself, and is all that pages, notebooks and scenarios use."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import fedabm
from fedabm.common.lazy import names_of

ROOT = Path(__file__).parents[1]
STUBS = sorted((ROOT / "fedabm").rglob("*.pyi"))


def module_of(stub: Path) -> str:
    parts = stub.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def public() -> dict[str, dict[str, str]]:
    """All public modules: their names, and where these stand.  A paper is a name of `fedabm.papers`."""
    found = {module_of(stub): names_of(stub.read_text("utf-8")) for stub in STUBS}
    return {module: names for module, names in found.items() if module.count(".") < 2}


def blocks(path: Path) -> Iterator[str]:
    """The code of a script, of a notebook's cells, or of a page."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        yield from ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    elif path.suffix == ".md":
        yield from re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        yield from re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)
    else:
        yield text


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for page in (ROOT / "docs").rglob("*.md") if not page.relative_to(ROOT / "docs").parts[0].startswith("_")),
    *(ROOT / "scenarios").glob("*.py"),
    *(ROOT / "analysis").glob("*.ipynb"),
]


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Modules of ours and the names that are taken from them; also from what is no whole program."""
    for line in re.findall(
        r"^\s*(?:>>> )?(from fedabm[\w.]* import (?:\([^)]*\)|[^\n(]+)|import fedabm[\w.]*)", code, re.M
    ):
        (node,) = ast.parse(line).body
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), one.name) for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names)


def too_deep(code: str, names: dict[str, dict[str, str]]) -> list[str]:
    """The imports of a text that are not of a public name from `fedabm` or a module directly below it."""
    return [
        f"{module}:{name}"
        for module, name in imported(code)
        if module not in names or (name and name not in names[module])
    ]


def test_pages_notebooks_and_scenarios_import_public_names_at_most_one_level_deep():
    names = public()
    # Those that the walks for contributors add.
    names["fedabm.mechanisms"]["Bounty"] = names["fedabm.strategies"]["Shifter"] = names["fedabm.learning"][
        "FedAvgM"
    ] = ""
    found = {
        str(page.relative_to(ROOT)): wrong
        for page in PAGES
        for code in blocks(page)
        if (wrong := too_deep(code, names))
    }
    assert found == {}


def test_what_is_too_deep_or_internal_is_noticed():
    code = "from fedabm.games.accuracy import PowerLaw\nfrom fedabm.specs import kinds\n"
    code += "import fedabm\n    import fedabm.cli\n"
    code += "from fedabm import (\n    Frames,\n    nobody,\n)\n>>> from fedabm.learning.engine.engine import Engine\n"
    assert too_deep(code, public()) == [
        "fedabm.games.accuracy:PowerLaw",
        "fedabm.specs:kinds",
        "fedabm.cli:",
        "fedabm:nobody",
        "fedabm.learning.engine.engine:Engine",
    ]
    assert sum(len(list(imported(code))) for page in PAGES for code in blocks(page)) > 500


def test_each_public_name_has_one_home():
    names = public()
    submodules = {name for name, home in names["fedabm"].items() if home == "fedabm"}
    assert {f"fedabm.{name}" for name in submodules} == set(names) - {"fedabm"}
    homes = Counter(name for module in names.values() for name in module if name not in submodules)
    assert {name for name, count in homes.items() if count > 1} == set()


@pytest.mark.parametrize("stub", STUBS, ids=module_of)
def test_a_module_shows_exactly_its_public_names_and_has_them(stub: Path):
    """Also that no name is one of a submodule, which would take its place as soon as anybody imports that."""
    module, names = importlib.import_module(module_of(stub)), names_of(stub.read_text("utf-8"))
    assert dir(module) == module.__all__ == sorted(names)
    for name, home in names.items():
        inside = getattr(module, name)
        if home == module.__name__:
            assert inside.__name__ == f"{home}.{name}"
        else:
            assert inside is getattr(importlib.import_module(home), name)
            assert not (stub.parent / f"{name}.py").exists() or stub.stem != "__init__", name
            assert not (stub.parent / name / "__init__.py").exists() or stub.stem != "__init__", name


@pytest.mark.parametrize("stub", STUBS, ids=module_of)
def test_a_name_stands_where_its_object_is_made(stub: Path):
    """A stub names the module of a class or function itself, not one that passes it on."""
    for name, home in names_of(stub.read_text("utf-8")).items():
        found = getattr(importlib.import_module(module_of(stub)), name)
        made = getattr(found, "__module__", home)
        if callable(found) and str(made).startswith("fedabm"):
            assert made == home, name


def test_what_is_not_public_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'fedabm' has no attribute 'Any'"):
        _ = fedabm.Any
    with pytest.raises(ImportError):
        from fedabm.mechanisms import Clark  # noqa: F401


def test_importing_it_loads_nothing_but_itself():
    """What takes time waits until it is asked for: not even `typing` is there."""
    code = "import sys; before = set(sys.modules); import fedabm; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["__future__", "fedabm", "fedabm.common", "fedabm.common.lazy"]


def test_shells_complete_public_names():
    completer = pytest.importorskip("IPython.core.completer")
    shell = completer.IPCompleter(namespace={"fedabm": fedabm}, use_jedi=False)
    shell.use_jedi = False
    _, found = shell.complete("fedabm.mechanisms.Cl")
    assert found == [".Clarke"] or found == ["fedabm.mechanisms.Clarke"]
    _, found = shell.complete("fedabm.so")
    assert {one.rpartition(".")[2] for one in found} == {"solve", "solve_all", "solve_many", "solving"}


def test_type_checkers_see_what_is_public(tmp_path: Path):
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "script.py"
    script.write_text("import fedabm\nfrom fedabm.data import Dirichlet\nreveal_type(fedabm.solve)\nfedabm.nobody\n")
    settings = tmp_path / "mypy.ini"  # of other packages nothing is read, as nothing is asked about them
    others, ours = "follow_imports = skip\nignore_missing_imports = true", "follow_imports = silent"
    settings.write_text(f"[mypy]\n{others}\n[mypy-fedabm.*]\n{ours}\n")
    out, _, _ = api.run([str(script), "--no-incremental", f"--config-file={settings}"])
    assert "def (game: fedabm.solving.game.Game" in out
    assert 'Module has no attribute "nobody"' in out
    assert "Dirichlet" not in out


def test_each_class_name_has_one_meaning():
    """No two classes without an underscore are called alike, wherever they are: who searches for a name finds it."""
    homes: dict[str, list[str]] = {}
    for path in sorted((ROOT / "fedabm").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
