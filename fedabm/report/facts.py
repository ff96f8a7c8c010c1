"""What was run, and how to run it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from fedabm.report.folder import ResultFolder
from fedabm.report.tables import text
from fedabm.specs.toml import toml_key, toml_of
from fedabm.study import library

__all__ = ["facts", "parameters", "question", "repeat", "specification"]

_TARGETS = {"script": "scenario", "function": "function", "model": "model"}


def question(source: ResultFolder) -> str:
    """What the study asks, or the scenario of the library with its name."""
    if written := source.manifest.get("question"):
        return str(written)
    return library.question(source.scenario) if source.scenario in library.names() else ""


def facts(source: ResultFolder) -> list[tuple[str, str]]:
    """Name and value of what was run: sizes, seeds, mechanisms, accuracy oracles, versions."""
    runs = source.frames.runs
    found = [
        ("Kind", "one study" if source.kind == "run" else "sweep over a design of many runs"),
        ("Runs", _runs(source)),
        ("Owners" if source.federated else "Agents", _range(runs["owners"])),
        ("Steps", _range(runs["steps"])),
        ("Seeds", _seeds(source)),
        ("Mechanisms", _listed(_distinct(runs["mechanism"]))),
        ("Accuracy", _listed(_distinct(runs["accuracy"])) if "accuracy" in runs else ""),
        ("Varied", ", ".join(name.removeprefix("parameter_") for name in source.varied)),
        ("Versions", _versions(source.manifest.get("versions"))),
    ]
    return [(name, value) for name, value in found if value and value != "–"]


def _runs(source: ResultFolder) -> str:
    good, lost = len(source.done), len(source.failed)
    return f"{good:,}" + (f", and {lost:,} failed" if lost else "")


def _seeds(source: ResultFolder) -> str:
    """The seeds, or of a sweep that drew them, how many from which root."""
    given = source.manifest.get("seeds")
    if isinstance(given, Mapping) and "count" in given:
        alike = "the same in every cell" if given.get("paired") else "new ones in every cell"
        return f"{given['count']}, {alike} (drawn from root {given.get('root', 0)})"
    seeds = sorted(set(source.frames.runs["seed"].dropna().astype("int64")))
    return _listed(seeds) if seeds else text(source.manifest.get("seed"))


def _range(values: pd.Series) -> str:
    known = values.dropna()
    if known.empty:
        return ""
    low, high = int(known.min()), int(known.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _distinct(values: pd.Series) -> list[str]:
    return list(dict.fromkeys(values.dropna().astype(str)))


def _listed(values: Iterable[Any], most: int = 6) -> str:
    known = [str(value) for value in values]
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def _versions(given: Any) -> str:
    return ", ".join(f"{name} {number}" for name, number in given.items()) if isinstance(given, Mapping) else ""


def parameters(source: ResultFolder) -> list[tuple[str, str]]:
    """The parameters of the study, or the fixed ones and the design of a sweep."""
    if source.kind == "run":
        given = dict(source.manifest.get("parameters") or {})
        return [(name, _plain(value)) for name, value in given.items() if value != []]
    found = [(name, _plain(value)) for name, value in dict(source.manifest.get("fixed") or {}).items()]
    for design in source.manifest.get("design") or []:
        axes = design.get("parameters") or {}
        found += [(f"{name} (varied)", _plain(values)) for name, values in axes.items()]
        found += [(f"cell {name}", _plain(cell)) for name, cell in (design.get("cells") or {}).items()]
    return found


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def repeat(source: ResultFolder) -> str:
    """The command that does it again."""
    if source.kind == "run":
        return str(source.manifest.get("repeat") or "")
    return f"fedabm sweep study.toml --out {shlex.quote(source.folder.name)}" if specification(source) else ""


def specification(source: ResultFolder) -> str:
    """The sweep as a file `study.toml`; empty where it cannot be written as one (objects, several designs)."""
    manifest, designs = source.manifest, source.manifest.get("design") or []
    if source.kind == "run" or len(designs) != 1:
        return ""
    target, design = manifest.get("target", {}), dict(designs[0])
    table: dict[str, Any] = {_TARGETS.get(target.get("kind"), "scenario"): target.get("file") or target.get("name", "")}
    seeds = manifest.get("seeds", {})
    table["seeds"] = seeds["values"] if "values" in seeds else dict(seeds)
    if manifest.get("steps"):
        table["steps"] = manifest["steps"]
    inner = {**design.pop("parameters", {}), **design.pop("cells", {})}
    try:
        return _toml(table) + _section("fixed", manifest.get("fixed") or {}) + _section("design", {**design, **inner})
    except TypeError:
        return ""


def _section(name: str, table: Mapping[str, Any]) -> str:
    return f"\n[{name}]\n{_toml(table)}" if table else ""


def _toml(table: Mapping[str, Any]) -> str:
    return "".join(f"{toml_key(name)} = {toml_of(value)}\n" for name, value in table.items())
