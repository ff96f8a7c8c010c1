"""A study in TOML with other numbers in it, as one scenario: what sweeps and sensitivity vary.

rate, mechanism.rate       a number of the mechanism; of those that have it, where several are compared
exponent, accuracy.ceiling a number of the accuracy
mechanism                  a label of the study, or any mechanism by name
owners                     members of the only group; of others: NAME.count
cost, data, value          of everybody; NAME.cost: of one owner or group
steps, activation, ...     what else stands at the head of the file
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, nearest
from fedabm.comparison.comparison import short_label
from fedabm.comparison.written import NamedOwner, OwnerGroup, Written, read_study, rules_of, study_of
from fedabm.mechanisms import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.specs.hints import hints_of, parameters_of
from fedabm.specs.toml import parse_toml
from fedabm.specs.values import Reader
from fedabm.sweep.targets import Target, target_of

__all__ = ["StudyInputs", "StudyText", "is_study_file", "varied_study"]

#: what stands at the head of a study and can be varied
_HEAD = ("accuracy", "steps", "activation", "participation", "knowledge", "pay_rejected")
#: what all owners and groups have
_EVERYBODY = ("cost", "data", "value", "strategy", "joins")


@dataclass(frozen=True)
class StudyText:
    """A study as it was written, so that workers anywhere read the same."""

    name: str
    text: str = field(repr=False)
    folder: str

    @property
    def study(self) -> Written:
        """What it says."""
        return _study(self)


@lru_cache(maxsize=8)
def _study(text: StudyText) -> Written:
    return study_of(parse_toml(text.text, text.name), Path(text.folder))


def is_study_file(what: Any) -> bool:
    """Whether something is the path of a TOML file."""
    return isinstance(what, str | Path) and str(what).endswith(".toml")


def varied_study(seed: int, study: StudyText, **settings: Any) -> Scenario:
    """The scenario that a study makes with one seed and these settings: that of `fedabm run`, but for them.

    Parameters
    ----------
    seed : int
        What is uncertain is drawn with it.
    study : StudyText
        The file.
    **settings : Any
        Other values, by name.

    Returns
    -------
    Scenario
        One run.
    """
    written, rules = study.study, rules_of(study.study)
    chosen = settings.get("mechanism")
    if chosen is None:
        if len(rules) != 1:
            raise InputError(
                f"{study.name} has {len(rules)} mechanisms, got no choice; vary mechanism={'|'.join(rules) or 'a|b'}, "
                "or choose one with --set mechanism=..."
            )
        (chosen,) = rules
    rule = rules[chosen] if isinstance(chosen, str) else chosen
    for name, value in settings.items():
        if name != "mechanism":
            written, rule = _changed(written, rule, name, value)
    return written.scenario(rule, seed, name=Path(study.name).stem)


@dataclass(frozen=True)
class StudyInputs:
    """What can be varied of a study, and how its values are read."""

    text: StudyText
    #: mechanisms that are not the study's own, and are chosen too
    further: tuple[Mechanism, ...] = ()

    @classmethod
    def read(cls, path: Path) -> StudyInputs:
        """Those of a file."""
        read_study(path)  # with the errors of a study
        return cls(StudyText(path.name, path.read_text("utf-8"), str(path.resolve().parent)))

    @property
    def fixed(self) -> dict[str, Any]:
        """What every scenario of the study gets."""
        return {"study": self.text}

    @cached_property
    def target(self) -> Target:
        """The function that makes scenarios of it."""
        return target_of(varied_study)

    def hint(self, name: str) -> Any:
        """What the study wants for an input, if it has that input."""
        written = self.text.study
        if name == "mechanism":
            return Mechanism
        if name == "owners":
            _only_group(written)
            return int
        holder, _, inside = name.rpartition(".")
        if not holder and name in _HEAD:
            return hints_of(Written)[name]
        if not holder and name in _EVERYBODY:
            return _plain(NamedOwner, name)
        if holder in _people(written):
            kind = type(_people(written)[holder])
            return _plain(kind, _known(inside, kind, holder))
        inside = inside or name
        rules = [one for one in self._rules if holder in ("", "mechanism") and _has(one, inside)]
        curve = [one for one in [written.accuracy] if holder in ("", "accuracy") and _has(one, inside)]
        if rules and curve:
            both = f"mechanism.{name} or accuracy.{name}"
            raise InputError(f"both a mechanism and the accuracy have a {name!r}, got no choice; write {both}")
        if not rules and not curve:
            raise InputError(f"{self.text.name} has nothing called {name!r} to vary; {nearest(name, self._names())}")
        return hints_of(type((rules or curve)[0]))[inside]

    def chosen(self, mechanisms: Sequence[Any]) -> StudyInputs:
        """The same where these mechanisms (or labels) are chosen among."""
        return replace(self, further=tuple(one for one in mechanisms if isinstance(one, Mechanism)))

    def without(self, name: str, labels: Sequence[Any]) -> list[str]:
        """Which of some mechanisms do not have a number that others have."""
        inside = name.rpartition(".")[2]
        rules = {one if isinstance(one, str) else short_label(one): self._rule(one) for one in labels}
        lacking = [label for label, one in rules.items() if not _has(one, inside)]
        return lacking if len(lacking) < len(rules) else []

    def _rule(self, chosen: Any) -> Any:
        return rules_of(self.text.study)[chosen] if isinstance(chosen, str) else chosen

    def value(self, name: str, given: Any) -> Any:
        """A value as the study wants it; a label of its mechanisms stays one."""
        if name == "mechanism" and isinstance(given, str) and given in rules_of(self.text.study):
            return given
        if name == "mechanism" and isinstance(given, str):
            known = list(rules_of(self.text.study))
            try:
                return self._reader.read(name, given, Mechanism)
            except InputError as error:
                raise InputError(f"{error}; mechanisms of the study: {', '.join(known) or '(none)'}") from None
        return self._reader.read(name, given, self.hint(name))

    @property
    def _reader(self) -> Reader:
        return Reader((Path(self.text.folder),))

    @property
    def _rules(self) -> list[Mechanism]:
        return [*rules_of(self.text.study).values(), *self.further]

    def _names(self) -> list[str]:
        parts = [*self._rules, self.text.study.accuracy]
        numbers = [one.name for part in parts if is_dataclass(part) for one in fields(part) if one.init]
        return sorted({"mechanism", "owners", *_HEAD, *_EVERYBODY, *numbers, *_people(self.text.study)})


def _people(written: Written) -> dict[str, NamedOwner | OwnerGroup]:
    """Owners and groups by name."""
    everybody: list[NamedOwner | OwnerGroup] = [*written.owners, *written.groups]
    return {one.name: one for one in everybody}


def _only_group(written: Written) -> OwnerGroup:
    if len(written.groups) != 1:
        named = ", ".join(f"{one.name}.count" for one in written.groups) or "a [[groups]] with a count"
        raise InputError(f"owners counts the members of the only group, got {len(written.groups)} groups; vary {named}")
    return written.groups[0]


def _has(part: Any, name: str) -> bool:
    return is_dataclass(part) and name in parameters_of(type(part))


def _plain(kind: type, name: str) -> Any:
    """What a field wants once it is known: numbers of owners may be ranges in a file."""
    return float if name in ("cost", "data", "value", "outside") else hints_of(kind)[name]


def _known(name: str, kind: type, holder: str) -> str:
    choices = [one for one in parameters_of(kind) if one != "name"]
    if name not in choices:
        raise InputError(f"{holder} has no {name!r} to vary; {nearest(name, choices)}")
    return name


def _changed(written: Written, rule: Mechanism, name: str, value: Any) -> tuple[Written, Mechanism]:
    """A study and its rule with another value of one input; a rule without a number of that name stays as it is."""
    holder, _, inside = name.rpartition(".")
    if name == "owners":
        return _with_person(written, _only_group(written).name, "count", value), rule
    if not holder and name in _HEAD:
        return replace(written, **{name: value}), rule
    if not holder and name in _EVERYBODY:
        for one in _people(written):
            written = _with_person(written, one, name, value)
        return written, rule
    if holder in _people(written):
        return _with_person(written, holder, inside, value), rule
    inside = inside or name
    in_rule, in_curve = holder in ("", "mechanism"), holder in ("", "accuracy")
    if in_rule and _has(rule, inside):
        return written, replace(rule, **{inside: value})  # type: ignore[type-var]
    if in_curve and _has(written.accuracy, inside):
        return replace(written, accuracy=replace(written.accuracy, **{inside: value})), rule  # type: ignore[type-var]
    return written, rule


def _with_person(written: Written, name: str, key: str, value: Any) -> Written:
    owners = tuple(replace(one, **{key: value}) if one.name == name else one for one in written.owners)
    groups = tuple(replace(one, **{key: value}) if one.name == name else one for one in written.groups)
    return replace(written, owners=owners, groups=groups)
