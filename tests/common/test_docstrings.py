"""Sections of docstrings, in lists and pages."""

from __future__ import annotations

from fedabm.cli.members import members_called
from fedabm.common.docstrings import head_of, meanings_of, sections_of

TEXT = """What.

    p = r

Parameters
----------
first, *more : float
    One
    line.
**options : Any
    Others.

Returns
-------
int
    How many.
"""


def test_a_docstring_falls_into_its_sections():
    assert list(sections_of(TEXT)) == ["", "Parameters", "Returns"]
    assert head_of(TEXT) == "What.\n\n    p = r"
    assert meanings_of(TEXT) == {"first": "One line.", "more": "One line.", "options": "Others."}
    assert sections_of("What.") == {"": "What."}
    assert meanings_of("What.") == {}


def test_lists_say_what_each_parameter_means_once():
    (found,) = members_called("power_law")
    text = found.text()
    assert "-----" not in text
    assert text.count("Accuracy of unlimited data.") == 1
