"""The inputs that are varied: ranges and choices, as text or as objects, and what takes them.

rate=0.001:0.1:log        numbers, even on a logarithmic scale
owners=5:50               whole numbers where the target wants such; of others say low:high:whole
mechanism=a|b|c           a choice
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fedabm.common.errors import InputError, shown
from fedabm.comparison.varied import StudyInputs, is_study_file
from fedabm.results.frames import shorten
from fedabm.specs.words import text_of, value_of
from fedabm.sweep.sampling import Span
from fedabm.sweep.targets import Target, target_of
from fedabm.sweep.values import Parameters

__all__ = ["RULE", "SEED", "Factor", "Inputs", "factors_of", "fixed_of", "inputs_of"]

#: what the factor of all randomness is called, and the input that is a mechanism
SEED, RULE = "seed", "mechanism"
_SPAN = re.compile(r"\s*([^:\s]+)\s*:\s*([^:\s]+)\s*((?::\s*(?:log|whole)\s*)*)")


class Inputs(Protocol):
    """What can be varied of something, and how its values are read."""

    @property
    def target(self) -> Target:
        """What is run."""

    def hint(self, name: str) -> Any:
        """The annotation of an input; raises where there is none of that name."""

    def value(self, name: str, given: Any) -> Any:
        """A value as the target wants it."""


@dataclass(frozen=True)
class Factor:
    """An input and its range: a span of numbers, or a choice with a word for each value."""

    name: str
    range: Span | tuple[Any, ...]
    words: tuple[str, ...] = ()

    def place(self, share: float) -> float | int:
        """What a share in [0, 1] of the way comes to: a number, or the number of a choice."""
        if isinstance(self.range, Span):
            return self.range.at(share)
        return min(int(share * len(self.range)), len(self.range) - 1)

    def value(self, place: float | int) -> Any:
        """What the target gets."""
        return place if isinstance(self.range, Span) else self.range[int(place)]

    def shown(self, place: float | int) -> Any:
        """How it is called in tables: a number, or the word of a choice."""
        return place if isinstance(self.range, Span) else self.words[int(place)]

    @property
    def continuous(self) -> bool:
        """Whether any number of the span can come."""
        return isinstance(self.range, Span) and not self.range.whole


def inputs_of(what: Any) -> tuple[Inputs, dict[str, Any]]:
    """What can be varied of a study in TOML, a scenario, a function or a Mesa model, and what always holds."""
    if is_study_file(what):
        study = StudyInputs.read(Path(what))
        return study, study.fixed
    return Parameters(target_of(what)), {}


def factors_of(over: Any, inputs: Inputs) -> list[Factor]:
    """The factors that a text or a table of ranges means."""
    given = _parted(over) if isinstance(over, str) else over
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"nothing varies, got over = {shown(over)}; write for instance over = 'rate=0.001:0.1:log'")
    if SEED in given:
        raise InputError("seed is varied by itself, got a range of it; leave it out, or hold it with --one-seed")
    if isinstance(inputs, StudyInputs) and RULE in given:  # whose numbers may be varied, too
        rules = _factor(RULE, given[RULE], inputs).range
        inputs = inputs.chosen(rules if isinstance(rules, tuple) else ())
    return [_factor(name, one, inputs) for name, one in given.items()]


def fixed_of(settings: Sequence[str] | Mapping[str, Any], inputs: Inputs) -> dict[str, Any]:
    """Values that always hold, from texts key=value or a table."""
    if isinstance(settings, Mapping):
        return {name: inputs.value(name, one) for name, one in settings.items()}
    found = {}
    for setting in settings:
        name, equals, word = (part.strip() for part in setting.partition("="))
        if not equals:
            raise InputError(f"--set takes key=value, got {setting!r}; write for instance --set steps=50")
        found[name] = inputs.value(name, value_of(name, word, inputs.hint(name)))
    return found


def _parted(over: str) -> dict[str, str]:
    """The words of a text by name."""
    found: dict[str, str] = {}
    for part in _split(over, ","):
        name, equals, word = (one.strip() for one in part.partition("="))
        if not equals or not name or not word:
            raise InputError(
                f"--over takes name=range, separated by commas, got {shown(part.strip())}; "
                "write for instance rate=0.001:0.1:log, mechanism=a|b"
            )
        if name in found:
            raise InputError(f"{name} has two ranges, got {found[name]!r} and {word!r}; give one")
        found[name] = word
    return found


def _factor(name: str, given: Any, inputs: Inputs) -> Factor:
    hint = inputs.hint(name)
    whole = hint is int
    if isinstance(given, Span):
        return Factor(name, replace(given, whole=True) if whole else given)
    if isinstance(given, str):
        words = [word.strip() for word in _split(given, "|")]
        if len(words) < 2:
            return Factor(name, _span(name, given, whole=whole))
        return _choice(name, [inputs.value(name, value_of(name, word, hint)) for word in words], words)
    if not isinstance(given, Sequence):
        raise InputError(f"the range of {name} must be a Span or a list, got {shown(given)}; give Span(0.01, 0.1)")
    values = [inputs.value(name, one) for one in given]
    return _choice(name, values, [shorten(text_of(one), 40) for one in values])


def _choice(name: str, values: list[Any], words: list[str]) -> Factor:
    twins = [word for place, word in enumerate(words) if word in words[:place]]
    if len(values) < 2 or twins:
        got = f"{twins[0]!r} twice" if twins else f"{words[0]!r} only" if words else "nothing"
        raise InputError(f"{name} needs at least two different choices, got {got}; write {name}=a|b, or hold it fixed")
    return Factor(name, tuple(values), tuple(words))


def _span(name: str, word: str, *, whole: bool) -> Span:
    found = _SPAN.fullmatch(word)
    try:
        low, high = (float(found[1]), float(found[2])) if found else (None, None)
    except ValueError:
        low = high = None
    if found is None or low is None or high is None:
        raise InputError(
            f"the range of {name} must be low:high, low:high:log or a|b|c, got {shown(word)}; "
            f"write for instance {name}=0.01:0.1"
        )
    kinds = set(found[3].replace(" ", "").split(":"))
    return Span(low, high, log="log" in kinds, whole=whole or "whole" in kinds)


def _split(text: str, sign: str) -> Iterator[str]:
    """The parts between signs that stand outside brackets and quotes."""
    depth, quoted, begun = 0, False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "{[(") - (letter in "}])")
        if letter == sign and not depth and not quoted:
            yield text[begun:place]
            begun = place + 1
    yield text[begun:]
