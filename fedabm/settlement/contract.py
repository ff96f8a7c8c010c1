"""What a game or study in TOML says about settling: rule, accuracy, owners with data and costs, terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_range, nearest, shown
from fedabm.games.accuracy import Accuracy
from fedabm.games.accuracy.valued import LinearPayoff, Valued
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.mechanisms import Mechanism
from fedabm.specs.adopted import rule_written
from fedabm.specs.owners import one_by_one
from fedabm.specs.settlement import SettlementTerms
from fedabm.specs.toml import read_toml
from fedabm.specs.uncertain import Uncertain, is_uncertain, middle_of
from fedabm.specs.values import Reader
from fedabm.specs.written import written

__all__ = ["Contract", "contract_of", "read_contract"]

#: more owners than this are no consortium, and their statement no page
_MOST_OWNERS = 10_000
#: what is read of an owner beside its name
_HINTS: dict[str, Any] = {"data": float | Uncertain, "cost": float | Uncertain | Cost, "value": float | Uncertain}


@dataclass(frozen=True)
class Contract:
    """Who has agreed to what: names, data (n,), costs where they are stated, the rule and the terms.

    `values` say what a unit of accuracy is worth to each owner, if the file does; of the `uncertain` the middle counts.
    """

    mechanism: Mechanism
    accuracy: Accuracy
    names: tuple[str, ...]
    capacities: Array
    costs: tuple[Any, ...]
    terms: SettlementTerms = field(default_factory=SettlementTerms)
    values: tuple[float, ...] = ()
    uncertain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rule = type(self.mechanism).__name__
        if not self.mechanism.promises:
            raise InputError(f"{rule} exchanges models, which no log of claims can settle; choose another rule")
        if self.mechanism.needs == "scores":
            raise InputError(f"{rule} pays by scores of updates, which no log of claims has; choose another rule")
        if self.mechanism.asks_eagerness or self.mechanism.asks_losses:
            raise InputError(f"{rule} asks owners for more than data and costs; choose another rule")
        known = self.accuracy.owners
        if known is not None and known != len(self.names):
            raise InputError(f"an accuracy of {known} owners but {len(self.names)} owners; give one owner each")
        if twice := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise InputError(f"two owners are called {shown(twice[0])}; give each a name of its own")

    @property
    def worth(self) -> Accuracy:
        """What models are worth, by which the rule computes payments."""
        return Valued(self.accuracy, LinearPayoff(list(self.values))) if self.values else self.accuracy

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, from which `contract_of` makes the same."""
        owners = [
            {"name": name, "data": float(data), **({} if cost is None else {"cost": written(cost)})}
            for name, data, cost in zip(self.names, self.capacities, self.costs, strict=True)
        ]
        for row, value in zip(owners, self.values, strict=False):
            row["value"] = value
        terms = {name: one for name, one in vars(self.terms).items() if one is not None}
        plain = {"mechanism": written(self.mechanism), "accuracy": written(self.accuracy)}
        return {**plain, "owners": owners, "settlement": terms}


def read_contract(path: str | Path, mechanism: str | None = None) -> Contract:
    """What a TOML file says; `mechanism` is the one that was adopted: one of several in the file, or another one."""
    return contract_of(read_toml(path), str(path), (Path(path).resolve().parent,), mechanism)


def contract_of(
    table: Mapping[str, Any], source: str = "the study", folders: tuple[Path, ...] = (), mechanism: str | None = None
) -> Contract:
    """What a parsed game or study says; what is of no matter here is not read."""
    reader = Reader(folders)
    terms = reader.read("settlement", table.get("settlement", {}), SettlementTerms)
    if "accuracy" not in table:
        raise InputError(f"{source} says no accuracy; add accuracy = ..., for instance by fedabm calibrate")
    named = None if "mechanism" in table else terms.mechanism
    mechanism_read = _rule(table, source, reader, folders, mechanism or named)
    accuracy = reader.read("accuracy", table["accuracy"], Accuracy)
    return Contract(mechanism_read, accuracy, terms=terms, **_owners(table, source, reader))


def _rule(
    table: Mapping[str, Any], source: str, reader: Reader, folders: tuple[Path, ...], wanted: str | None
) -> Mechanism:
    """The one mechanism that is settled: one of the study's by its name there, or any other."""
    several = table.get("mechanisms") or {}
    if not isinstance(several, dict | list):
        raise InputError(f"{source} names no mechanism; add mechanism = ...")
    named = several if isinstance(several, dict) else {str(one): one for one in several}
    if wanted is not None and wanted not in named:
        return _other_rule(source, reader, folders, wanted, named)
    if wanted is None and "mechanism" in table:
        return reader.read("mechanism", table["mechanism"], Mechanism)
    if wanted is None and not named:
        recommended = "or --mechanism recommendation.json, as fedabm recommend has written it"
        raise InputError(f"{source} names no mechanism; add mechanism = ..., {recommended}")
    if wanted is None and len(named) > 1:
        raise InputError(f"{source} has {len(named)} mechanisms; say in [settlement] which one, {nearest('', named)}")
    return reader.read("mechanism", named[wanted] if wanted is not None else next(iter(named.values())), Mechanism)


def _other_rule(
    source: str, reader: Reader, folders: tuple[Path, ...], wanted: str, named: Mapping[str, Any]
) -> Mechanism:
    """A rule that the study does not name: a kind, a table, or the JSON of a recommendation."""
    home = folders[0] if folders else Path()
    try:
        return reader.read("mechanism", rule_written("mechanism", wanted, home), Mechanism)
    except InputError:
        if not named or wanted.startswith("{") or wanted.endswith(".json"):
            raise
        raise InputError(f"{source} has no mechanism {shown(wanted)}; {nearest(wanted, named)}") from None


def _owners(table: Mapping[str, Any], source: str, reader: Reader) -> dict[str, Any]:
    """Names, data, costs and values of all owners; members of groups are called by its name and their number."""
    rows = _rows(table)
    if not rows:
        raise InputError(f"{source} has no owners; add [[owners]] with name, cost and data")
    if len(rows) > _MOST_OWNERS:
        raise InputError(f"{source} has {len(rows)} owners, more than {_MOST_OWNERS} to settle; take fewer")
    found: dict[str, list[Any]] = {"names": [], "capacities": [], "costs": [], "values": [], "uncertain": []}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping) or "data" not in row:
            raise InputError(f"owner {place} of {source} needs name and data, got {shown(row)}; add them")
        name = " ".join(reader.read("name of an owner", row.get("name", f"owner {place}"), str).split())
        read = {
            what: reader.read(f"{what} of {name}", row[what], hint)
            for what, hint in _HINTS.items()
            if row.get(what) is not None
        }
        found["names"].append(name)
        found["uncertain"] += [f"{what} of {name}" for what, one in read.items() if is_uncertain(one)]
        found["capacities"].append(_number(f"data of {name}", read["data"]))
        found["costs"].append(_number(f"cost of {name}", read.get("cost")))
        found["values"] += [_number(f"value of {name}", read["value"])] if "value" in read else []
    if len(found["values"]) not in (0, len(rows)):
        raise InputError(
            f"some owners of {source} have a value of accuracy and some have none; give one to each of them"
        )
    capacities = np.array(found.pop("capacities"), dtype=float)
    return {"capacities": capacities, **{name: tuple(one) for name, one in found.items()}}


def _number(what: str, given: Any) -> Any:
    """The number that counts, or a cost as it is."""
    number = middle_of(given)
    if isinstance(number, float):
        check_range(what, number, 0.0, 1e100)
    return number


def _rows(table: Mapping[str, Any]) -> list[Any]:
    plain = one_by_one(table)
    rows, groups = plain.get("owners", []), plain.get("groups", [])
    if not isinstance(rows, list) or not isinstance(groups, list):
        raise InputError(
            f"owners must be tables, got {shown(rows if not isinstance(rows, list) else groups)}; write [[owners]]"
        )
    found = list(rows)
    for one in groups:
        count = one.get("count", 1) if isinstance(one, Mapping) else 1
        if not isinstance(one, Mapping) or not isinstance(count, int) or not 1 <= count <= _MOST_OWNERS:
            raise InputError(f"a group needs name, count and data, got {shown(one)}; add them")
        width = len(str(count))
        found += [{**one, "name": f"{one.get('name', 'member')} {k + 1:0{width}}"} for k in range(count)]
    return found
