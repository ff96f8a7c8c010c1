"""Nobody asks of which family an accuracy, a training or a cost is: what it is good for, its traits say.

The module that defines a class may ask for it, and `Accuracy`, `Training` and `Cost` themselves are kinds of parts,
which inputs are checked for.
"""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.test_layers import sources

ROOTS = {
    "fedabm.games.accuracy.base.Accuracy",
    "fedabm.games.accuracy.training.Training",
    "fedabm.games.costs.base.Cost",
    "fedabm.views.exchanging.Exchanging",
}
#: some that must be among what is found
KNOWN = [
    "Announced",
    "Answering",
    "Coalition",
    "Custom",
    "Exposure",
    "GroupWeighted",
    "JointQuadratic",
    "Learning",
    "MixedCost",
    "MeanEstimation",
    "PacBound",
    "Personal",
    "Phased",
    "PiecewiseCost",
    "PowerCost",
    "PowerLaw",
    "RandomCoverage",
    "RandomDiscovery",
    "Restricted",
    "Rounds",
    "ScaledCost",
    "Separable",
    "Trained",
    "Valued",
]


@cache
def families() -> frozenset[str]:
    """Every class that inherits from an accuracy, a training or a cost, by its full name."""
    bases = {
        f"{module}.{node.name}": {
            _resolved(base, text) or f"{module}.{ast.unparse(base)}" for base in map(_bare, node.bases)
        }
        for module, text in sources().items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    }
    found, before = set(ROOTS), set()
    while found != before:
        before = set(found)
        found |= {name for name, parents in bases.items() if any(_same(parent, found) for parent in parents)}
    return frozenset(found - ROOTS)


def _bare(base: ast.expr) -> ast.expr:
    """A base without what stands in brackets, as of `Training[State]`."""
    return base.value if isinstance(base, ast.Subscript) else base


def _same(name: str, known: set[str] | frozenset[str]) -> bool:
    """Whether a name, perhaps of a package that hands it on, is one of the known."""
    place, _, own = name.rpartition(".")
    return any(one == name or (one.startswith(f"{place}.") and one.endswith(f".{own}")) for one in known)


def _resolved(node: ast.expr, text: str) -> str | None:
    """The full name of what a name in a module was imported as."""
    return _imported(text).get(ast.unparse(node))


@cache
def _imported(text: str) -> dict[str, str]:
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def asked(module: str, text: str) -> Iterator[str]:
    """Where a module asks for a family that it does not define."""

    def foreign(node: ast.AST) -> list[str]:
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        return [part.id for part in names if _same(_resolved(part, text) or "", families())]

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and foreign(node.args[1]):
                yield f"{module}:{node.lineno} {ast.unparse(node)}"
            # Questions around the protocol: "for how many owners?", "is it this library's?"
            if node.func.id == "all_ours" or (node.func.id == "getattr" and ast.unparse(node.args[1]) == "'owners'"):
                yield f"{module}:{node.lineno} {ast.unparse(node)}"
        if isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            sides = [node.left, *node.comparators]
            methods = [side for side in sides if isinstance(side, ast.Attribute) and "type(" in ast.unparse(side.value)]
            roots = [_resolved(part, text) for part in ast.walk(node) if isinstance(part, ast.Name)]
            if any(foreign(side) for side in sides) or (methods and ROOTS & set(roots)):
                yield f"{module}:{node.lineno} {ast.unparse(node)}"
        if isinstance(node, ast.MatchClass) and foreign(node.cls):
            yield f"{module}:{node.lineno} case {ast.unparse(node)}"


def test_the_list_of_families_is_complete() -> None:
    names = {name.rpartition(".")[2] for name in families()}
    assert set(KNOWN) <= names
    assert "fedabm.learning.oracles.curve.MeasuredCurve" in families()
    assert "fedabm.games.curves.Curve" not in families()


IMPORT = "from fedabm.games.accuracy import PowerLaw\nfrom fedabm.games.accuracy.base import Accuracy\n"


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, PowerLaw)",
        "isinstance(x, Other | PowerLaw)",
        "issubclass(kind, (Other, PowerLaw))",
        "type(x) is PowerLaw",
        "type(x) in (Other, PowerLaw)",
        "type(x).values is PowerLaw.values",
        "type(x).hand_out is Accuracy.hand_out",
        "getattr(x, 'owners', None)",
        "all_ours(x)",
        "match x:\n    case PowerLaw(): pass",
    ],
)
def test_a_question_about_a_family_is_found(line: str) -> None:
    assert len(list(asked("fedabm.somewhere", IMPORT + line))) == 1


@pytest.mark.parametrize("line", ["isinstance(x, Accuracy)", "isinstance(x, float)", "PowerLaw() == x", "x.owners"])
def test_other_questions_are_not(line: str) -> None:
    assert list(asked("fedabm.somewhere", IMPORT + line)) == []


def test_no_module_asks_for_a_family_of_another() -> None:
    assert [line for module, text in sources().items() for line in asked(module, text)] == []
