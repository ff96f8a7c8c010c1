"""The members of families: what one of them is, its parameters, and by which topic it is listed."""

from __future__ import annotations

import inspect
import pkgutil
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from fedabm.common.docstrings import head_of, meanings_of
from fedabm.common.errors import FedabmError
from fedabm.common.names import brief, snake
from fedabm.specs.bounds import bounds_of
from fedabm.specs.families import FAMILIES
from fedabm.specs.hints import hints_of, parameters_of
from fedabm.specs.kinds import EntryPointKind, choices

__all__ = ["LIGHT", "UNNAMED", "Member", "grouped", "members_called", "members_of"]

#: families that are quick to import
LIGHT = ("mechanisms", "strategies", "accuracies", "costs")
#: what is listed beside the families, since no text names it where an object is wanted
UNNAMED = ("attacks", "games")
#: games to solve or to play, and where they are
_GAMES = ("fedabm:Game", "fedabm.solving:HedonicGame", "fedabm.tournament:EmpiricalGame")
#: topics in the order in which they are shown
ORDER = (
    "one model, and payments",
    "better models for who gives more, no money",
    "checks and deposits",
    "a model for each owner",
    "fixed behaviour",
    "responding to the offer",
    "learning from experience",
    "lies and attacks",
    "means of updates",
    "robust to bad updates",
)
#: topics by the package or module in which a class stands, the closest first
TOPICS = {
    "fedabm.mechanisms.market": "a model for each owner",
    "fedabm.mechanisms.personalised": "a model for each owner",
    "fedabm.mechanisms.proportional": "better models for who gives more, no money",
    "fedabm.mechanisms.screening": "better models for who gives more, no money",
    "fedabm.mechanisms.value_shaping": "better models for who gives more, no money",
    "fedabm.mechanisms.verification": "checks and deposits",
    "fedabm.mechanisms.deposit": "checks and deposits",
    "fedabm.mechanisms": "one model, and payments",
    "fedabm.strategies.learners": "learning from experience",
    "fedabm.strategies.best_response": "responding to the offer",
    "fedabm.strategies.measured": "responding to the offer",
    "fedabm.strategies.liar": "lies and attacks",
    "fedabm.strategies.attackers": "lies and attacks",
    "fedabm.strategies": "fixed behaviour",
    "fedabm.learning.rules.coordinate_median": "robust to bad updates",
    "fedabm.learning.rules.fl_trust": "robust to bad updates",
    "fedabm.learning.rules.fools_gold": "robust to bad updates",
    "fedabm.learning.rules.no_duplicates": "robust to bad updates",
    "fedabm.learning.rules.norm_bound": "robust to bad updates",
    "fedabm.learning.rules.geometric_median": "robust to bad updates",
    "fedabm.learning.rules.krum": "robust to bad updates",
    "fedabm.learning.rules.trimmed_mean": "robust to bad updates",
    "fedabm.learning.rules": "means of updates",
}


@dataclass(frozen=True)
class Member:
    """A member of a family: its name in text, what it says of itself, and how to import it."""

    name: str
    family: str
    doc: str
    module: str
    parameters: dict[str, dict[str, str]]

    @property
    def first(self) -> str:
        """The first line of what it says of itself."""
        return self.doc.partition("\n")[0]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def text(self) -> str:
        """Family, parameters with their usual values and bounds, then rule, equation and reference."""
        lines = [f"{self.name} ({self.family}, {self.module})", "", self.doc, ""]
        for name, one in self.parameters.items():
            usual = f" = {one['usual']}" if one["usual"] else ""
            lines.append("  " + "; ".join(filter(None, [f"{name}: {one['type']}{usual}", one["bounds"]])))
            lines += textwrap.wrap(one.get("meaning", ""), 110, initial_indent=" " * 6, subsequent_indent=" " * 6)
        return "\n".join(lines).rstrip() + "\n"


def members_called(name: str, *, quick: bool = False) -> list[Member]:
    """The members of that name, whatever their family; families that need what is not installed are left out.

    With `quick` only families are looked through that need no PyTorch.
    """
    found: list[Member] = []
    for family in LIGHT if quick else (*FAMILIES, *UNNAMED):
        try:
            found += [one for one in members_of(family) if one.name == name]
        except ModuleNotFoundError:  # of PyTorch, which rules of learning need
            continue
    return found


def members_of(family: str) -> list[Member]:
    """All members of a family, by name; what cannot be loaded says so itself."""
    if family == "attacks":
        from fedabm.strategies import ATTACKS, SEEING  # slow to import

        seeing = {name: (type(attack), attack.scale) for name, attack in SEEING.items()}
        return [
            _member(name, family, attack, {"scale": {"type": "float", "usual": f"{scale:g}", "bounds": ""}})
            for name, (attack, scale) in sorted({**ATTACKS, **seeing}.items())
        ]
    if family == "games":
        games = [pkgutil.resolve_name(place) for place in _GAMES]
        return sorted((_loaded(snake(one.__name__), family, one) for one in games), key=lambda one: one.name)
    found = choices(pkgutil.resolve_name(FAMILIES[family]))
    return [_loaded(name, family, found[name]) for name in sorted(found)]


def _loaded(name: str, family: str, made: Callable[..., Any] | EntryPointKind) -> Member:
    if not isinstance(made, EntryPointKind):
        return _member(name, family, made, _parameters(made))
    try:
        loaded = made.load()
    except FedabmError as error:
        return Member(name, family, str(error), made.value, {})
    return _member(name, family, loaded, _parameters(loaded))


def _member(name: str, family: str, made: Any, parameters: dict[str, dict[str, str]]) -> Member:
    doc = inspect.getdoc(made) or ""
    meanings = meanings_of(doc)
    known = {name: {**one, "meaning": meanings.get(name, "")} for name, one in parameters.items()}
    return Member(name, family, head_of(doc), getattr(made, "__module__", ""), known)


def _parameters(made: Callable[..., Any]) -> dict[str, dict[str, str]]:
    """Type, usual value and bounds of each parameter."""
    hints = hints_of(made)
    bounds = bounds_of(made) if inspect.isclass(made) else {}
    return {
        name: {
            "type": _type(hints.get(name)),
            "usual": "" if one.default is one.empty else _usual(one.default),
            "bounds": bounds.get(name, ""),
        }
        for name, one in parameters_of(made).items()
    }


def _type(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if inspect.isclass(hint) else str(hint).replace("typing.", "")


def _usual(value: Any) -> str:
    return "" if repr(value) == "<factory>" else brief(value)


def grouped(family: str, rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Rows of a list by topic, in the order of the table of topics; what others offer comes last."""
    if family not in FAMILIES:
        return {"": rows}
    modules = {one.name: one.module for one in members_of(family)}
    order = [*ORDER, family, "from other packages"]
    topics = {name: _topic(modules.get(name, ""), family) for name, _ in rows}
    found = {topic: [row for row in rows if topics[row[0]] == topic] for topic in order}
    return {topic: rows for topic, rows in found.items() if rows}


def _topic(module: str, family: str) -> str:
    while module.startswith("fedabm"):
        if module in TOPICS:
            return TOPICS[module]
        module = module.rpartition(".")[0]
        if not module:
            return family
    return "from other packages"
