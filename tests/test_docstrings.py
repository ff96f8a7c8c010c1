"""Docstrings of public functions and classes say what goes in and what comes out, of each by its name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from fedabm.common.docstrings import meanings_of, sections_of
from tests.test_public import public

#: words that say nothing where they stand alone
EMPTY = {"itself", "those", "the same", "that", "it", "none", "value", "values"}


def documented() -> dict[str, Any]:
    """Every public function and class by its name."""
    found = {}
    for module, names in public().items():
        home = importlib.import_module(module)
        for name in names:
            thing = getattr(home, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                found[f"{module}.{name}"] = thing
    return found


def parameters(thing: Any) -> list[str]:
    """What is handed to a function, or to a class that is made by handing something over."""
    abstract = inspect.isclass(thing) and (thing.__init__ is object.__init__ or getattr(thing, "_is_protocol", False))
    try:
        given = [] if abstract else list(inspect.signature(thing).parameters)
    except ValueError:  # of some exceptions
        return []
    return [name for name in given if not name.startswith("_")]


def gaps(thing: Any) -> list[str]:
    """What a docstring does not say."""
    text = inspect.getdoc(thing) or ""
    meanings, sections = meanings_of(text), sections_of(text)
    missing = [name for name in parameters(thing) if len(meanings.get(name, "").split()) < 2]
    gives = inspect.isfunction(thing) and inspect.signature(thing).return_annotation not in (None, "None")
    returned = sections.get("Returns") or sections.get("Yields") or ""
    if gives and len(returned.partition("\n")[2].split()) < 2:
        missing.append("Returns")
    head = sections[""].split("\n")[0]
    if len(head.split()) < 2 or head.rstrip(".").casefold() in EMPTY:
        missing.append("what it is")
    return missing


@pytest.mark.parametrize("module", sorted(public()))
def test_public_functions_and_classes_say_what_goes_in_and_what_comes_out(module):
    found = {name: gaps(thing) for name, thing in documented().items() if name.rpartition(".")[0] == module}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_a_gap_is_noticed():
    def halved(value: float, more: int = 0) -> float:
        """Half of a number.

        Parameters
        ----------
        value : float
            The number.
        """
        return value / 2

    assert gaps(halved) == ["more", "Returns"]
