"""Words of the command line: `--set key=value` takes what TOML takes, without quotes around names.

--set owners=12     --set rates=0.1,0.2     --set shuffle=yes     --set mechanism=shapley_share
--set 'mechanism={ kind = "contribution_subsidy", rate = 0.2 }'
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from typing import Any

from fedabm.common.errors import InputError
from fedabm.common.names import snake
from fedabm.specs.hints import without_none
from fedabm.specs.toml import parse_toml
from fedabm.specs.values import is_list

__all__ = ["text_of", "value_of"]

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def value_of(what: str, text: str, hint: Any) -> Any:
    """The TOML value that a word stands for where an annotation wants something; `Reader.read` makes that of it.

    >>> value_of("rates", "0.1,0.2", tuple[float, ...]), value_of("shuffle", "no", bool)
    ([0.1, 0.2], False)
    """
    options = without_none(hint)
    choices = {str(one): one for option in options if _is_literal(option) for one in typing.get_args(option)}
    if text in choices:
        return choices[text]
    if text[:1] in ("{", "[", '"') and options != (str,):
        return parse_toml(f"it = {text}", what)["it"]
    for option in options:
        if is_list(option):
            return _listed(what, text, (typing.get_args(option) or (Any,))[0])
    if bool in options and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    return _number(text) if {int, float, Any} & set(options) else text


def text_of(value: Any) -> str:
    """The word that stands for a value.

    >>> from fedabm.mechanisms import ContributionSubsidy, NoPayments
    >>> text_of((1, 2)), text_of(NoPayments()), text_of(ContributionSubsidy(0.2))
    ('1,2', 'no_payments', '{ kind = "contribution_subsidy", rate = 0.2 }')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) and value and all(isinstance(one, bool | int | float | str) for one in value):
        return ",".join(map(text_of, value))
    text = _toml(value)
    return json.loads(text) if text.startswith('"') else text


def _toml(value: Any) -> str:
    """A TOML value; an object without fields to speak of is its name."""
    if value is None:
        return '"none"'
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return _table(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields, kind = _changed(value), snake(type(value).__name__)
        return _table({"kind": kind, **fields}) if fields else json.dumps(kind)
    return repr(value) if isinstance(value, int | float) else json.dumps(str(value))


def _table(table: Mapping[str, Any]) -> str:
    return f"{{ {', '.join(f'{name} = {_toml(one)}' for name, one in table.items())} }}"


def _changed(value: Any) -> dict[str, Any]:
    """The fields that are not as usual."""
    fields = [one for one in dataclasses.fields(value) if one.init]
    return {one.name: getattr(value, one.name) for one in fields if repr(getattr(value, one.name)) != repr(_usual(one))}


def _usual(field: dataclasses.Field) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _listed(what: str, text: str, inner: Any) -> list[Any]:
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise InputError(f"{what} needs at least one value, got none; write for instance {what}=1,2")
    return [value_of(what, part, inner) for part in parts]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_literal(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Literal
