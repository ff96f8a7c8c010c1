"""The rooms of the house: imports point downwards only, and nothing leads back to itself.

Every import counts, also inside functions and under TYPE_CHECKING: a type that a lower room needs belongs there.  What
is imported by a name that is written out (`import_module("...")`) counts, too.  What comes through a public module
(`from fedabm.figures import heat_map`) counts as an import from where its stub says that it stands.  Scenarios are
found by the names that users give, as their own scripts are, and never imported.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from fedabm.common.lazy import names_of

ROOT = Path(__file__).resolve().parents[1]

#: modules that only name what is public of rooms (`fedabm.accuracy`), and import nothing of it until it is asked for
FACES = ("fedabm", "accuracy", "checks", "costs", "figures", "market")
#: from bottom to top; rooms of one line know nothing of each other
LAYERS = (
    ("common",),
    ("games",),
    ("shapley", "calibration"),
    ("views",),
    ("mechanisms", "strategies"),
    ("knowledge",),
    ("results",),
    ("kernel",),
    ("simulation", "solving"),
    ("testing", "tournament"),
    ("behaviour",),
    ("environment", "bridges"),
    ("data",),
    ("learning",),
    ("specs",),
    ("study",),
    ("sweep",),
    ("analysis",),
    ("settlement",),
    ("report", "comparison"),
    ("factors",),
    ("auditing",),
    ("advice",),
    ("live",),
    ("papers",),
    ("cli",),
    ("scenarios", "__main__"),
)
#: who may import what is slow to import
SLOW = {"torch": {"learning", "papers"}, "mesa": {"simulation"}}
#: rooms that work without either
LIGHT = (
    *("common", "games", "shapley", "views", "mechanisms", "strategies", "knowledge", "results", "kernel", "solving"),
    *("data", "calibration"),
)


def sources() -> dict[str, str]:
    """The text of every module of the package, by its name."""
    homes = {"fedabm": "fedabm", "analysis": "fedabm.analysis", "scenarios": "fedabm.scenarios"}
    found = {}
    for folder, package in homes.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path.read_text("utf-8")
    return found


@functools.cache
def stubs() -> dict[str, dict[str, str]]:
    """The names of every public module, each with the module where it stands."""
    found = {}
    for path in (ROOT / "fedabm").rglob("*.pyi"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = names_of(path.read_text("utf-8"))
    return found


def graph_of(texts: dict[str, str]) -> nx.DiGraph:
    """An arrow from every module to whatever it imports, wherever the import stands."""
    graph = nx.DiGraph()
    graph.add_nodes_from(texts)
    for module, text in texts.items():
        graph.add_edges_from((module, wanted) for wanted in _imports(text, set(texts)))
    return graph


def _source(module: str, name: str, known: set[str]) -> str:
    """The module that `from module import name` needs: a submodule, where a stub says that a name stands, or itself."""
    if f"{module}.{name}" in known:
        return f"{module}.{name}"
    return stubs().get(module, {}).get(name, module)


def _imports(text: str, known: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"relative import: {ast.unparse(node)}"
            yield from {_source(node.module or "", name.name, known) for name in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "import_module":
            yield from _literal(node.args[0])


def _literal(name: ast.expr) -> Iterator[str]:
    """What is fixed of a module's name: all of it, or what stands before the first {}."""
    fixed = name.values[0] if isinstance(name, ast.JoinedStr) else name
    if isinstance(fixed, ast.Constant):
        yield str(fixed.value).rstrip(".")


def room(module: str) -> str:
    return module.split(".")[1] if module.startswith("fedabm.") else module.split(".")[0]


def upward(graph: nx.DiGraph) -> set[tuple[str, str]]:
    """The imports that do not point downwards, or fetch something slow where it must not be."""
    floor = {name: place for place, names in enumerate(LAYERS) for name in names}

    def wrong(module: str, wanted: str) -> bool:
        here, there = room(module), room(wanted)
        if there in SLOW:
            return here not in SLOW[there]
        if here in FACES:
            return there in floor and there != "common"
        return there in floor and here != there and floor[there] >= floor[here]

    return {edge for edge in graph.edges if wrong(*edge)}


def test_every_room_has_its_place():
    assert {room(module) for module in sources()} == {*FACES, *(name for names in LAYERS for name in names)}


def test_imports_point_downwards():
    assert upward(graph_of(sources())) == set()


def test_no_module_leads_back_to_itself():
    graph = graph_of(sources())
    assert [sorted(ring) for ring in nx.strongly_connected_components(graph) if len(ring) > 1] == []


def test_the_picture_for_contributors_shows_these_rooms_in_this_order():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## The house")[2].partition("\n## ")[0]
    shown = re.findall(r"^    ([a-z]+)(?:    ([a-z]+))?  +\S", text, re.MULTILINE)
    rooms = [tuple(name for name in names if name != "__main__") for names in reversed(LAYERS)]
    assert [tuple(filter(None, names)) for names in shown] == [names for names in rooms if names]


def test_games_rules_and_owners_are_there_without_torch_or_mesa():
    """All modules of these rooms, in a process of their own."""
    light = [name for name in sources() if room(name) in LIGHT]
    code = f"import sys\nfor name in {light}: __import__(name)\nprint(*({set(SLOW)} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
    assert "fedabm.mechanisms" in light


def test_what_points_upwards_is_noticed_wherever_it_hides():
    texts = {
        "fedabm.games.hidden": "def later():\n    from fedabm.learning import engine\n",
        "fedabm.games.typed": "if TYPE_CHECKING:\n    from fedabm.views.owners import OwnerView\n",
        "fedabm.games.named": 'import_module(f"fedabm.papers.{name}")',
        "fedabm.games.slow": "import torch.nn",
        "fedabm.games.faced": "from fedabm.figures import heat_map",
        "fedabm.games.fine": "import numpy\nfrom fedabm.common.errors import InputError\nimport fedabm.games.slow",
        "fedabm.games.slow2": "import fedabm.games.fine",
        "fedabm.learning": "",
    }
    assert {module for module, _ in upward(graph_of(texts))} == {
        "fedabm.games.hidden",
        "fedabm.games.typed",
        "fedabm.games.named",
        "fedabm.games.slow",
        "fedabm.games.faced",
    }
    circle = {"fedabm.games.one": "import fedabm.games.two", "fedabm.games.two": "from fedabm.games import one"}
    assert not nx.is_directed_acyclic_graph(graph_of(circle))
