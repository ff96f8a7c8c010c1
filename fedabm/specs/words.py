"""Words of the command line: `--set key=value` takes what TOML takes, and quotes around names may be left out.

    --set owners=12     --set rates=0.1,0.2     --set shuffle=yes     --set mechanism=shapley_share
    --set 'mechanism={ kind = "contribution_subsidy", rate = 0.2 }'

`fedabm list NAME` shows the words for the usual values.
"""

from __future__ import annotations

import typing
from types import ModuleType
from typing import Any

from fedabm.common.errors import InputError
from fedabm.specs.hints import without_none
from fedabm.specs.shapes import is_list
from fedabm.specs.toml import parse_toml, toml_of
from fedabm.specs.written import written

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


def text_of(value: Any, *modules: ModuleType) -> str:
    """The word that stands for a value; the classes of `modules` go by their names, as ours do.

    >>> from fedabm.mechanisms import ContributionSubsidy, NoPayments
    >>> text_of((1, 2)), text_of(NoPayments()), text_of(ContributionSubsidy(0.2))
    ('1,2', 'no_payments', '{ kind = "contribution_subsidy", rate = 0.2 }')
    """
    plain = written(value, *modules)
    if isinstance(plain, list) and plain and all(isinstance(one, int | float | str) for one in plain):
        return ",".join(text_of(one) for one in plain)
    return plain if isinstance(plain, str) else "none" if plain is None else toml_of(plain)


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
