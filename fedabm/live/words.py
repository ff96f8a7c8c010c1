"""Kinds and their parameters between one text, as a setup has it, and two fields, as people fill them in."""

from __future__ import annotations

from collections.abc import Mapping

from fedabm.specs.hints import parameters_of
from fedabm.specs.kinds import EntryPointKind, choices
from fedabm.specs.toml import parse_toml, toml_key, toml_of

__all__ = ["asked_for", "joined", "parted"]


def joined(kind: str, parameters: str) -> str:
    """One text from a kind and its parameters.

    >>> joined("contribution_subsidy", "rate = 0.2"), joined("no_payments", "")
    ('{ kind = "contribution_subsidy", rate = 0.2 }', 'no_payments')
    """
    given = parameters.strip().strip(",")
    return f"{{ kind = {toml_of(kind)}, {given} }}" if given else kind


def parted(text: str) -> tuple[str, str]:
    """The kind and its parameters.

    >>> parted('{ kind = "contribution_subsidy", rate = 0.2 }'), parted("no_payments")
    (('contribution_subsidy', 'rate = 0.2'), ('no_payments', ''))
    """
    if not text.lstrip().startswith("{"):
        return text, ""
    table = parse_toml(f"it = {text}", "this")["it"]
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        return text, ""
    rest = [f"{toml_key(name)} = {toml_of(value)}" for name, value in table.items() if name != "kind"]
    return str(table["kind"]), ", ".join(rest)


def asked_for(kind: str, base: type) -> str:
    """Which parameters a kind of the library has, those that it needs first; nothing for any other name.

    >>> from fedabm.mechanisms import Mechanism
    >>> asked_for("contribution_subsidy", Mechanism), asked_for("tullock_contest", Mechanism)
    ('needs rate', 'needs prize; may have exponent')
    """
    made = choices(base).get(kind)
    if made is None or isinstance(made, EntryPointKind):
        return ""
    found = parameters_of(made)
    needs = [name for name, one in found.items() if one.default is one.empty]
    rest = [name for name in found if name not in needs]
    words = [f"{verb} {', '.join(names)}" for verb, names in (("needs", needs), ("may have", rest)) if names]
    return "; ".join(words)
